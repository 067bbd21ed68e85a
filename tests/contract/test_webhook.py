"""The webhook over real HTTP: 200 once an update is stored, and whoever lacks the secret learns
nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from telegram import Bot

from bot.errors import StartError, StoreError, StoreUnavailable
from bot.ops.clock import ManualClock
from bot.ops.http_server import HttpServer
from bot.standins.telegram.server import TelegramServer
from bot.store.memory.inbox import MemoryInbox
from bot.telegram.inbound.incoming_rate import IncomingRate
from bot.telegram.inbound.parsing import Account
from bot.telegram.inbound.poller import ALLOWED_UPDATES
from bot.telegram.inbound.receiver import Gate, Receiver, reading
from bot.telegram.inbound.webhook import SECRET_HEADER, Webhook
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outbound.transport import Transport

SECRET = "planted_Secret-1-of-32-characters"
MARKUP = "<script>alert('planted')</script>"
JSON = {"Content-Type": "application/json", SECRET_HEADER: SECRET}


def update(update_id=1, text="hello"):
    anna = {"id": 7, "is_bot": False, "first_name": "Anna"}
    chat = {"id": 7, "type": "private"}
    return {
        "update_id": update_id,
        "message": {"message_id": 5, "date": 1, "from": anna, "chat": chat, "text": text},
    }


class Inbox(MemoryInbox):
    """The inbox in memory; `away`: so many updates find no store; `gate` holds an insert back."""

    def __init__(self, clock):
        super().__init__(clock)
        self.away = 0
        self.fault = StoreUnavailable
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0

    async def put(self, *entries):
        self.asked += 1
        await self.gate.wait()
        if self.away:
            self.away -= 1
            raise self.fault
        return await super().put(*entries)


class Door:
    """A webhook on a port of its own, with all that stands behind it."""

    def __init__(self, bot, inbox, client, hook, url):
        self.bot, self.inbox, self.hook, self.url = bot, inbox, hook, url
        self._client = client

    async def post(self, body=None, headers=JSON, path="/telegram", **sent):
        data = (
            json.dumps(update() if body is None else body)
            if "data" not in sent
            else sent.pop("data")
        )
        async with self._client.post(path, data=data, headers=headers, **sent) as answer:
            return answer.status, await answer.text(), answer.headers

    async def status(self, body=None, **sent):
        return (await self.post(body, **sent))[0]

    async def waiting(self):
        """The texts of what was stored."""
        claim = await self.inbox.claim(())
        if claim is None:
            return []
        batch = await self.inbox.next(claim)
        await self.inbox.hand_back(claim)
        return [entry.update["message"]["text"] for entry in batch.entries]


@asynccontextmanager
async def opened(bot, clock, path="/telegram"):
    inbox, throttled_notices = Inbox(clock), ThrottledNotices(Messages(Transport(bot)), clock)
    account = Account(123456, "emulated_bot")
    gate = Gate(lambda _owner: True, IncomingRate(20, clock))
    receiver = Receiver(inbox, account, clock, throttled_notices, gate)
    routes = Webhook(f"https://bot.example{path}", SECRET, reading(receiver.receive)).routes()
    async with HttpServer("127.0.0.1", 0, routes) as health:
        url = f"http://127.0.0.1:{health.port}"
        hook = Webhook(f"{url}{path}", SECRET, reading(receiver.receive))
        async with aiohttp.ClientSession(url) as client:
            yield Door(bot, inbox, client, hook, url)
    await throttled_notices.close()


@pytest.fixture
async def server():
    async with TelegramServer(clock=ManualClock(), pace=0.001) as telegram:
        yield telegram


@pytest.fixture
async def door(server):
    async with (
        Bot(server.token, base_url=server.base_url, base_file_url=server.base_file_url) as bot,
        opened(bot, server.state.clock) as made,
    ):
        yield made


# ----------------------------------------------------------------------------------------- accepted


async def test_an_update_is_answered_200_only_after_it_is_stored(door):
    door.inbox.gate.clear()
    answering = asyncio.create_task(door.status())
    async with asyncio.timeout(60):
        while not door.inbox.asked:  # noqa: ASYNC110 - the route has no event to wait for
            await asyncio.sleep(0)
    done, _ = await asyncio.wait({answering}, timeout=0.05)
    assert not done

    door.inbox.gate.set()
    assert await answering == 200
    assert await door.waiting() == ["hello"]


async def test_an_update_that_comes_again_is_answered_200_and_stored_once(door):
    """C11."""
    assert [await door.status() for _ in range(3)] == [200, 200, 200]
    assert await door.waiting() == ["hello"]


@pytest.mark.parametrize(
    "nothing",
    [
        {"update_id": 2},
        {"update_id": 2, "poll": {"id": "1"}},
        {"update_id": 2, "message": "no message"},
        {"update_id": 2, "message": {"message_id": []}},
        {"update_id": 2**70},
    ],
    ids=["empty", "a kind nobody asked for", "a text", "a torn message", "a large id"],
)
async def test_an_update_that_asks_nothing_of_us_is_answered_200(door, nothing):
    """Anything else would make Telegram repeat it for a day and hold the chat's next one back."""
    assert await door.status(nothing) == 200
    assert await door.waiting() == []


async def test_a_large_update_that_arrives_in_pieces_is_read_to_its_end(door):
    """C16: one that was cut off would be refused, and repeated, for a day."""
    words = "word " * 100_000
    body = json.dumps(update(text=words)).encode()

    async def pieces():
        for start in range(0, len(body), 50_000):
            yield body[start : start + 50_000]
            await asyncio.sleep(0)

    assert await door.status(data=pieces()) == 200
    assert await door.waiting() == [words]


async def test_the_address_is_the_path_of_the_url(server):
    clock = server.state.clock
    async with Bot(server.token, base_url=server.base_url) as bot:
        async with opened(bot, clock, path="/a/b") as door:
            assert (await door.status(path="/a/b"), await door.status(path="/telegram")) == (
                200,
                404,
            )
        async with opened(bot, clock, path="") as door:
            assert await door.status(path="/") == 200


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    "given",
    [
        {},
        {SECRET_HEADER: ""},
        {SECRET_HEADER: "wrong"},
        {SECRET_HEADER: SECRET + "x"},
        {SECRET_HEADER: SECRET[:-1]},
    ],
    ids=["missing", "empty", "wrong", "longer", "shorter"],
)
async def test_without_the_secret_nothing_is_read(door, given):
    answered = await door.post(headers={"Content-Type": "application/json", **given})
    assert answered[:2] == (403, "")
    assert await door.waiting() == []


async def test_a_secret_of_odd_bytes_is_a_wrong_one(door):
    """Such a header cannot be written as UTF-8."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(door.url.rpartition(":")[2]))
    head = (
        f"POST /telegram HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
        f"2\r\n{SECRET_HEADER}: ".encode()
    )
    writer.write(head + b"\xff\xfe\r\n\r\n{}")
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 403")


async def test_the_secret_is_compared_in_constant_time(door, monkeypatch):
    compared = []
    compare = hmac.compare_digest

    def noted(given, secret):
        compared.append((given, secret))
        return compare(given, secret)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    await door.status(headers=JSON | {SECRET_HEADER: "wrong"})
    assert compared == [(b"wrong", SECRET.encode())]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"update_id": "1"}',
        b'{"update_id": true}',
        b'{"update_id": 1.5}',
        b'{"update_id": 1' + b"0" * 5_000 + b"}",
    ],
    ids=[
        "empty",
        "torn",
        "no UTF-8",
        "deep",
        "null",
        "a list",
        "a text",
        "no id",
        "id as text",
        "id as bool",
        "half an id",
        "id of 5,001 digits",
    ],
)
async def test_a_body_that_is_no_update_is_dropped_with_one_line(door, caplog, body):
    """A refusal cannot help: Telegram would repeat it for ever."""
    assert (await door.post(data=body))[:2] == (200, "")
    [record] = caplog.records
    assert "dropped" in record.getMessage()
    assert await door.waiting() == []
    assert await door.status() == 200
    assert await door.waiting() == ["hello"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_another_kind_of_body_is_refused(door, kind):
    assert await door.status(headers=JSON | {"Content-Type": kind}) == 415


async def test_the_kind_of_body_may_name_its_encoding(door):
    assert (
        await door.status(headers=JSON | {"Content-Type": "application/json; charset=utf-8"}) == 200
    )


async def test_a_body_that_is_announced_as_too_large_is_dropped_unread(door, caplog):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(door.url.rpartition(":")[2]))
    lines = (
        "POST /telegram HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        "Content-Length: 1000000000",
    )
    writer.write("\r\n".join([*lines, f"{SECRET_HEADER}: {SECRET}", "", ""]).encode())
    async with asyncio.timeout(60):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()
    assert ["dropped" in record.getMessage() for record in caplog.records] == [True]


async def test_a_body_that_grows_too_large_is_dropped_before_its_end(door, caplog):
    sent = 0

    async def endless():
        nonlocal sent
        while sent < 200_000_000:
            sent += 100_000
            yield b" " * 100_000

    try:
        assert await door.status(data=endless()) == 200
    except aiohttp.ClientError:
        """The server may close while the client still writes."""
    assert sent < 200_000_000
    assert ["dropped" in record.getMessage() for record in caplog.records] == [True]


async def test_a_body_that_does_not_arrive_is_given_up_and_one_that_breaks_off_is_no_fault(
    server, caplog
):
    """C167: neither holds a connection, and neither fills the log."""
    async with Bot(server.token, base_url=server.base_url) as bot:
        hook = Webhook("https://bot.example/telegram", SECRET, bot.initialize, body_seconds=0.1)
        async with HttpServer("127.0.0.1", 0, hook.routes()) as http, asyncio.timeout(60):
            lines = (
                "POST /telegram HTTP/1.1",
                "Host: x",
                "Content-Type: application/json",
                "Content-Length: 99",
            )
            head = "\r\n".join([*lines, f"{SECRET_HEADER}: {SECRET}", "", "{"]).encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", http.port)
            writer.write(head)
            assert (await reader.readline()).startswith(b"HTTP/1.1 408")
            assert (await reader.read()).endswith(b"\r\n\r\n")
            writer.close()
            _, broken = await asyncio.open_connection("127.0.0.1", http.port)
            broken.write(head)
            while not http._working:  # noqa: ASYNC110 - the route has no event to wait for
                await asyncio.sleep(0)
            broken.transport.abort()
            while http._working:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0)
    assert caplog.records == []


async def test_nothing_that_was_sent_comes_back(door):
    """C119."""
    answers = [
        await door.post(path=f"/telegram?text={MARKUP}", data=MARKUP),
        await door.post(path=f"/{MARKUP}"),
        await door.post(headers=JSON | {SECRET_HEADER: MARKUP}),
        await door.post(headers=JSON | {"Content-Type": MARKUP}),
        await door.post({"update_id": MARKUP}),
        await door.post(update(text=MARKUP)),
    ]
    assert [status for status, _, _ in answers] == [200, 404, 403, 415, 200, 200]
    assert "planted" not in "".join(f"{body}{headers}" for _, body, headers in answers)


async def test_only_post_is_an_update(door):
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{door.url}/telegram", headers=JSON) as answer,
    ):
        assert answer.status == 405


# -------------------------------------------------------------------------------- the store is away


@pytest.mark.parametrize("fault", [StoreUnavailable, StoreError], ids=["away", "refusing"])
async def test_while_the_store_takes_nothing_telegram_is_asked_to_come_again(door, fault):
    """C12.

    A store that refuses (its disk is full, a right was taken away) will take it once that is
    mended.
    """
    door.inbox.fault = fault
    door.inbox.away = 1
    status, body, headers = await door.post()
    assert (status, body, headers["Retry-After"]) == (503, "", "2")
    assert await door.waiting() == []
    assert await door.status() == 200
    assert await door.waiting() == ["hello"]


async def test_telegram_repeats_what_could_not_be_stored_and_it_is_taken_once(door, server):
    """C12, as Telegram itself does it: its own order, its own waits."""
    door.inbox.away = 3
    await door.hook.announce(door.bot)
    anna = server.person(7, "Anna")
    anna.says("one")
    anna.says("two")
    await server.until(lambda: not server.state.updates.pending)

    assert [(push.status, push.wait) for push in server.pushes] == [
        (503, 2),
        (503, 2),
        (503, 2),
        (200, 0),
        (200, 0),
    ]
    assert await door.waiting() == ["one", "two"]


# ---------------------------------------------------------------------------------------- announced


async def test_telegram_is_told_the_address_the_secret_and_the_kinds_we_handle(door, server):
    await door.hook.announce(door.bot)
    [call] = server.journal.of("setWebhook")
    assert call.params["secret_token"] == SECRET
    assert server.state.webhook.url == f"{door.url}/telegram"
    assert set(server.state.updates.allowed) == set(ALLOWED_UPDATES)


async def test_what_waited_before_the_webhook_was_set_is_delivered(door, server):
    server.person(7, "Anna").says("before")
    await door.hook.announce(door.bot)
    await server.until(lambda: not server.state.updates.pending)
    assert await door.waiting() == ["before"]


async def test_an_address_that_telegram_refuses_is_one_sentence(door):
    refused = Webhook("http://bot.example/telegram", SECRET, door.hook.announce)
    with pytest.raises(StartError, match="WEBHOOK_URL: Telegram refuses it"):
        await refused.announce(door.bot)
