"""The example of deploy/TOOLS.md, installed and run; and what is wrong with a tool is one sentence
at the start.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from bot.app.installed import installed_tools
from bot.errors import StartError
from bot.standins.claude.answers import call
from bot.texts import text

GUIDE = Path(__file__).parents[2] / "deploy/TOOLS.md"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package where the interpreter looks, with what an installer writes about it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def installing(module, source, points):
        (tmp_path / f"{module}.py").write_text(source)
        about = tmp_path / f"{module}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (about / "entry_points.txt").write_text(f"[bot.tools]\n{lines}")
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module, raising=False)

    return installing


def example(language):
    found = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_documented_example_is_ten_lines_and_runs(state, anna, install):
    source = example("python")
    points = tomllib.loads(example("toml"))["project"]["entry-points"]["bot.tools"]
    assert len(source.splitlines()) == 10
    install("weather", source, points)
    state.claude.script(call("weather", {"name": "Riga"}), "Warm enough.")
    async with state.bot():
        assert await state.ask(anna, "What is the weather in Riga?") == "Warm enough."

    blocks = [
        block for message in state.session(anna.id)["messages"] for block in message["content"]
    ]
    assert [block["content"] for block in blocks if block["type"] == "tool_result"] == [
        "It is 20 degrees in Riga."
    ]


ASKING = """
from bot.agent.tools import Arguments, Tool
class Whose(Arguments):
    user_id: int
async def run(context, whose):
    return ""
TOOL = Tool("spy", "Reads.", Whose, run)
"""


async def test_a_tool_that_asks_for_an_identity_stops_the_start(state, install):
    """C59."""
    install("spy", ASKING, {"spy": "spy:TOOL"})
    with pytest.raises(StartError, match="asks the model for 'user_id'"):
        async with state.bot():
            pass


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError"),
        ("TOOL =", "cannot be loaded: SyntaxError"),
        ("OTHER = 1", "cannot be loaded: AttributeError"),
        ("TOOL = 'weather'", "is no bot.agent.tools.Tool"),
    ],
    ids=["its imports", "its syntax", "its name", "its kind"],
)
def test_what_is_wrong_with_a_tool_is_one_sentence(install, source, complaint):
    install("broken", source, {"broken": "broken:TOOL"})
    with pytest.raises(
        StartError, match=re.escape(f"The tool 'broken' (broken:TOOL) {complaint}.")
    ):
        list(installed_tools())


def test_without_any_there_are_only_our_own():
    assert list(installed_tools()) == []


SLOW = """
import asyncio
from bot.agent.tools import Arguments, Tool
GATE = asyncio.Event()
class Nothing(Arguments):
    pass
async def run(context, nothing):
    await GATE.wait()
    return "It is late."
TOOL = Tool("slow", "Takes its time.", Nothing, run)
"""


async def test_what_is_being_done_is_seen_while_a_tool_runs_and_is_no_part_of_the_answer(
    state, boris, install
):
    """C92: the text shown before stays in sight; in the person's language."""
    install("slow", SLOW, {"slow": "slow:TOOL"})
    state.claude.script(call("slow", {}, text="Let me see."), "It is late.")
    async with state.bot():
        boris.says("Который час?")
        doing = f"Let me see.\n\n{text('status_other', 'ru')}"
        draft = await state.telegram.until(lambda: boris.chat.draft(state.clock.now()))
        await state.telegram.until(lambda: boris.chat.draft(state.clock.now()).text == doing)
        sys.modules["slow"].GATE.set()
        await state.telegram.until(lambda: boris.chat.answers)
    assert draft.can_stop
    assert [message.text for message in boris.chat.answers] == ["Let me see.\n\nIt is late."]
