"""A three-node MongoDB for the storms, and towns over it or over the one node all tests share."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.standins.errors import StandInError
from tests.process.chaos.replica_set import ReplicaSet
from tests.process.chaos.town import Environment, opened


@pytest.fixture(scope="module")
def mongo() -> Iterator[ReplicaSet]:
    try:
        running = ReplicaSet().__enter__()
    except StandInError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    try:
        yield running
    finally:
        running.__exit__(None, None, None)


Open = Callable[..., AbstractAsyncContextManager[Environment]]


@pytest.fixture
def stormy(mongo: ReplicaSet, tmp_path: Path) -> Open:
    """Towns over the replica set."""
    return lambda **changes: opened(
        mongo.uri, mongo.client, f"test_{uuid.uuid4().hex}", tmp_path, **changes
    )


@pytest.fixture
def calm(mongod: str, mongo_client: Any, database: str, tmp_path: Path) -> Open:
    """Towns over the one node."""
    return lambda **changes: opened(mongod, mongo_client, database, tmp_path, **changes)
