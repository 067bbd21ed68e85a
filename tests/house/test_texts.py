"""Every sentence exists in every language, with the same blanks to fill in (STYLE, rule 14)."""

from __future__ import annotations

from string import Formatter

import pytest

from bot import errors
from bot.texts import LANGUAGES, table


def blanks(sentence):
    return sorted(name for _, name, _, _ in Formatter().parse(sentence) if name is not None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_languages_have_the_same_keys_in_the_same_order(language):
    assert list(table(language)) == list(table("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_has_the_same_blanks_in_all_languages(language):
    assert {key: blanks(text) for key, text in table(language).items()} == {
        key: blanks(text) for key, text in table("en").items()
    }


def test_no_sentence_is_empty():
    assert [
        key for language in LANGUAGES for key, text in table(language).items() if not text.strip()
    ] == []


def test_every_error_a_user_may_see_has_its_sentence():
    texts = {
        kind.text
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.BotError)
    }
    assert texts - table("en").keys() == set()


def test_every_sentence_is_used(sources):
    """A key stands in the code as it is, or as the beginning of one that is put together
    (`unreadable_…`).
    """
    code = "\n".join(source.text for source in sources)
    unused = [
        key
        for key in table("en")
        if f'"{key}"' not in code and f'"{key.partition("_")[0]}_' not in code
    ]
    assert unused == []
