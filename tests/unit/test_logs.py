"""Log lines carry the turn, and neither secrets nor what vendors would tell of a person."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import warnings

import pytest

from bot.ops import logs

TOKEN, KEY, PASSWORD = "4711:planted-token", "sk-planted-key", "pla'nted @password"
SECRETS = (TOKEN, KEY, PASSWORD, "")


@pytest.fixture
def configured(monkeypatch):
    """Call it with a format to get the stream; logging is put back afterwards."""
    root, ours = logging.getLogger(), logging.getLogger("bot")
    before = root.handlers[:], root.level, ours.level
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    for handler in root.handlers[:]:
        root.removeHandler(handler)

    def configure(log_format, level="INFO"):
        stream = io.StringIO()
        logs.configure(level, log_format, SECRETS, stream=stream)
        return stream

    yield configure
    logging.captureWarnings(capture=False)
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


@pytest.fixture(params=["console", "json"])
def stream(request, configured):
    return configured(request.param)


def fail(text):
    raise ValueError(text)


def log_with_traceback(text):
    try:
        fail(text)
    except ValueError:
        logging.getLogger("bot.worker").exception("It failed")


@pytest.mark.parametrize("secret", [TOKEN, KEY, PASSWORD], ids=["token", "key", "password"])
@pytest.mark.parametrize(
    "say",
    [
        lambda secret: logging.getLogger("bot").warning(f"a {secret} b"),  # noqa: G004 - as a vendor may do
        lambda secret: logging.getLogger("bot").warning("%s", secret),
        lambda secret: logging.getLogger("bot").warning("%r", {"password": secret}),
        lambda secret: logging.getLogger("httpx").error("https://host/bot%s/getMe", secret),
        lambda secret: logging.getLogger("bot").error(
            "%s", f"https://host/bot{secret.replace(':', '%3A')}"
        ),
        lambda secret: log_with_traceback(f"no route to https://host/bot{secret}/getMe"),
        lambda secret: logging.getLogger("bot").error("failed", exc_info=KeyError(secret)),
        lambda secret: logging.getLogger("bot").error("%d", secret),
    ],
    ids=["message", "argument", "repr", "vendor", "quoted", "traceback", "error", "misformatted"],
)
def test_no_planted_secret_reaches_the_log(stream, capsys, say, secret):
    say(secret)
    out = stream.getvalue() + "".join(capsys.readouterr())
    assert [
        part for part in ("planted", "pla'nted", "pla\\'nted", "nted%20", "nted @") if part in out
    ] == []


def test_a_python_warning_is_logged_without_secrets(configured):
    stream = configured("console")
    warnings.showwarning(f"told {KEY}", UserWarning, "vendor.py", 1)
    assert f"UserWarning: told {logs.HIDDEN}" in stream.getvalue()


def test_a_secret_is_replaced_and_the_rest_stays(stream):
    logging.getLogger("bot.worker").info("Asked %s twice", f"https://host/bot{TOKEN}/getMe")
    assert f"Asked https://host/bot{logs.HIDDEN}/getMe twice" in stream.getvalue()


def test_an_error_nobody_caught_is_logged_without_secrets(stream):
    sys.excepthook(ValueError, ValueError(f"told {KEY}"), None)
    assert f"told {logs.HIDDEN}" in stream.getvalue()


def test_short_words_are_not_taken_for_secrets():
    assert logs.redactor(["", "a", "bot"])("a bot") == "a bot"


def test_the_longer_of_two_secrets_is_hidden_whole():
    assert logs.redactor(["planted", "planted-token"])("planted-token") == logs.HIDDEN


@pytest.mark.parametrize(
    "vendor", ["httpx", "httpcore", "telegram.ext", "anthropic", "pymongo.command", "bottle"]
)
def test_vendors_are_heard_from_warning_on(configured, vendor, request):
    """At lower levels they print requests whole: the token in the address, and what people
    wrote.
    """
    stream, logger = configured("console", "DEBUG"), logging.getLogger(vendor)
    request.addfinalizer(lambda: logger.setLevel(logging.NOTSET))
    logger.setLevel(logging.DEBUG)
    logger.info("a person's words")
    logger.warning("a warning")
    assert [line.split(": ")[1] for line in stream.getvalue().splitlines()] == ["a warning"]


def test_our_own_level_is_the_one_asked_for(configured):
    stream = configured("console", "INFO")
    logging.getLogger("bot.turn").debug("quiet")
    logging.getLogger("bot.turn").info("heard")
    assert [line.split(": ")[1] for line in stream.getvalue().splitlines()] == ["heard"]


def test_a_line_for_people_is_short(configured):
    stream = configured("console")
    record = logging.LogRecord("bot.worker", logging.INFO, "", 0, "Turn %s", ("done",), None)
    record.created = 1_767_603_601.5
    with logs.bound(turn=17, lane="a1"):
        logging.getLogger().handle(record)
    assert stream.getvalue() == "09:00:01 INFO    bot.worker: Turn done  turn=17  lane=a1\n"


def test_a_line_for_machines_is_one_object(configured):
    stream = configured("json")
    with logs.bound(turn=17, lane="a1"):
        log_with_traceback("why\nnot")
    [line] = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert (entry["level"], entry["logger"], entry["message"], entry["turn"]) == (
        "error",
        "bot.worker",
        "It failed",
        17,
    )
    assert entry["error"].endswith("ValueError: why\nnot")


async def test_each_task_names_its_own_turn(configured):
    """Turns run side by side in one process; their lines must not swap names."""
    stream = configured("json")
    both = asyncio.Barrier(2)

    async def turn(name):
        with logs.bound(turn=name, lane="a1"):
            await both.wait()
            logging.getLogger("bot.turn").info("of %s", name)
        logging.getLogger("bot.turn").info("outside")

    await asyncio.gather(turn(1), turn(2))
    entries = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert sorted(
        (entry["message"], entry.get("turn")) for entry in entries if "turn" in entry
    ) == [
        ("of 1", 1),
        ("of 2", 2),
    ]
    assert [entry["message"] for entry in entries if "turn" not in entry] == ["outside", "outside"]
