"""`bot demo` as somebody starts it: real processes, a real mongod of its own, asked over HTTP like
its page asks.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.cli import FAULT
from bot.standins import mongod
from bot.standins.errors import StandInError
from bot.texts import LANGUAGES, text

ANNA, BORIS = 1001, 1002
LIMIT = 60.0
NOTICES = [text("session_expired", language) for language in LANGUAGES]


def wait_for(holds, seconds=LIMIT):
    """The first true value; the pause is between two looks, the limit an assertion."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)
    return value


def alive(pid: int) -> bool:
    """Whether it still runs: one that merely waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Demo:
    """One run of the command."""

    def __init__(self, folder: Path, *arguments: str, **environ: str) -> None:
        known = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "LANG", "MONGOD")
            if name in os.environ
        }
        command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "bot",
            "demo",
            "--folder",
            str(folder),
            *arguments,
        ]
        self.process = subprocess.Popen(
            command, env=known | environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said = ""

    def opens(self) -> Demo:
        """Wait until it prints its address."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C" in line:
                return self
        raise AssertionError(f"it ended: {self.said} {self.ends()}")

    @property
    def url(self) -> str:
        found = re.search(r"Open (http://127\.0\.0\.1:\d+)/", self.said)
        assert found, self.said
        return found[1]

    @property
    def children(self) -> list[int]:
        pid = self.process.pid
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]

    def ends(self, with_signal: signal.Signals | None = None) -> tuple[int, str]:
        """Its exit code and its last words."""
        if with_signal is not None:
            self.process.send_signal(with_signal)
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out + err

    # --------------------------------------------------------------------------------------- asking

    def open(self, path: str, told: object = None, **headers: str) -> Any:
        content = None if told is None else json.dumps(told).encode()
        request = urllib.request.Request(f"{self.url}{path}", content, headers)
        return urllib.request.urlopen(request, timeout=LIMIT)

    def get(self, path: str) -> Any:
        with self.open(path) as answer:
            return json.load(answer)

    def post(self, path: str, **told: object) -> Any:
        with self.open(path, told) as answer:
            return json.load(answer)

    def heard(self, person: int) -> list[str]:
        shown = self.get(f"/control/chat?id={person}")["messages"]
        return [message["text"] for message in shown if message["from_bot"]]

    def ask(self, person: int, words: str) -> str:
        """Say something; the answer, which a notice that a new Session begins may precede."""
        before = len(self.heard(person))
        self.post("/control/say", person=person, text=words)
        return str(
            wait_for(lambda: [text for text in self.heard(person)[before:] if text not in NOTICES])[
                0
            ]
        )

    def session(self, person: int) -> Any:
        return self.get(f"/inspector/session?person={person}&chat={person}")["session"]

    def happened(self) -> list[str]:
        return [event["what"] for event in self.get("/inspector/log")]


@pytest.fixture(scope="module", autouse=True)
def _can_run() -> None:
    try:
        mongod.find(os.environ)
    except StandInError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    if sys.platform != "linux":
        pytest.skip("what a killed parent leaves behind is looked up in /proc")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    running = Demo(tmp_path_factory.mktemp("demo") / "kept", "--port", "0").opens()
    try:
        yield running
        children = running.children
        assert len(children) == 2
        code, last = running.ends(signal.SIGINT)
        assert (code, "Traceback" in last, [child for child in children if alive(child)]) == (
            0,
            False,
            [],
        )
    finally:
        running.process.kill()
        running.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    """Starts demos on one folder; what is still running at the end is killed."""
    started: list[Demo] = []

    def starting(*arguments: str, folder: Path = tmp_path, **environ: str) -> Demo:
        started.append(Demo(folder, *arguments, **environ))
        return started[-1]

    yield starting
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_it_shows_where_everything_is(demo):
    look = demo.get("/environment")
    assert look["folder"] in demo.said
    assert look["mongodb"] in demo.said
    assert (look["running"], look["model"], look["database"]) == (True, "stand-in", "bot_demo")
    assert [person["name"] for person in look["people"]] == ["Anna", "Boris"]


def test_a_dialogue_goes_on_after_the_bot_was_killed(demo):
    """The restart is a kill -9: nothing the bot had in its own head is left."""
    demo.ask(ANNA, "My name is Anna.")
    assert demo.post("/environment/restart")["running"] is True
    assert demo.ask(ANNA, "What is my name?") == "Your name is Anna."
    wait_for(lambda: demo.happened().count("committed") == 2)
    assert (
        "created" in demo.happened()
    )  # told by the database; what was asked is told by the stand-in, perhaps sooner
    assert "killed" in demo.happened()


def test_an_hour_passes_and_the_next_message_opens_a_new_session(demo):
    demo.ask(BORIS, "Меня зовут Борис.")
    before = demo.session(BORIS)
    demo.post("/environment/hour")

    assert "не знаю" in demo.ask(BORIS, "Как меня зовут?")
    assert demo.heard(BORIS)[-2] == text("session_expired", "ru")
    assert demo.session(BORIS)["_id"] != before["_id"]
    assert "expired" in demo.happened()


def test_a_stolen_session_id_shows_the_thief_nothing(demo):
    demo.ask(ANNA, "My secret word is heron.")
    attempt = demo.post("/environment/intrude")
    assert attempt["session"] == demo.session(ANNA)["_id"]
    assert [one["way"] for one in attempt["tries"]] == ["link", "command", "press", "words"]
    assert all(one["got"] for one in attempt["tries"])
    assert not attempt["leaked"]
    assert "heron" not in json.dumps(attempt["tries"])
    assert demo.happened().count("refused") == 4


def test_what_happens_is_told_as_it_happens(demo):
    last = max((line["number"] for line in demo.get("/inspector/log")), default=0)
    with demo.open(f"/inspector/events?since={last}") as events:
        assert events.headers["Content-Type"] == "text/event-stream"
        demo.post("/environment/hour", hours=0.01)
        lines = iter(events.readline, b"")
        told = next(line for line in lines if line.startswith(b"data: "))
    assert json.loads(told.removeprefix(b"data: "))["what"] == "hour"


def test_only_this_machine_under_its_own_name_may_ask(demo):
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        demo.open("/environment", Host="attacker.example")
    assert "default-src 'none'" in refused.value.headers["Content-Security-Policy"]
    refused.value.close()


def test_a_second_demo_on_the_same_folder_is_refused_in_one_sentence(demo, start):
    code, said = start(folder=Path(demo.get("/environment")["folder"])).ends()
    assert code == FAULT
    assert said.splitlines()[-1].startswith("Another `bot demo` is using ")
    assert "Traceback" not in said


def test_killed_it_leaves_nothing_and_the_next_one_goes_on_where_it_was(start):
    """Also: where the port is taken, the page is at another one, and SIGTERM ends it like
    Ctrl-C.
    """
    first = start("--port", "0").opens()
    first.ask(ANNA, "My name is Anna.")
    first.post("/environment/hour")
    first.ask(ANNA, "My name is Anna.")
    children, session = first.children, first.session(ANNA)
    first.process.kill()
    first.process.communicate()
    wait_for(lambda: not any(map(alive, children)))

    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        second = start("--port", str(port)).opens()
    assert f"Port {port} is taken" in second.said
    assert second.ask(ANNA, "What is my name?") == "Your name is Anna."
    assert second.session(ANNA)["_id"] == session["_id"]

    children = second.children
    code, _ = second.ends(signal.SIGTERM)
    assert (code, [child for child in children if alive(child)]) == (0, [])


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path, start):
    (tmp_path / "file").write_text("")
    code, said = start(folder=tmp_path / "file" / "folder").ends()
    assert (code, said.count("cannot be used as the demo's folder")) == (FAULT, 1)
    assert "Traceback" not in said


def test_a_wrong_setting_of_the_model_is_one_sentence(start):
    """It names the variable, not its value."""
    code, said = start(ANTHROPIC_BASE_URL="ftp://secret-host").ends()
    assert code == FAULT
    assert said.splitlines()[-1].startswith("ANTHROPIC_BASE_URL must be")
    assert "secret-host" not in said


# ---------------------------------------------------------------------------------------- who may look

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}
"""As the kernel writes 127.0.0.1 and ::1."""


def listening(pids: list[int]) -> set[str]:
    """The addresses at which these processes listen, as the kernel writes them."""
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = {str(link.readlink()) for link in links if link.is_symlink()}
    tables = [Path(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return {
        row[1].partition(":")[0]
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in sockets
    }


@pytest.mark.skipif(sys.platform != "linux", reason="it reads how Linux lists sockets")
def test_nobody_else_can_look_in(tmp_path):
    """C167: the folder is its owner's alone also where it existed, and all ports are loopback."""
    tmp_path.chmod(0o755)
    demo = Demo(tmp_path, "--port", "0", "--no-browser").opens()
    try:
        assert tmp_path.stat().st_mode & 0o777 == 0o700
        assert len(demo.children) >= 2  # mongod and the bot
        for pid in (demo.process.pid, *demo.children):
            assert listening([pid]) - LOOPBACK == set()
        assert listening([demo.process.pid, *demo.children])
    finally:
        demo.ends(signal.SIGTERM)
