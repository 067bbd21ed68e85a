"""Long polling and webhooks hand out updates as Telegram does."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from aiohttp import web
from telegram.error import BadRequest, Conflict

OTHER = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance "
    "is running"
)
ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to "
    "delete the webhook first"
)


class Hook:
    """A bot's endpoint that answers what it is told, one answer each, then 200."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.got: list[tuple[int, str | None, str]] = []
        self.gate: asyncio.Event | None = None
        self.url = ""

    async def take(self, request):
        update = await request.json()
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        self.got.append((update["update_id"], secret, request.path))
        if self.gate:
            await self.gate.wait()
        status, headers = self.answers.pop(0) if self.answers else (200, {})
        return web.Response(status=status, headers=headers)

    @property
    def ids(self):
        return [update_id for update_id, _, _ in self.got]


@pytest.fixture
async def hook():
    endpoint = Hook()
    app = web.Application()
    app.router.add_post("/{path}", endpoint.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield endpoint
    await runner.cleanup()


def polling(telegram):
    return telegram.state.poll is not None


# ------------------------------------------------------------------------------------------ polling


async def test_an_update_is_handed_out_until_an_offset_acknowledges_it(telegram_bot, anna):
    anna.says("one")
    anna.says("two")
    first = await telegram_bot.get_updates()
    assert [update.message.text for update in first] == ["one", "two"]
    assert len(await telegram_bot.get_updates()) == 2
    assert [
        update.message.text for update in await telegram_bot.get_updates(offset=first[1].update_id)
    ] == ["two"]
    assert await telegram_bot.get_updates(offset=first[1].update_id + 1) == ()


async def test_a_negative_offset_forgets_all_but_the_last(telegram_bot, anna):
    for word in ("one", "two", "three"):
        anna.says(word)
    assert [update.message.text for update in await telegram_bot.get_updates(offset=-1)] == [
        "three"
    ]


async def test_the_limit_is_kept(telegram_bot, anna):
    for word in ("one", "two", "three"):
        anna.says(word)
    assert len(await telegram_bot.get_updates(limit=2)) == 2


async def test_a_long_poll_returns_as_soon_as_something_happens(telegram, telegram_bot, anna):
    poll = asyncio.create_task(telegram_bot.get_updates(timeout=30))
    await telegram.until(lambda: polling(telegram))
    anna.says("hello")
    (update,) = await asyncio.wait_for(poll, 5)
    assert update.message.text == "hello"


async def test_a_long_poll_ends_empty_when_its_time_is_over(telegram_call):
    assert await telegram_call("getUpdates", timeout=1) == (200, {"ok": True, "result": []})


async def test_a_second_poller_ends_the_first(telegram, telegram_call, anna):
    first = asyncio.create_task(telegram_call("getUpdates", timeout=30))
    await telegram.until(lambda: polling(telegram))
    second = asyncio.create_task(telegram_call("getUpdates", timeout=30))
    status, answer = await asyncio.wait_for(first, 5)
    assert (status, answer["description"]) == (409, OTHER)
    anna.says("hello")
    assert len((await asyncio.wait_for(second, 5))[1]["result"]) == 1


async def test_a_poller_that_hangs_up_is_forgotten(telegram, telegram_call):
    poll = asyncio.create_task(telegram_call("getUpdates", timeout=30))
    await telegram.until(lambda: polling(telegram))
    poll.cancel()
    await telegram.until(lambda: not polling(telegram))


async def test_only_the_kinds_asked_for_arrive_and_the_choice_is_remembered(telegram_bot, anna):
    await telegram_bot.get_updates(allowed_updates=["edited_message"])
    said = anna.says("one")
    anna.edits(said, "two")
    (update,) = await telegram_bot.get_updates()
    assert update.edited_message.text == "two"


async def test_an_empty_choice_means_everything_but_the_optional_kinds(
    telegram, telegram_bot, anna
):
    await telegram_bot.get_updates(allowed_updates=["poll"])
    await telegram_bot.get_updates(allowed_updates=[])
    anna.says("one")
    telegram.state.updates.add("message_reaction", {})
    assert len(await telegram_bot.get_updates()) == 1


async def test_after_a_day_an_update_is_gone(telegram_bot, anna, telegram_clock):
    anna.says("one")
    telegram_clock.advance(timedelta(hours=24))
    assert await telegram_bot.get_updates() == ()


async def test_an_update_can_come_twice(telegram, telegram_bot, anna):
    anna.says("one")
    (first,) = await telegram_bot.get_updates()
    telegram.deliver(first.to_dict())
    (again,) = await telegram_bot.get_updates(offset=first.update_id + 1)
    assert (again.update_id, again.message.text) == (first.update_id, "one")


async def test_ids_can_start_again_lower(telegram, telegram_bot, anna):
    """C16: after a quiet week Telegram counts from a lower, random number."""
    anna.says("one")
    (first,) = await telegram_bot.get_updates()
    telegram.state.updates.next_id = 5
    anna.says("two")
    (lower,) = await telegram_bot.get_updates(offset=first.update_id + 1)
    anna.says("three")
    (counted_on,) = await telegram_bot.get_updates(offset=lower.update_id + 1)
    assert (lower.update_id, counted_on.update_id) == (5, 6)


# ------------------------------------------------------------------------------------------ webhook


async def test_updates_are_pushed_with_the_secret(telegram, telegram_bot, anna, hook):
    await telegram_bot.set_webhook(hook.url, secret_token="s3cret_-A")
    anna.says("one")
    await telegram.until(lambda: telegram.pushes)
    assert [secret for _, secret, _ in hook.got] == ["s3cret_-A"]
    assert (await telegram_bot.get_webhook_info()).pending_update_count == 0


async def test_what_waited_is_pushed_first_and_in_order(telegram, telegram_bot, anna, hook):
    for word in ("one", "two", "three"):
        anna.says(word)
    await telegram_bot.set_webhook(hook.url)
    await telegram.until(lambda: len(hook.got) == 3)
    assert hook.ids == sorted(hook.ids)


async def test_the_next_update_of_a_chat_waits_for_the_answer_and_other_chats_do_not(
    telegram, telegram_bot, anna, hook
):
    boris = telegram.person(8, "Boris")
    hook.gate = asyncio.Event()
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    anna.says("two")
    boris.says("three")
    await telegram.until(lambda: len(hook.got) == 2)
    assert (await telegram_bot.get_webhook_info()).pending_update_count == 3
    hook.gate.set()
    await telegram.until(lambda: len(hook.got) == 3)
    assert [push.lane for push in telegram.pushes[:2]] == [anna.id, boris.id]


async def test_a_refused_update_is_pushed_again_after_growing_delays(
    telegram, telegram_bot, anna, hook
):
    hook.answers = [(503, {}), (500, {}), (302, {})]
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: len(telegram.pushes) == 4)
    assert len(set(hook.ids)) == 1
    assert [(push.status, push.wait) for push in telegram.pushes] == [
        (503, 1),
        (500, 2),
        (302, 4),
        (200, 0),
    ]


async def test_a_new_webhook_takes_over_what_the_old_one_refused(
    telegram, telegram_bot, anna, hook
):
    hook.answers = [(503, {"Retry-After": "200"})]
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: telegram.pushes)
    await telegram_bot.set_webhook(f"{hook.url}2")
    await telegram.until(lambda: len(telegram.pushes) == 2)
    assert [path for _, _, path in hook.got] == ["/hook", "/hook2"]


async def test_the_last_error_and_what_is_pending_are_told(telegram, telegram_bot, anna, hook):
    hook.answers = [(503, {"Retry-After": "3000"})]
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: telegram.pushes)
    told = await telegram_bot.get_webhook_info()
    assert (told.pending_update_count, told.url) == (1, hook.url)
    assert told.last_error_message == "Wrong response from the webhook: 503 Service Unavailable"


async def test_retry_after_is_honoured_up_to_an_hour(telegram, telegram_bot, anna, hook):
    hook.answers = [(503, {"Retry-After": "120"})]
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: len(telegram.pushes) == 2)
    hook.answers = [(503, {"Retry-After": "99999"})]
    anna.says("two")
    await telegram.until(lambda: len(telegram.pushes) == 3)
    assert [push.wait for push in telegram.pushes] == [120, 0, 3600]


async def test_an_endpoint_that_is_away_is_tried_again(telegram, telegram_bot, anna):
    await telegram_bot.set_webhook("http://127.0.0.1:9/hook")
    anna.says("one")
    await telegram.until(lambda: len(telegram.pushes) >= 2)
    assert (await telegram_bot.get_webhook_info()).last_error_message == "Connection refused"


async def test_an_update_older_than_a_day_is_given_up(
    telegram, telegram_bot, anna, hook, telegram_clock
):
    hook.answers = [(503, {})] * 1000
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: telegram.pushes)
    telegram_clock.advance(timedelta(hours=24))
    assert (await telegram_bot.get_webhook_info()).pending_update_count == 0


async def test_gone_for_23_hours_removes_the_webhook(
    telegram, telegram_bot, anna, hook, telegram_clock
):
    hook.answers = [(410, {})] * 1000
    await telegram_bot.set_webhook(hook.url)
    anna.says("one")
    await telegram.until(lambda: telegram.pushes)
    telegram_clock.advance(timedelta(hours=23))
    await telegram.until(lambda: not telegram.state.webhook.url)


async def test_polling_beside_a_webhook_is_a_conflict(telegram_bot, telegram_call, hook):
    await telegram_bot.set_webhook(hook.url)
    status, answer = await telegram_call("getUpdates")
    assert (status, answer["description"]) == (409, ACTIVE)
    await telegram_bot.delete_webhook()
    assert await telegram_bot.get_updates() == ()


async def test_setting_a_webhook_ends_the_running_poll(telegram, telegram_bot, hook):
    poll = asyncio.create_task(telegram_bot.get_updates(timeout=30))
    await telegram.until(lambda: polling(telegram))
    await telegram_bot.set_webhook(hook.url)
    with pytest.raises(Conflict, match="terminated by setWebhook request"):
        await asyncio.wait_for(poll, 5)


async def test_pending_updates_are_dropped_only_on_request(telegram_bot, anna):
    anna.says("one")
    await telegram_bot.delete_webhook()
    assert len(await telegram_bot.get_updates()) == 1
    await telegram_bot.delete_webhook(drop_pending_updates=True)
    assert await telegram_bot.get_updates() == ()


@pytest.mark.parametrize("url", ["http://example.org/hook", "ftp://127.0.0.1/hook", "nonsense"])
async def test_a_webhook_needs_https(telegram_bot, url):
    with pytest.raises(BadRequest, match="Bad webhook: an https url must be provided for webhook"):
        await telegram_bot.set_webhook(url)


async def test_a_secret_has_a_narrow_alphabet(telegram_bot, hook):
    with pytest.raises(BadRequest, match="Secret token contains unallowed characters"):
        await telegram_bot.set_webhook(hook.url, secret_token="a b")
