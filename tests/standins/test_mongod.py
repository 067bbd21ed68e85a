"""The launcher of a mongod: which program it trusts, and that a server comes, keeps its folder, and
goes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from bot.standins import mongod as launcher
from bot.standins.errors import StandInError

Client = MongoClient[dict[str, object]]

QUICK = {"ttlMonitorEnabled": "false"}


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_wheel(monkeypatch):
    monkeypatch.setattr(launcher, "find_spec", lambda name: None)


def test_a_named_server_is_used_as_it_is():
    with launcher.running({"MONGODB_URI": "mongodb://elsewhere"}) as uri:
        assert uri == "mongodb://elsewhere"


def test_the_named_program_comes_before_the_one_on_the_path(tmp_path, no_wheel):
    named = program(tmp_path / "mine", "exit 0")
    (tmp_path / "bin").mkdir()
    on_path = program(tmp_path / "bin" / "mongod", "exit 0")
    path = str(tmp_path / "bin")
    assert launcher.find({"MONGOD": str(named), "PATH": path}) == named
    assert launcher.find({"PATH": path}) == on_path


def test_a_program_that_cannot_run_is_passed_over(tmp_path, no_wheel):
    """C123: a stub instead of a binary, a missing library."""
    program(tmp_path / "mongod", "exit 0")
    broken = program(tmp_path / "stub", "exit 127")
    assert launcher.find({"MONGOD": str(broken), "PATH": str(tmp_path)}) == tmp_path / "mongod"


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("echo 'error while loading shared libraries: libcurl.so.4' >&2; exit 127", "libcurl.so.4"),
        ("exit 3", "exit code 3"),
    ],
    ids=["missing_library", "silent"],
)
def test_one_sentence_names_the_cause_and_the_way_out(tmp_path, no_wheel, script, cause):
    """C123."""
    broken = program(tmp_path / "mongod", script)
    with pytest.raises(StandInError) as caught:
        launcher.find({"PATH": str(tmp_path)})
    message = str(caught.value)
    assert f"{broken}: " in message
    assert cause in message
    assert "MONGODB_URI" in message
    assert "\n" not in message


def test_a_file_that_is_no_program_is_named_too(tmp_path, no_wheel):
    stub = tmp_path / "exception.txt"
    stub.write_text("could not download", encoding="utf-8")
    with pytest.raises(StandInError, match="Permission denied"):
        launcher.find({"MONGOD": str(stub), "PATH": ""})


def test_where_nothing_is_installed_the_way_out_is_named(no_wheel):
    """C110: it is also what a test that is skipped for it says."""
    with pytest.raises(StandInError, match="none found"):
        launcher.find({"PATH": ""})


@pytest.fixture
def here(mongod):
    """The environment without a named server, where a mongod is known to run."""
    return {name: value for name, value in os.environ.items() if name != "MONGODB_URI"}


def test_a_kept_folder_is_opened_again_on_another_port(here, tmp_path):
    """What the demo stored yesterday is there today, although the set knew itself under another
    address.
    """
    seen = []
    for number in range(2):
        with launcher.running(here, tmp_path / "kept", QUICK) as uri, Client(uri) as client:
            client["demo"]["starts"].insert_one({"_id": number})
            seen.append((client.address, client["demo"]["starts"].count_documents({})))
    assert [count for _, count in seen] == [1, 2]
    assert seen[0][0] != seen[1][0]


def test_a_passing_server_leaves_nothing_behind(here):
    """C110: the tests bring one up by themselves."""
    with launcher.running(here, parameters=QUICK) as uri, Client(uri) as client:
        folder = Path(client.admin.command("getCmdLineOpts")["parsed"]["storage"]["dbPath"])
        assert folder.exists()
    assert not folder.exists()
    with Client(uri, serverSelectionTimeoutMS=50) as client, pytest.raises(PyMongoError):
        client.admin.command("ping")


def test_a_server_that_stops_at_once_is_reported(here, tmp_path):
    with pytest.raises(StandInError, match=r"stopped at once .*noSuchParameter"):  # noqa: SIM117 - the block is the point
        with launcher.running(here, tmp_path, {"noSuchParameter": "1"}):
            pytest.fail("it cannot have started")


KILLED = """
import os, signal
from bot.standins.mongod import running
with running({"PATH": os.environ["PATH"]}) as uri:
    print(uri, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_killed_parent_takes_its_server_along(here):
    """A crashed test run must not leave servers; their folders are swept at the next start."""
    command = [sys.executable, "-c", KILLED]
    killed = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, text=True, timeout=90, env=here
    )
    with (
        Client(killed.stdout.strip(), serverSelectionTimeoutMS=50) as client,
        pytest.raises(PyMongoError),
    ):
        client.admin.command("ping")
    with launcher.running(here, parameters=QUICK) as uri, Client(uri) as client:
        folder = Path(str(client.admin.command("getCmdLineOpts")["parsed"]["storage"]["dbPath"]))
        owners = {int(left.name.split("-")[2]) for left in folder.parent.glob("bot-mongod-*")}
    assert all(launcher._is_alive(owner) for owner in owners)
