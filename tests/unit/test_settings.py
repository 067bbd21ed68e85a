"""Settings: what the environment may say, and one clear line for everything that is wrong with
it.
"""

from __future__ import annotations

import pytest

from bot.errors import SettingsError
from bot.settings import SHARED_IDS, Settings

TOKEN, KEY, PASSWORD = "4711:planted-token", "planted-key", "planted%40password"
HOOK = "planted_Hook-1-of-thirty-two-characters"
GOOD = {
    "TELEGRAM_BOT_TOKEN": TOKEN,
    "ANTHROPIC_API_KEY": KEY,
    "MONGODB_URI": f"mongodb://bot:{PASSWORD}@one:27017,two:27018/?replicaSet=rs0",
}


def read(**variables):
    return Settings.read(GOOD | variables)


def problems(environ):
    with pytest.raises(SettingsError) as caught:
        Settings.read(environ)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return str(caught.value).splitlines()


def problem(**variables):
    [line] = problems(GOOD | variables)
    return line


def test_three_variables_are_enough():
    settings = read()
    assert (settings.session_ttl_seconds, settings.model, settings.access) == (
        1800,
        "claude-sonnet-5-5",
        "open",
    )


def test_everything_wrong_is_said_at_once_one_line_each():
    lines = problems(
        {"PORT": "http", "SESSION_TTL_SECONDS": "0", "ACCESS": "ask", "ALLOWED_USER_IDS": "anna"}
    )
    assert [line.split()[0] for line in lines] == [
        "TELEGRAM_BOT_TOKEN",
        "ANTHROPIC_API_KEY",
        "MONGODB_URI",
        "SESSION_TTL_SECONDS",
        "ALLOWED_USER_IDS",
        "ACCESS",
        "PORT",
    ]


@pytest.mark.parametrize("empty", ["", "  ", "\n"], ids=["nothing", "spaces", "newline"])
def test_an_empty_variable_counts_as_unset(empty):
    assert read(PORT=empty, ALLOWED_USER_IDS=empty).port == 8080
    assert problem(MONGODB_URI=empty) == "MONGODB_URI is not set: Connection string of MongoDB"


@pytest.mark.parametrize(
    "number", ["1.5", "NaN", "inf", "1e3", "-1", "0", "99999999999", "half an hour"]
)
def test_seconds_are_whole_and_within_bounds(number):
    """MongoDB takes 1.5 and NaN for a TTL, and NaN deletes everything.

    0 never means unlimited (C34).
    """
    line = problem(SESSION_TTL_SECONDS=number)
    assert line == "SESSION_TTL_SECONDS must be a whole number, 1 to 31536000"


@pytest.mark.parametrize(
    "name",
    [
        "CONTEXT_TRIGGER_TOKENS",
        "CONTEXT_TRIGGER_MESSAGES",
        "CONTEXT_KEEP_MESSAGES",
        "MODEL_CALLS",
        "TOOL_CALLS",
        "WORKERS",
    ],
)
def test_a_limit_of_zero_is_refused(name):
    """C34."""
    assert problem(**{name: "0"}).startswith(f"{name} must be a whole number")


def test_no_time_to_resume_means_none():
    assert read(SESSION_RESUME_SECONDS="0").session_resume_seconds == 0


def test_the_archive_outlives_every_session():
    line = problem(ARCHIVE_DAYS="37")
    assert line.startswith(
        "ARCHIVE_DAYS must be at least 38: SESSION_MAX_AGE_SECONDS + SESSION_TTL_SECONDS"
    )
    assert read(ARCHIVE_DAYS="38").archive_days == 38


def test_compaction_must_leave_fewer_messages_than_start_it():
    assert "less than CONTEXT_TRIGGER_MESSAGES" in problem(CONTEXT_KEEP_MESSAGES="40")
    assert read(CONTEXT_KEEP_MESSAGES="39").context_keep_messages == 39


def test_what_compaction_leaves_must_fit_under_the_token_trigger():
    """Otherwise every turn would pay for a summary (C44)."""
    assert "take about 5580 tokens" in problem(CONTEXT_TRIGGER_TOKENS="5579")
    assert read(CONTEXT_TRIGGER_TOKENS="5580").context_trigger_tokens == 5580


def test_a_list_of_users_closes_the_bot_to_others():
    settings = read(ALLOWED_USER_IDS="11, 12 13")
    assert (settings.access, settings.allowed_user_ids) == ("list", {11, 12, 13})


def test_an_empty_list_lets_nobody_in_and_is_refused():
    assert problem(ACCESS="list").startswith("ACCESS is list, but neither")
    assert read(ACCESS="list", ADMIN_USER_IDS="11").access == "list"


@pytest.mark.parametrize("name", ["ALLOWED_USER_IDS", "ADMIN_USER_IDS"])
@pytest.mark.parametrize("shared", SHARED_IDS)
def test_a_sender_shared_by_many_people_is_never_let_in(name, shared):
    """C61."""
    assert problem(**{name: f"11,{shared}"}).startswith(f"{name} must not hold {shared}")


@pytest.mark.parametrize("ids", ["0", "-100123", "1.0", "@anna", "\u0661"])
def test_user_ids_are_positive_numbers(ids):
    assert problem(ADMIN_USER_IDS=ids).startswith("ADMIN_USER_IDS must be Telegram user ids")


@pytest.mark.parametrize(
    "token", ["planted", "planted:4711", "4711:", "4711:plan ted", "4711/planted"]
)
def test_a_token_looks_like_one(token):
    assert problem(TELEGRAM_BOT_TOKEN=token).startswith(
        "TELEGRAM_BOT_TOKEN must look like digits:letters"
    )


@pytest.mark.parametrize(
    "name", ["TELEGRAM_BOT_TOKEN", "ANTHROPIC_API_KEY", "MONGODB_URI", "MODEL", "TELEGRAM_API_URL"]
)
def test_a_placeholder_of_the_sample_is_refused(name):
    """C120."""
    assert (
        problem(**{name: "1:put-your-value-here"})
        == f"{name} still holds the placeholder of .env.example"
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("localhost:8081", "http:// or https://"),
        ("ftp://localhost", "http:// or https://"),
        ("http://", "http:// or https://"),
        ("http://[::1", "http:// or https://"),
        ("http://a:http", "http:// or https://"),
        ("http://lo cal", "http:// or https://"),
        ("http://me:planted@localhost", "without a user name"),
        ("http://localhost?key=planted", "without a user name"),
        ("http://localhost/v1", "root of the API"),
        ("http://localhost/v1/messages/", "root of the API"),
        ("http://localhost/bot4711:planted", "root of the API"),
    ],
)
@pytest.mark.parametrize("name", ["TELEGRAM_API_URL", "ANTHROPIC_BASE_URL"])
def test_an_address_is_the_root_of_an_api(name, address, said):
    line = problem(**{name: address})
    assert line.startswith(name)
    assert said in line


def test_an_address_may_have_a_path_and_loses_its_last_slash():
    assert (
        read(ANTHROPIC_BASE_URL="https://proxy.example/models/").anthropic_base_url
        == "https://proxy.example/models"
    )


def test_a_key_is_needed_by_its_own_provider_only():
    assert (
        problem(ANTHROPIC_API_KEY="")
        == "ANTHROPIC_API_KEY is not set, and api.anthropic.com wants a key"
    )
    assert (
        read(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="http://localhost:8000").anthropic_api_key
        is None
    )


@pytest.mark.parametrize(
    "uri", ["localhost:27017", "http://localhost", "mongodb://", "mongodb:///bot"]
)
def test_a_mongodb_address_names_a_host(uri):
    assert problem(MONGODB_URI=uri).startswith(
        "MONGODB_URI must begin with mongodb:// or mongodb+srv://"
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOG_FORMAT", "xml", "must be console or json"),
        ("LOG_LEVEL", "loud", "must be debug, info, warning or error"),
        ("MONGODB_DATABASE", "a.b", "must be 1 to 63 letters, digits, _ and -"),
        ("MONGODB_DATABASE", "Admin", "must not be admin, which is MongoDB's own"),
        ("MODEL", "two words", "must be the name of a model, without spaces"),
    ],
)
def test_the_line_says_what_would_be_right(name, value, said):
    assert problem(**{name: value}) == f"{name} {said}"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("bot.example.org", "must be an http:// or https:// address"),
        ("https://", "must be an http:// or https:// address"),
        ("https://[::1", "must be an http:// or https:// address"),
        ("https://bot.example.org:99999", "must be an http:// or https:// address"),
        (
            "https://anna:s3cret@bot.example.org",
            "must be a plain address, without a user name, '?' or '#'",
        ),
        (
            "http://bot.example.org",
            "must be an https:// address: Telegram delivers to nothing else",
        ),
    ],
    ids=["no scheme", "no host", "torn", "no such port", "a user name", "not encrypted"],
)
def test_the_webhook_has_an_address_that_telegram_can_use(url, said):
    assert problem(WEBHOOK_URL=url, WEBHOOK_SECRET=HOOK) == f"WEBHOOK_URL {said}"


@pytest.mark.parametrize(
    "url",
    ["https://bot.example.org", "https://bot.example.org:8443/telegram", "http://127.0.0.1:8080/t"],
)
def test_a_webhook_is_where_its_url_says(url):
    """Telegram delivers to https only; a Bot API server on the same machine may use the
    loopback.
    """
    assert read(WEBHOOK_URL=url, WEBHOOK_SECRET=HOOK).webhook_url == url


def test_the_port_is_open_to_this_machine_only_unless_telegram_has_to_come_in():
    """C167."""
    hooked = {"WEBHOOK_URL": "https://bot.example.org", "WEBHOOK_SECRET": HOOK}
    hosts = [read(), read(**hooked), read(**hooked, HOST="127.0.0.1"), read(HOST="::")]
    assert [one.host for one in hosts] == ["127.0.0.1", "0.0.0.0", "127.0.0.1", "::"]
    assert (read().metrics_port, read(METRICS_PORT="9000").metrics_host) == (None, "127.0.0.1")


@pytest.mark.parametrize("name", ["HOST", "METRICS_HOST"])
def test_a_host_is_an_address_and_no_name(name):
    """Shells set HOST to the machine's name, which would open the port to everybody."""
    said = f"{name} must be an IP address of this machine, such as 127.0.0.1 or 0.0.0.0"
    assert problem(**{name: "planted.example.org"}) == said


def test_without_a_webhook_url_the_bot_polls():
    assert (read().webhook_url, read(WEBHOOK_URL=" ").webhook_url) == (None, None)


def test_a_webhook_needs_a_secret():
    """Anybody who finds the address could write in anybody's name."""
    line = "WEBHOOK_SECRET is not set, and WEBHOOK_URL is: anybody could send updates"
    assert problem(WEBHOOK_URL="https://bot.example.org") == line


@pytest.mark.parametrize(
    "secret",
    [f"planted {HOOK}", f"{HOOK}!", f"{HOOK}ж", "x" * 257, "x" * 31],
    ids=["space", "sign", "ж", "long", "can be guessed"],
)
def test_the_secret_is_one_that_telegram_takes(secret):
    said = (
        "WEBHOOK_SECRET must be 32 to 256 letters, digits, _ and -: make it with `openssl "
        "rand -hex 32`"
    )
    assert problem(WEBHOOK_SECRET=secret) == said


def test_the_secret_is_known_to_the_log():
    assert HOOK in read(WEBHOOK_SECRET=HOOK).secrets


def test_the_transcribers_key_is_known_to_the_log():
    assert "planted-ears" in read(TRANSCRIBE_KEY="planted-ears").secrets


def test_a_lease_outlasts_its_heartbeat():
    """Renewed every third of it: below three seconds a slow answer of MongoDB would cost a lane."""
    assert problem(LEASE_SECONDS="2") == "LEASE_SECONDS must be a whole number, 3 to 300"
    assert (read().lease_seconds, read(LEASE_SECONDS="3").lease_seconds) == (15, 3)


def test_a_level_may_be_written_small():
    assert read(LOG_LEVEL="debug").log_level == "DEBUG"


def test_the_prompt_file_must_hold_text(tmp_path):
    prompt, empty, binary = tmp_path / "prompt", tmp_path / "empty", tmp_path / "binary"
    prompt.write_text("Be kind.")
    empty.write_text(" \n")
    binary.write_bytes(b"\xff\xfe")
    assert read(SYSTEM_PROMPT_FILE=str(prompt)).system_prompt_file == prompt
    for path in (empty, binary, tmp_path, tmp_path / "absent"):
        assert problem(SYSTEM_PROMPT_FILE=str(path)).startswith(
            "SYSTEM_PROMPT_FILE must name a file with text"
        )


def test_no_line_repeats_a_value():
    """A secret may stand in any variable by mistake."""
    planted = dict.fromkeys((name.upper() for name in Settings.model_fields), "planted secret")
    lines = problems(planted)
    assert len(lines) > 20
    assert "planted" not in "\n".join(lines)


def test_the_settings_do_not_show_their_secrets():
    shown = f"{read()!r} {read()} {read().model_dump()}"
    assert [secret for secret in (TOKEN, KEY, PASSWORD, "planted") if secret in shown] == []


def test_secrets_are_known_in_every_form_a_vendor_may_print():
    expected = {TOKEN, "planted-token", KEY, GOOD["MONGODB_URI"], PASSWORD, "planted@password"}
    assert set(read().secrets) == expected


def test_no_password_and_no_key_are_no_secrets():
    settings = read(
        ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="http://m", MONGODB_URI="mongodb://a,b/?x=y:z"
    )
    assert set(settings.secrets) == {TOKEN, "planted-token", "mongodb://a,b/?x=y:z"}


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        read().port = 1


@pytest.mark.parametrize("name", ["THINKING", "EFFORT", "PROMPT_CACHE"])
def test_the_model_is_left_alone_unless_told(name):
    assert getattr(read(), name.lower()) == "auto"
    assert problem(**{name: "maybe"}).startswith(f"{name} must be auto, ")


def test_a_gateway_may_want_the_other_header():
    """C122: one kind of credential, by explicit setting."""
    assert read(ANTHROPIC_CREDENTIAL="x-api-key").anthropic_credential == "x-api-key"
    assert (
        problem(ANTHROPIC_CREDENTIAL="both") == "ANTHROPIC_CREDENTIAL must be bearer or x-api-key"
    )
