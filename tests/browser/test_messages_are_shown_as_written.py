"""What a person or a model writes is shown, never run; what the Bot API marks is shown as marked;
and a lot of it.

Here the demo's environment lives in the test's own process, so that a test can also be the bot.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import urllib.request
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from bot.demo.environment import open_environment
from bot.demo.page_server import PageServer
from bot.demo.serving import serving

FRAME_SECONDS = 0.1
CROWD = 1000
ATTACK = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"


@dataclass
class Environment:
    """The page's address, and the Bot API's."""

    address: str = ""
    api: str = ""

    def bot(self, method, **told):
        """The bot calls Telegram."""
        return self._post(f"{self.api}/{method}", told)["result"]

    def person(self, verb, **told):
        """A person does something somewhere else."""
        return self._post(f"{self.address}control/{verb}", told)

    def _post(self, address, told):
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(
            urllib.request.Request(address, json.dumps(told).encode(), headers)
        ) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Runs in a thread: the browser's driver keeps this one's event loop for itself."""
    found, ready, loop = Environment(), threading.Event(), asyncio.new_event_loop()
    leave = asyncio.Event()
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "MONGODB_"))
    }

    async def live():
        async with open_environment(environ, tmp_path_factory.mktemp("environment")) as live:
            telegram = live.telegram
            async with serving(PageServer(live).routes(), 0) as address:
                found.address, found.api = address, f"{telegram.base_url}{telegram.token}"
                ready.set()
                await leave.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),))
    thread.start()
    assert ready.wait(60)
    yield found
    loop.call_soon_threadsafe(leave.set)
    thread.join()
    loop.close()


@pytest.fixture
def shown(visit, environment):
    return visit(address=environment.address)


ENTITIES = {
    "bold": ("strong", {}),
    "italic": ("em", {}),
    "underline": ("u", {}),
    "strikethrough": ("s", {}),
    "code": ("code", {}),
    "pre": ("pre", {"language": "python"}),
    "blockquote": ("blockquote", {}),
    "expandable_blockquote": ("blockquote", {}),
    "spoiler": ("button.spoiler", {}),
    "text_link": ("a[href='https://example.org/'][target=_blank]", {"url": "https://example.org/"}),
}


def test_every_entity_is_shown_where_it_stands(shown, environment):
    """Offsets count UTF-16 units: the flag before the word has four of them."""
    shown.say("hello")
    shown.hears("I am listening")
    seen = {}
    for kind, (element, more) in ENTITIES.items():
        mark = {"type": kind, "offset": 5, "length": 4, **more}
        sent = environment.bot("sendMessage", chat_id=1001, text="🇩🇪 word end", entities=[mark])
        marked = shown.find(f".message[data-id='{sent['message_id']}'] .words {element}")
        marked.wait_for()
        seen[kind] = marked.evaluate("(node) => (node.querySelector('code') ?? node).textContent")
    assert seen == dict.fromkeys(ENTITIES, "word")


def test_entities_may_lie_inside_each_other(shown, environment):
    marks = [
        {"type": "italic", "offset": 4, "length": 4},
        {"type": "bold", "offset": 0, "length": 12},
    ]
    environment.bot("sendMessage", chat_id=1001, text="one two three", entities=marks)
    expect(shown.find(".theirs").last.locator("strong em")).to_have_text("two ")
    expect(shown.find(".theirs").last.locator("strong")).to_have_text("one two thre")


def test_a_spoiler_opens_at_a_click_and_at_a_key(shown, environment):
    mark = [{"type": "spoiler", "offset": 0, "length": 6}]
    for act in (lambda hidden: hidden.click(), lambda hidden: hidden.press("Enter")):
        environment.bot("sendMessage", chat_id=1001, text="secret", entities=mark)
        hidden = shown.find(".theirs").last.locator("button.spoiler")
        act(hidden)
        expect(shown.find(".theirs").last.locator(".spoiler.open")).to_have_text("secret")
    expect(shown.find(".about")).to_be_hidden()


def test_inline_buttons_are_pressed_changed_and_taken_away(shown, environment):
    keyboard = {
        "inline_keyboard": [
            [{"text": "Yes", "callback_data": "y"}],
            [{"text": "Site", "url": "https://example.org"}],
        ]
    }
    sent = environment.bot("sendMessage", chat_id=1001, text="Sure?", reply_markup=keyboard)
    assert (
        shown.find(".keyboard a[rel='noopener noreferrer']").get_attribute("href")
        == "https://example.org"
    )
    with shown.page.expect_request("**/control/press") as pressed:
        shown.find(".keyboard button", "Yes").click()
    assert pressed.value.post_data_json["data"] == "y"
    environment.bot("editMessageText", chat_id=1001, message_id=sent["message_id"], text="Sure!")
    shown.find(".theirs", "Sure!").wait_for()
    expect(shown.find(".keyboard")).to_have_count(0)


def test_a_draft_grows_until_the_message_takes_its_place(shown, environment):
    for words in ("Once upon", "Once upon a time"):
        environment.bot("sendMessageDraft", chat_id=1001, draft_id=5, text=words)
        expect(shown.find(".draft .bubble")).to_have_text(words)
    expect(shown.find(".line.typing")).to_be_visible()
    environment.bot("sendMessage", chat_id=1001, text="Once upon a time. The end")
    expect(shown.find(".draft")).to_be_hidden()


def test_what_is_written_is_never_run(shown):
    """As text from a person and from the model, in the chat, in the inspector, and as the address
    of a link.
    """
    shown.say(f"echo {ATTACK}")
    shown.hears(ATTACK)
    assert ATTACK in shown.find(".mine").last.inner_text()
    expect(shown.find(".session .role.assistant + .words").last).to_contain_text("<img src=x")
    shown.say("echo [tap](javascript:document.title='run') [tg](tg://user?id=1)")
    shown.hears("tap")
    assert shown.find("a[href^='javascript']").count() == 0
    assert shown.find("main img, main script").count() == 0
    assert shown.page.title() == "bot demo"


def test_the_page_forbids_itself_everything_but_its_own_files(shown):
    policy = shown.page.request.get(shown.address).headers["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= set(
        policy.split("; ")
    )
    assert "unsafe" not in policy


def test_with_a_thousand_messages_one_more_holds_the_page_up_for_no_frame(shown, environment):
    """CPU time of the page's thread over all it does for one message, which is more than any one
    frame of it.
    """
    for number in range(CROWD):
        environment.person(
            "say",
            person=1001 + number % 2,
            chat=-5001,
            text=f"Message {number}: some words about the weather",
        )
    shown.find(".chats button").nth(1).click()
    expect(shown.find(".message")).to_have_count(CROWD)
    devtools = shown.page.context.new_cdp_session(shown.page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        shown.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return {
            one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]
        }["TaskDuration"]

    costs = []
    for number in range(3):
        before = busy()
        environment.person("say", person=1002, chat=-5001, text=f"One more {number}")
        shown.find(".theirs", f"One more {number}").wait_for()
        costs.append(busy() - before)
    assert min(costs) < FRAME_SECONDS, costs
    scrolled = shown.find(".scroll").evaluate("(node) => node.scrollTop")
    assert abs(scrolled) < 1
