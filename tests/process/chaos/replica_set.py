"""Three nodes of mongod on the loopback that elect a new primary within a second or two; each can
be killed at will.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from bot.standins import mongod

FLAGS = (
    "--bind_ip=127.0.0.1",
    "--nounixsocket",
    "--noscripting",
    "--networkMessageCompressors=snappy,zstd",
    "--replSet=rs0",
    "--oplogSize=200",
    "--wiredTigerEngineConfigString=cache_size=64M,log=(file_max=1MB,prealloc=false),session_max=500",
    "--setParameter=diagnosticDataCollectionEnabled=false",
    "--setParameter=enableTestCommands=1",
    "--setParameter=ttlMonitorEnabled=false",
)
ELECTION = {
    "electionTimeoutMillis": 1000,
    "heartbeatIntervalMillis": 300,
    "heartbeatTimeoutSecs": 1,
}
MAX_WAIT_SECONDS = 60.0


@dataclass
class Node:
    """One member; its documents outlive its process."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass
class ReplicaSet:
    """The set. Start it from the main thread: its nodes die with the thread that started them."""

    size: int = 3
    nodes: list[Node] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._program = mongod.find(os.environ)
        shm = Path("/dev/shm")
        base = shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())
        folder = Path(tempfile.mkdtemp(prefix="bot-replica-set-", dir=base))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self._stack.callback(self._stop)
        try:
            self._begin(folder)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self, folder: Path) -> None:
        for number in range(self.size):
            place = folder / str(number)
            place.mkdir()
            port = free_port()
            self.nodes.append(Node(port, place, self._launch(port, place)))
        for node in self.nodes:
            _until(lambda node=node: _answers(node.address))  # type: ignore[misc]
        members = [{"_id": number, "host": node.address} for number, node in enumerate(self.nodes)]
        first: MongoClient[dict[str, Any]]
        with MongoClient(self.nodes[0].address, directConnection=True) as first:
            first.admin.command(
                "replSetInitiate", {"_id": "rs0", "members": members, "settings": ELECTION}
            )
        self.client: MongoClient[dict[str, Any]] = MongoClient(
            self.uri, tz_aware=True, heartbeatFrequencyMS=500
        )
        self._stack.callback(self.client.close)
        _until(self._is_whole)

    @property
    def uri(self) -> str:
        return f"mongodb://{','.join(node.address for node in self.nodes)}/?replicaSet=rs0"

    def primary(self) -> Node | None:
        """Who leads, as far as the client has heard."""
        address = self.client.primary
        return next((node for node in self.nodes if address and node.port == address[1]), None)

    def kill(self, node: Node) -> None:
        """As a power cut does."""
        node.process.send_signal(signal.SIGKILL)
        node.process.wait()

    def revive(self, node: Node) -> None:
        """Start it again over what it had written."""
        with suppress(FileNotFoundError):
            (node.folder / "mongod.lock").unlink()
        node.process = self._launch(node.port, node.folder)

    def _launch(self, port: int, folder: Path) -> subprocess.Popen[bytes]:
        with (folder.parent / f"{folder.name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(self._program), f"--port={port}", f"--dbpath={folder}", *FLAGS],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=mongod.dying_with_parent(),  # noqa: PLW1509 - one prctl, no lock is taken
                process_group=0,
            )

    def _is_whole(self) -> bool:
        states = self.client.admin.command("replSetGetStatus")["members"]
        return sorted(member["stateStr"] for member in states) == [
            "PRIMARY",
            *["SECONDARY"] * (self.size - 1),
        ]

    def _stop(self) -> None:
        for node in self.nodes:
            node.process.send_signal(signal.SIGCONT)
            node.process.kill()
        for node in self.nodes:
            node.process.wait()


def free_port() -> int:
    """A port nobody has now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(address: str) -> bool:
    client: MongoClient[dict[str, Any]]
    with MongoClient(address, directConnection=True, serverSelectionTimeoutMS=200) as client:
        client.admin.command("ping")
    return True


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + MAX_WAIT_SECONDS
    while True:
        with suppress(PyMongoError):
            if holds():
                return
        if time.monotonic() > end:
            raise AssertionError("the replica set did not get ready in time")
        time.sleep(0.05)
