"""The port as those meet it who mean no good: silent, trickling, in crowds; and as others meet it
meanwhile.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import asynccontextmanager, suppress
from statistics import median
from time import thread_time

import aiohttp
import pytest
from aiohttp import web

from bot.errors import StartError
from bot.ops import http_server
from bot.ops.descriptors import file_limit, raise_file_limit
from bot.ops.http_server import HttpServer

IDLE = 0.3
REQUEST = b"GET /hello HTTP/1.1\r\nHost: bot\r\n\r\n"


@asynccontextmanager
async def served(**options):
    async def hello(_):
        return web.Response(text="hello")

    async def store(request):
        return web.Response(text=str(len(await request.read())))

    routes = [web.get("/hello", hello), web.post("/store", store)]
    async with HttpServer("127.0.0.1", 0, routes, **options) as server:
        yield server


async def ask(port, words=REQUEST):
    """One request on a connection of its own; the status line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(words)
        return await reader.readline()
    finally:
        writer.close()


async def is_closed(reader):
    with suppress(ConnectionResetError):
        return await reader.read() == b""
    return True


# ----------------------------------------------------------------------------------------- patience


async def test_a_connection_that_says_nothing_is_closed():
    """C167."""
    async with served(idle=IDLE) as server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert await is_closed(reader)
        writer.close()


async def test_a_connection_that_trickles_its_headers_is_closed():
    """C167: each byte keeps no timer alive."""
    async with served(idle=IDLE) as server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /hello HTTP/1.1\r\nHost: bot\r\nX-Slow: ")
        closed = asyncio.create_task(is_closed(reader))
        while not closed.done():
            writer.write(b"x")
            await asyncio.wait({closed}, timeout=IDLE / 10)
        assert await closed
        writer.close()


async def test_a_kept_connection_serves_several_requests_and_ends_when_it_is_idle():
    """The probes of a person or a proxy keep their connection."""
    async with served(idle=IDLE) as server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(5):
            writer.write(REQUEST)
            assert b"200" in await reader.readuntil(b"hello")
        assert await is_closed(reader)
        writer.close()


async def test_a_kept_connection_that_trickles_its_second_request_is_closed():
    async with served(idle=IDLE) as server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(REQUEST + b"GET /hello HT")
        assert b"200" in await reader.readuntil(b"hello")
        closed = asyncio.create_task(is_closed(reader))
        while not closed.done():
            writer.write(b"T")
            await asyncio.wait({closed}, timeout=IDLE / 10)
        writer.close()


GET = b"GET /hello HTTP/1.1\r\nHost: bot\r\n"
UNREADABLE = {
    "a header that is too long": GET + b"X-Large: " + b"x" * 100_000 + b"\r\n\r\n",
    "too many headers": GET + b"X-Many: x\r\n" * 10_000 + b"\r\n",
    "a header without a name": GET + b": x\r\n\r\n",
    "two lengths": GET + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "another version": b"GET /hello HTTP/9.x\r\n\r\n",
}


@pytest.mark.parametrize("request_", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_a_request_that_cannot_be_read_is_refused_without_a_traceback(request_, caplog):
    """Else anybody could fill the operator's disk."""
    caplog.set_level("INFO")
    async with served() as server:
        assert b"400" in await ask(server.port, request_)
        assert b"200" in await ask(server.port)
    assert caplog.records == []


def pour(port, size):
    """Send a head of this size, as far as it is taken."""
    with socket.create_connection(("127.0.0.1", port)) as client, suppress(OSError):
        client.sendall(b"GET /hello HTTP/1.1\r\nX: " + b"x" * size)
        client.recv(1)


async def test_a_huge_head_costs_little_more_to_refuse_than_one_that_is_too_large():
    """What the parser says of a piece it refuses grows with the piece, in time and memory."""
    spent = {}
    async with served() as server, asyncio.timeout(60):
        for size in (16 * 1024, 4 * 1024 * 1024):
            began = thread_time()
            await asyncio.gather(*(asyncio.to_thread(pour, server.port, size) for _ in range(40)))
            spent[size] = thread_time() - began
        assert b"200" in await ask(server.port)
    assert spent[4 * 1024 * 1024] < 5 * spent[16 * 1024]


async def test_what_fails_here_keeps_its_traceback(caplog):
    async def broken(_):
        raise ValueError

    async with HttpServer("127.0.0.1", 0, [web.get("/hello", broken)]) as server:
        assert b"500" in await ask(server.port)
    assert [record.exc_info is not None for record in caplog.records] == [True]


# ------------------------------------------------------------------------------------------ numbers


@pytest.fixture
def few(monkeypatch):
    """A server that has room for eight."""
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 8)


async def test_whoever_comes_late_takes_the_place_of_the_oldest_that_waits(few):
    """C167: silent crowds lock nobody out."""
    async with served() as server, asyncio.timeout(60):
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(30)]
        assert b"200" in await ask(server.port)
        assert await is_closed(silent[0][0])
        assert len(server._open) <= 8
        for _, writer in silent:
            writer.close()


async def test_a_request_that_is_being_answered_keeps_its_place(few):
    """An update that Telegram delivers is not cut off by a crowd."""
    async with served() as server, asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /store HTTP/1.1\r\nHost: bot\r\nContent-Length: 10\r\n\r\nhello")
        while not server._working:  # noqa: ASYNC110 - the route has no event to wait for
            await asyncio.sleep(0)
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(30)]
        assert b"200" in await ask(server.port)
        writer.write(b"hello")
        assert b"200" in await reader.readline()
        for _, other in (*silent, (reader, writer)):
            other.close()


async def test_whoever_reads_no_answer_can_be_cut_too(few):
    """A close that waits for a reader would hold the file for ever."""
    async with served() as server, asyncio.timeout(60):
        deaf = [await asyncio.open_connection("127.0.0.1", server.port, limit=1) for _ in range(20)]
        for _, writer in deaf:
            writer.write(REQUEST * 20)  # the answers stay unread: the reader has room for one byte
        assert b"200" in await ask(server.port)
        assert len(server._open) <= 8
        for _, writer in deaf:
            writer.transport.abort()


async def test_a_process_with_few_files_has_few_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        async with served() as server:
            assert server._max_connections == 64
        raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        assert file_limit() > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --------------------------------------------------------------------------------------------- pace


async def test_a_crowd_is_answered_in_line_and_updates_pass_it_by():
    """C167: what is asked all the time takes a bounded part of the process; what Telegram delivers
    does not wait.
    """
    loop = asyncio.get_running_loop()
    async with (
        served() as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client,
    ):

        async def took(method, path):
            began = loop.time()
            async with client.request(
                method, path, data=b"x" if method == "POST" else None
            ) as answer:
                assert answer.status == 200
                return loop.time() - began

        async def asks_all_the_time():
            while True:
                await took("GET", "/hello")

        crowd = [asyncio.create_task(asks_all_the_time()) for _ in range(50)]
        await took("GET", "/hello")
        pairs = [(await took("POST", "/store"), await took("GET", "/hello")) for _ in range(5)]
        for one in crowd:
            one.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
    assert median(update / probe for update, probe in pairs) < 0.5


# --------------------------------------------------------------------------------------------- port


async def test_a_taken_port_is_one_sentence_that_names_the_setting():
    async with served() as first:
        with pytest.raises(
            StartError, match=rf"^PORT {first.port} cannot be opened on 127.0.0.1: another"
        ) as caught:
            await HttpServer("127.0.0.1", first.port, []).__aenter__()
    assert caught.value.__cause__ is None


async def test_an_address_of_another_machine_is_one_sentence():
    with pytest.raises(
        StartError,
        match=r"^METRICS_PORT 0 cannot be opened on 192.0.2.1: this machine does not have",
    ):
        await HttpServer("192.0.2.1", 0, [], setting="METRICS_PORT").__aenter__()


async def test_the_port_is_free_again_afterwards():
    async with served() as first:
        port = first.port
    async with HttpServer("127.0.0.1", port, []) as second:
        assert second.port == port
