"""The queue in front of the driver, and what the driver's failures mean."""

from __future__ import annotations

import asyncio

import pytest
from bson.errors import InvalidDocument
from pymongo import errors as vendor

from bot.errors import (
    Duplicate,
    SessionTooLarge,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    Uncertain,
    Unstorable,
)
from bot.store.mongo.driver_gate import DriverGate, within
from bot.store.mongo.refusals import tries_of

SECRET = "mongodb://bot:s3cret@host and a person's words"
ALL_DUPLICATES = {"writeErrors": [{"code": 11000}, {"code": 11000}], "writeConcernErrors": []}
ONE_NEVER = {"writeErrors": [{"code": 11000}, {"code": 121}], "writeConcernErrors": []}
ONE_OTHER = {"writeErrors": [{"code": 121}, {"code": 112}], "writeConcernErrors": []}
UNSURE = {"writeErrors": [{"code": 11000}], "writeConcernErrors": [{"code": 64}]}
MEANINGS = {
    "no_server": (vendor.ServerSelectionTimeoutError(SECRET), StoreUnavailable),
    "pool_full": (vendor.WaitQueueTimeoutError(SECRET), StoreUnavailable),
    "shed": (
        vendor.OperationFailure(SECRET, 462, {"errorLabels": ["SystemOverloadedError"]}),
        StoreUnavailable,
    ),
    "torn": (vendor.AutoReconnect(SECRET), Uncertain),
    "late": (vendor.NetworkTimeout(SECRET), Uncertain),
    "stepping_down": (vendor.NotPrimaryError(SECRET), Uncertain),
    "replication_late": (vendor.WTimeoutError(SECRET, 64), Uncertain),
    "too_slow": (vendor.ExecutionTimeout(SECRET, 50), Uncertain),
    "bulk_unsure": (vendor.BulkWriteError(UNSURE), Uncertain),
    "duplicate": (vendor.DuplicateKeyError(SECRET, 11000), Duplicate),
    "bulk_duplicates": (vendor.BulkWriteError(ALL_DUPLICATES), Duplicate),
    "bulk_never": (vendor.BulkWriteError(ONE_NEVER), Unstorable),
    "bulk_other": (vendor.BulkWriteError(ONE_OTHER), StoreRefused),
    "not_valid": (vendor.WriteError(SECRET, 121), Unstorable),
    "too_deep": (vendor.OperationFailure(SECRET, 15), Unstorable),
    "too_deep_here": (RecursionError(SECRET), Unstorable),
    "over_quota": (vendor.OperationFailure(SECRET, 8000), StoreRefused),
    "conflict": (vendor.WriteError(SECRET, 112), StoreRefused),
    "forbidden": (vendor.OperationFailure(SECRET, 13), StoreRefused),
    "unheard_of": (vendor.OperationFailure(SECRET, 31_415), StoreRefused),
    "wrong_command": (vendor.OperationFailure(SECRET, 9), StoreError),
    "too_large": (vendor.DocumentTooLarge(SECRET), SessionTooLarge),
    "not_bson": (InvalidDocument(SECRET), Unstorable),
    "wide_int": (OverflowError(SECRET), Unstorable),
}


async def fail(calls, error):
    async with calls:
        raise error


@pytest.mark.parametrize(("error", "meaning"), MEANINGS.values(), ids=MEANINGS)
async def test_each_failure_has_exactly_one_meaning_and_none_of_the_drivers_words(error, meaning):
    with pytest.raises(StoreError) as caught:
        await fail(DriverGate(), error)
    assert type(caught.value) is meaning
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("codes", "tries"),
    [
        ({112}, 12),
        ({8000, 14031}, 12),
        ({1}, 3),
        ({112, 31_415}, 3),
        ({None}, 3),
        ({9}, 0),
        (set(), 0),
    ],
    ids=["conflict", "full", "internal", "mixed", "no code", "never", "none of the server's"],
)
def test_a_refusal_is_tried_as_often_as_its_codes_say(codes, tries):
    """C156"""
    assert tries_of(codes) == tries


@pytest.mark.parametrize(
    "error", [ValueError("ours"), StoreUnavailable(), asyncio.CancelledError()], ids=type
)
async def test_what_is_not_the_drivers_passes_untouched(error):
    with pytest.raises(type(error)) as caught:
        await fail(DriverGate(), error)
    assert caught.value is error


async def test_calls_are_served_first_come_first_served_and_only_so_many_at_once():
    """C116: a task that has just finished cannot barge in ahead of those that wait."""
    calls, order, inside = DriverGate(at_once=2), [], []

    async def call(name):
        async with calls:
            order.append(name)
            inside.append(name)
            assert len(inside) <= 2
            await asyncio.sleep(0)
            inside.remove(name)

    async def greedy(name):
        await call(f"{name} first")
        await call(f"{name} again")

    await asyncio.gather(greedy("a"), greedy("b"), call("c"), call("d"))
    assert order.index("c") < order.index("a again")
    assert order.index("d") < order.index("b again")


async def test_a_wait_in_line_ends_with_the_news_that_nothing_was_sent():
    """C22: behind calls that do not end, to be told so is better than to wait on."""
    calls = DriverGate(at_once=1, wait_seconds=0.01)
    async with calls:
        with pytest.raises(StoreUnavailable) as told:
            await calls.__aenter__()
    assert type(told.value) is StoreUnavailable
    async with calls:
        """The place is free again."""


async def test_calls_that_are_to_be_made_within_a_time_end_with_it():
    """C12: in line, as here, or on their way."""
    calls = DriverGate(at_once=1)
    async with calls:
        with pytest.raises(Uncertain):
            async with within(0.01), calls:
                raise AssertionError("there was no place")
    async with within(5), calls:
        """There is one now."""


async def test_a_failed_or_cancelled_call_gives_its_place_back():
    calls = DriverGate(at_once=1)
    for error in (vendor.AutoReconnect(SECRET), asyncio.CancelledError()):
        with pytest.raises((Uncertain, asyncio.CancelledError)):
            await fail(calls, error)
    async with calls:
        pass
