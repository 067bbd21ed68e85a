"""Tool calls whose arguments are not one whole JSON object, although the model says that it wants
them run.
"""

from __future__ import annotations

from dataclasses import replace

from bot.standins.claude.answers import Answer, ToolCall

GARBLED = {
    "cut in a text": '{"words": "milk", "note": "two bott',
    "cut after a comma": '{"words": "milk",',
    "cut after a value": '{"words": "milk"',
    "cut after a brace": "{",
    "single quotes": "{'words': 'milk'}",
    "no quotes": "{words: milk}",
    "a comment": '{"words": "milk"} // two bottles',
    "two objects": '{"words": "milk"}{"words": "tea"}',
    "a fence": '```json\n{"words": "milk"}\n```',
    "a list": '[{"words": "milk"}]',
    "half a list": "[",
    "a string": '"milk"',
    "a number": "42",
    "null": "null",
    "a name twice": '{"words": "milk", "words": "tea"}',
    "a name twice, deep": '{"words": "milk", "more": [{"a": 1, "a": 2}]}',
    "no number": '{"words": NaN}',
    "too large a number": '{"words": 1e999}',
    "too many digits": '{"words": ' + "9" * 5000 + "}",
    "nested without end": '{"words": ' + "[" * 5_000,
    "nested too deep": '{"words": ' + "[" * 100 + "]" * 100 + "}",
    "blanks": "  ",
}
"""Arguments of tools as models write them that are not one whole JSON object."""


def garbled(answer: Answer, written: str) -> Answer:
    """The answer with `written` as the arguments of its tool calls, and `tool_use` as its stop
    reason.
    """
    spoilt = (
        replace(block, partial=written) if isinstance(block, ToolCall) else block
        for block in answer.blocks
    )
    return replace(answer, blocks=tuple(spoilt), stop="tool_use")
