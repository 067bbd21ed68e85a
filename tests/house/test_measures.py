"""The measures of the house hold: what met its bar goes on meeting it, the rest only falls."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.house import measures
from tests.house.measures import CEILINGS, Measure

HOUSE = measures.measures()


@pytest.mark.parametrize("measure", HOUSE, ids=lambda measure: measure.name)
def test_no_measure_is_above_its_bar_or_what_it_once_was(measure: Measure):
    """CEILINGS lists what is above its bar today; lower the ceiling when the value has fallen."""
    limit = max(measure.bar, CEILINGS.get(measure.name, 0))
    assert measure.value <= limit, "\n".join(map(str, HOUSE))


def test_every_ceiling_is_that_of_a_measure():
    assert CEILINGS.keys() <= {measure.name for measure in HOUSE}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("thief_id", ["thief", "id"]),
        ("BestPurse", ["best", "purse"]),
        ("MOST_PIXELS", ["most", "pixels"]),
        ("HTTPDesk", ["http", "desk"]),
    ],
)
def test_a_private_word_is_found_inside_a_name(name, words):
    assert measures.split_words(name) == words
    assert measures.PRIVATE_WORDS.intersection(words)


def test_the_owner_leaves_a_module_where_a_call_of_another_one_is_handed_it():
    """A call of what the module defines stays inside, also by the name of a method of its own."""
    text = """
    class Till:
        def pay(self, owner, thing):
            self.count(owner)
            find(self.owner)
            self.shop.count(thing, whose=self.owner)
            Till(owner).count(thing)

        def count(self, owner): ...
    """
    assert measures.hand_overs(ast.parse(dedent(text))) == ["find", "self.shop.count"]


def test_a_circle_of_imports_has_no_highest_floor():
    """Three modules on each other are three floors; with one arrow back there is no floor."""
    texts = {
        "shop/till.py": "from shop.stock import count",
        "shop/stock.py": "from shop.shelf import reach",
        "shop/shelf.py": "",
    }

    def floors(**changed: str) -> float:
        changes = {f"shop/{name}.py": text for name, text in changed.items()}
        trees = {path: ast.parse(text) for path, text in (texts | changes).items()}
        return measures.count_floors(trees, "shop/")

    assert floors() == 3
    assert floors(shelf="from shop.till import open_till") == float("inf")
