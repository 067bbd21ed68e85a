"""The scripted model is as strict as the real one."""

from __future__ import annotations

import pytest

from bot.agent.scripted import Scripted, breaks, calls, fails, illegal, says, thinks
from bot.errors import ModelBusy, ModelMisconfigured
from bot.ports import Request
from tests.builders import text

CALL = {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "tea"}
HELLO = ("user", [text("hello")])


def request(*messages):
    messages = messages or (HELLO,)
    return Request(
        "model", "Be kind.", [{"role": role, "content": content} for role, content in messages]
    )


async def ask(model, *messages):
    pieces: list[str] = []
    completion = await model.complete(request(*messages), pieces.append)
    return completion, pieces


async def test_lines_are_said_in_order_and_in_pieces():
    model = Scripted(says("Good morning, Anna!"), says("Bye."))
    completion, pieces = await ask(model)
    assert (completion.text, completion.stop_reason) == ("Good morning, Anna!", "end_turn")
    assert (len(pieces), "".join(pieces)) == (3, "Good morning, Anna!")
    assert (await ask(model))[0].text == "Bye."


async def test_a_script_that_has_ended_says_so_unless_something_else_follows():
    with pytest.raises(LookupError):
        await ask(Scripted())
    assert (await ask(Scripted(otherwise=lambda asked: says(asked.system))))[0].text == "Be kind."


async def test_a_line_may_look_at_the_request():
    assert (await ask(Scripted(lambda asked: says(asked.model))))[0].text == "model"


async def test_calls_get_ids_that_are_never_used_twice():
    model = Scripted(calls("echo").and_(calls("echo")), calls("echo"))
    ids = [block["id"] for _ in range(2) for block in (await ask(model))[0].content]
    assert len(set(ids)) == 3


async def test_thinking_comes_before_what_follows_it():
    completion, _ = await ask(Scripted(thinks("hm").and_(says("Yes."))))
    assert [block["type"] for block in completion.content] == ["thinking", "text"]
    assert completion.stop_reason == "end_turn"


async def test_failures_come_after_their_words():
    with pytest.raises(ModelBusy):
        await ask(Scripted(fails(ModelBusy)))
    pieces: list[str] = []
    with pytest.raises(ModelBusy):
        await Scripted(breaks("half a")).complete(request(), pieces.append)
    assert "".join(pieces) == "half a"


async def test_a_request_is_kept_as_it_was():
    model, content = Scripted(says("Yes.")), [text("hello")]
    await ask(model, ("user", content))
    content.append(text("later"))
    assert model.requests[0].messages[0]["content"] == [text("hello")]


@pytest.mark.parametrize(
    "messages",
    [
        [("assistant", [text("hi")])],
        [HELLO, HELLO],
        [("user", [])],
        [("user", [text(" ")])],
        [("user", [RESULT])],
        [HELLO, ("assistant", [CALL])],
        [HELLO, ("assistant", [CALL]), ("user", [text("never mind")])],
        [HELLO, ("assistant", [CALL]), ("user", [RESULT, RESULT])],
        [HELLO, ("assistant", [CALL]), ("user", [text("here"), RESULT])],
    ],
    ids=[
        "an assistant first", "two users", "no content", "blank text", "an orphan result", "an open call",
        "a call without result", "a result twice", "a result after text",
    ],
)  # fmt: skip
async def test_it_refuses_what_the_api_refuses(messages):
    with pytest.raises(ModelMisconfigured):
        await ask(Scripted(says("Yes.")), *messages)


def test_it_accepts_what_the_api_accepts():
    legal = [HELLO, ("assistant", [text("Wait."), CALL]), ("user", [RESULT, text("and?")])]
    assert illegal(request(*legal).messages) == ""
