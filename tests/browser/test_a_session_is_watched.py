"""The inspector and the buttons beside it: what a Session is can be seen, not only read."""

from __future__ import annotations

import re

from playwright.sync_api import expect


def press(shown, button):
    """Make something happen and wait until the page says what came of it."""
    shown.find(f"#{button}").click()
    expect(shown.find(".things .said")).not_to_have_text("…")
    return shown.find(".things .said").inner_text()


def introduce(shown, name):
    shown.say(f"My name is {name}")
    shown.hears(f"Nice to meet you, {name}!")
    expect(shown.find(".session [data-part=messages]")).to_contain_text(
        f"Nice to meet you, {name}!"
    )
    return shown.session_id()


def test_the_tour_moves_on_by_itself_as_things_happen(visit):
    """Five steps, each done for the visitor, to the end."""
    shown = visit(tour=True)
    for step in range(1, 6):
        expect(shown.find(".tour .count")).to_have_text(f"{step} / 5")
        expect(shown.find(".pointed")).to_have_count(1)
        shown.find("#tour-do").click()
    expect(shown.find(".tour .count")).to_have_text("Done")
    shown.find("#tour-close").click()
    expect(shown.find(".tour")).to_be_hidden()
    expect(shown.find(".pointed")).to_have_count(0)


def test_the_document_grows_turn_by_turn_and_counts_down(visit):
    shown = visit()
    introduce(shown, "Ada")
    revision = int(shown.find(".head .revision dd").inner_text())
    shown.say("What is my name?")
    expect(shown.find(".head .revision dd")).to_have_text(str(revision + 1))
    expect(shown.find(".session .role.user").last.locator("+ .words")).to_have_text(
        "What is my name?"
    )
    expect(shown.find(".head .expires dd")).to_have_text(re.compile(r"^(30:00|29:5\d)$"))
    before = shown.find(".head .expires dd").inner_text()
    expect(shown.find(".head .expires dd")).not_to_have_text(before)


def test_the_last_request_shows_all_the_model_was_given_and_what_of_it_repeats(visit):
    shown = visit()
    introduce(shown, "Agnes")
    shown.say("What is my name?")
    shown.hears("Your name is Agnes.")
    shown.find(".request > summary").click()
    rows = shown.find(".request .talk")
    for role in ("tools", "system", "user", "assistant"):
        assert rows.locator(f".role.{role}").count() > 0
    expect(rows.locator("li").last).to_contain_text("What is my name?")
    expect(rows.locator("li.repeated").first).to_be_visible()
    expect(rows.locator("li").last).not_to_have_class(re.compile("repeated"))


def test_after_an_hour_a_new_session_begins(visit):
    shown = visit()
    first = introduce(shown, "Alma")
    assert "An hour went by" in press(shown, "hour")
    expect(shown.find(".head .over dd")).to_be_visible()
    shown.say("What is my name?")
    shown.hears("I do not know your name yet.")
    expect(shown.find(".head ._id dd")).not_to_have_text(first)
    expect(shown.find(".log .expired").last).to_be_visible()


def test_the_bot_is_killed_and_the_dialogue_goes_on(visit):
    shown = visit()
    first = introduce(shown, "Amelia")
    assert re.match(r"Killed, and back after [\d.]+ s", press(shown, "restart"))
    shown.say("Do you know my name?")
    shown.hears("Your name is Amelia.")
    assert shown.session_id() == first


def test_the_id_of_a_session_opens_it_for_nobody_else(visit):
    """Boris sends Anna's id in every way a client can, and gets nothing of hers."""
    shown = visit()
    first = introduce(shown, "Anna-who-keeps-a-secret")
    assert re.match(r"Tried in \d+ ways, refused each time", press(shown, "intrude"))
    expect(shown.find(".log .refused", "Boris").last).to_be_visible()
    shown.find(".people button", "Boris").click()
    expect(shown.find(".inspector h2")).to_contain_text("Boris")
    expect(shown.find(".mine", first).first).to_be_visible()
    assert shown.find(".theirs", "secret").count() == 0


def test_somebodys_words_are_in_the_inspector_only_while_they_are_selected(visit):
    shown = visit()
    introduce(shown, "Anastasia")
    expect(shown.find(".documents")).to_contain_text("Anastasia")
    shown.find(".people button", "Boris").click()
    expect(shown.find(".inspector h2")).to_contain_text("Boris")
    expect(shown.find(".documents")).not_to_contain_text("Anastasia")
    shown.find(".people button", "Anna").click()
    expect(shown.find(".documents")).to_contain_text("Anastasia")


def test_when_the_summariser_fails_the_talk_goes_on_and_a_later_summary_takes_over(visit):
    shown = visit()
    introduce(shown, "Aurora")
    assert "fail" in press(shown, "summariser")
    expect(shown.find("#summariser")).to_have_attribute("aria-pressed", "true")
    for number in range(5):
        shown.say(f"echo line {number}")
        shown.hears(f"line {number}")
    expect(shown.find(".log .summariser-failed").last).to_be_visible()
    assert "work again" in press(shown, "summariser")
    press(shown, "hour")
    shown.say("/new")
    for number in range(10, 16):
        shown.say(f"echo line {number}")
        shown.hears(f"line {number}")
    expect(shown.find(".log .compacted").last).to_be_visible()
    expect(shown.find(".session [data-part=summary] p")).not_to_be_empty()


def test_when_the_demo_is_gone_the_page_says_so_and_comes_back_with_it(visit, demo):
    """The stand-in's chats are new then; the Session in MongoDB is not."""
    shown = visit()
    introduce(shown, "Astrid")
    demo.end()
    expect(shown.find(".toast")).to_contain_text("Trying again")
    demo.start()
    expect(shown.find(".toast")).to_contain_text("Connected again")
    shown.say("What is my name?")
    shown.hears("Your name is Astrid.")
    shown.faults[:] = [fault for fault in shown.faults if "net::ERR" not in fault]
