"""C77: with nothing but the loopback interface the bot starts, counts tokens and answers; nothing
is downloaded.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CUT_OFF = """
import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    wanted = struct.pack("16sH14s", b"lo", 1, b"")  # interface lo, flag UP
    fcntl.ioctl(probe, 0x8914, wanted)  # SIOCSIFFLAGS
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *sys.argv[1:]])
"""
SCENARIO = (
    "tests/scenarios/test_came_back_after_an_hour.py::test_within_the_idle_limit_the_talk_goes_on"
)
TOKENS = "tests/unit/test_tokens.py"


def cut_off(*command: str) -> list[str]:
    return ["unshare", "--map-root-user", "--net", *command]


def can_be_cut_off() -> bool:
    try:
        return subprocess.run(cut_off("true"), capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(
    not can_be_cut_off(), reason="this machine does not let a test make a network namespace"
)
def test_without_a_network_the_bot_starts_counts_and_answers():
    ended = subprocess.run(
        cut_off(sys.executable, "-c", CUT_OFF, SCENARIO, TOKENS),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "skipped" not in ended.stdout


@pytest.mark.skipif(
    not can_be_cut_off(), reason="this machine does not let a test make a network namespace"
)
def test_the_namespace_has_no_way_out():
    """The test above could not fail if it could reach the world."""
    routes = subprocess.run(
        cut_off("cat", "/proc/net/route"), capture_output=True, text=True, check=True
    ).stdout

    assert routes.count("\n") <= 1
