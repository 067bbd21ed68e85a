"""What people do in the demo's page, each on a fresh pair of eyes and one running demo."""

from __future__ import annotations

import base64

from playwright.sync_api import expect

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEUlEQVR42mNkYPj/nwEPYBxWFAD1dQ0BbyhcfAAAAABJRU5ErkJggg=="
)


def test_two_people_chat_side_by_side_and_each_is_known_by_name(visit):
    shown = visit()
    shown.find(".pair").click()
    shown.say("My name is Anna", 0)
    shown.say("меня зовут Борис", 1)
    shown.hears("Nice to meet you, Anna!", 0)
    shown.hears("Приятно познакомиться, Борис!", 1)
    shown.say("What is my name?", 0)
    shown.say("Как меня зовут?", 1)
    shown.hears("Your name is Anna.", 0)
    shown.hears("Вас зовут Борис.", 1)
    assert "Борис" not in shown.pane(0).inner_text()


def test_a_long_answer_shows_that_it_is_being_written_and_then_arrives_formatted(visit):
    shown = visit()
    shown.say("a long answer, please")
    shown.find(".line.typing").wait_for()
    shown.hears("The end. Конец.")
    assert shown.find(".theirs pre .language", "python").count() > 0
    link = shown.find(".theirs a[href='https://example.com/1']")
    assert [link.get_attribute(name) for name in ("rel", "target")] == [
        "noopener noreferrer",
        "_blank",
    ]
    shown.find(".line:not(.typing)").wait_for()


def test_a_command_is_completed_from_the_bots_menu_with_the_keyboard(visit):
    shown = visit()
    field = shown.find("textarea")
    field.press_sequentially("/ne")
    shown.find(".menu [role=option]", "/new").wait_for()
    assert field.get_attribute("aria-activedescendant").endswith("-new")
    field.press("Enter")
    shown.hears("new conversation")
    assert shown.find(".mine", "/new").count() == 1
    assert shown.find(".menu").is_hidden()


def test_new_starts_another_session_and_reset_erases_it(visit):
    shown = visit()
    shown.say("my colour is red")
    shown.hears("your colour")
    shown.find(".head ._id dd").wait_for()
    first = shown.session_id()
    shown.say("/new")
    shown.say("hello")
    expect(shown.find(".head ._id dd")).not_to_have_text(first)
    shown.hears("I am listening")
    assert "colour" not in shown.find(".session").inner_text()
    shown.say("/reset")
    shown.find(".log .reset").last.wait_for()
    expect(shown.find(".session [data-part=messages] > summary")).to_have_text("messages 0")
    assert shown.find(".session [data-part=messages]").inner_text().strip() == "messages 0"


def test_a_message_is_replied_to_edited_and_let_be(visit):
    shown = visit()
    shown.say("echo first words")
    shown.hears("first words")
    shown.find(".theirs", "first words").last.locator(".words").click()
    assert "first words" in shown.find(".about").inner_text()
    shown.say("and the second words")
    shown.find(".mine .quote", "first words").wait_for()
    field = shown.find("textarea")
    field.press("ArrowUp")
    assert field.input_value() == "and the second words"
    field.press("Escape")
    assert field.input_value() == ""
    field.press("ArrowUp")
    shown.say("and the third words")
    shown.find(".mine", "edited").filter(has_text="third words").wait_for()


def test_photos_and_files_are_sent_and_shown(visit):
    shown = visit()
    attach = shown.find("input[type=file]")
    attach.set_input_files({"name": "dot.png", "mimeType": "image/png", "buffer": PNG})
    expect(shown.find("img.photo")).to_have_js_property("naturalWidth", 10)
    attach.set_input_files({"name": "list.txt", "mimeType": "text/plain", "buffer": b"milk"})
    link = shown.find(".mine a.file[download='list.txt']")
    assert (
        shown.page.request.get(shown.address + link.get_attribute("href").lstrip("/")).text()
        == "milk"
    )


def test_in_the_group_everybody_sees_what_is_said_and_the_bot_answers_who_calls_it(visit):
    shown = visit()
    shown.find(".pair").click()
    for number in (0, 1):
        shown.pane(number).locator(".chats button").nth(1).click()
    shown.say("@emulated_bot my name is Anna", 0)
    shown.hears("Nice to meet you, Anna!", 1)
    assert shown.pane(1).locator(".theirs .author", has_text="Anna").count() == 1


def test_somebody_new_can_join(visit):
    shown = visit()
    shown.find(".add button").click()
    shown.find(".add input").fill("Wera")
    shown.find(".add input").press("Enter")
    shown.find(".people [aria-pressed=true]", "Wera").wait_for()
    shown.say("hello")
    shown.hears("I am listening; I can see 1 of your messages.")


def test_what_did_not_work_is_said_and_the_words_stay(visit):
    shown = visit()
    shown.page.route(
        "**/control/say", lambda route: route.fulfill(status=400, json={"error": "no wire"})
    )
    shown.say("hello")
    shown.find(".toast", "That did not work: no wire").wait_for()
    assert shown.find("textarea").input_value() == "hello"
    assert "400" in shown.faults.pop()
