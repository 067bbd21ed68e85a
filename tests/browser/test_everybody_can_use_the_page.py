"""Light and dark, English and Russian, desk and phone, mouse and keyboard: nobody is left out."""

from __future__ import annotations

from importlib.resources import files

import pytest
from playwright.sync_api import expect

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """async (levels) => {
    const { violations } = await axe.run({ runOnly: levels });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""
FOCUS = """() => {
    const node = document.activeElement;
    const ringed = node.matches("[type=file]") ? node.parentNode : node;
    return [node.id || node.className, getComputedStyle(ringed).outlineStyle !== "none"];
}"""
MAX_STOPS = 60
GREETING = {
    "en-US": "echo **Hello** `code` https://example.com",
    "ru-RU": "повтори **Привет** `код` https://example.com",
}
KNOWN = {"en-US": "Hello", "ru-RU": "Привет"}


def barriers(shown):
    """What axe-core finds, in light and in dark."""
    found = []
    for scheme in ("light", "dark"):
        shown.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += [f"{scheme}: {barrier}" for barrier in shown.page.evaluate(RUN, LEVELS)]
    return found


def overflows(shown):
    return shown.page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("locale", ["en-US", "ru-RU"])
@pytest.mark.parametrize("width", [1280, 390])
def test_there_is_no_barrier_and_nothing_sticks_out(visit, locale, width):
    """No violation of level A or AA, in chat, menu and inspector, with the tour open."""
    shown = visit(width, locale, tour=True)
    assert shown.page.evaluate("document.documentElement.lang") == locale[:2]
    shown.say(GREETING[locale])
    shown.hears(KNOWN[locale])
    expect(shown.find(".session [data-part=messages]")).to_contain_text(KNOWN[locale])
    shown.find("textarea").press_sequentially("/")
    shown.find(".menu [role=option]").first.wait_for()
    shown.page.evaluate(AXE)
    found = barriers(shown) + (["chat sticks out"] if overflows(shown) else [])
    if width == 390:
        shown.find(".views button").nth(1).click()
    shown.page.evaluate("for (const node of document.querySelectorAll('details')) node.open = true")
    assert found + barriers(shown) + (["inspector sticks out"] if overflows(shown) else []) == []


def test_side_by_side_has_no_barrier_either(visit):
    shown = visit()
    shown.find(".pair").click()
    shown.page.evaluate(AXE)
    assert barriers(shown) == []


def test_both_languages_have_every_word_and_the_same_blanks(visit):
    shown = visit()
    uneven = shown.page.evaluate("""async () => {
        const { WORDS } = await import("/texts.js");
        const blanks = (words) => [...words.matchAll(/\\{\\w+\\}/g)].map(String).sort().join();
        return Object.entries(WORDS).filter(([, [english, russian]]) =>
            !english || !russian || blanks(english) !== blanks(russian)).map(([key]) => key);
    }""")
    assert uneven == []


def test_the_language_can_be_switched_and_all_words_follow(visit):
    shown = visit()
    shown.find(".languages button[value=ru]").click()
    expect(shown.find("#hour")).to_have_text("⏩Проходит час")
    expect(shown.find(".inspector h2")).to_have_text("Что бот хранит: Anna")
    assert shown.find("textarea").get_attribute("placeholder") == "Сообщение"
    latin = shown.page.evaluate("""() => [...document.querySelectorAll('[data-t]')]
        .map((node) => node.textContent).filter((words) => !/[а-яё]/i.test(words))""")
    assert latin == []


def test_everything_is_reached_with_the_keyboard(visit):
    """From the top: people, messages, an answer to the last one, then the buttons beside the
    chat.
    """
    shown = visit()
    shown.say("echo anybody here")
    shown.hears("anybody here")
    shown.find(".people button").first.focus()
    reached, unseen = [""], []
    while reached[-1] != "log" and len(reached) < MAX_STOPS:
        shown.page.keyboard.press("Tab")
        name, seen = shown.page.evaluate(FOCUS)
        reached.append(name)
        unseen += (
            [name] if name and not seen else []
        )  # nameless: the page itself, while something is drawn anew
    assert {
        "scroll",
        "round send",
        "hour",
        "restart",
        "summariser",
        "intrude",
        "documents",
        "log",
    } <= set(reached)
    assert unseen == []
    shown.find(".scroll").focus()
    shown.page.keyboard.press("ArrowUp")
    shown.page.keyboard.press("Enter")
    expect(shown.find(".about")).to_contain_text("anybody here")
    expect(shown.find("textarea")).to_be_focused()
    shown.page.keyboard.press("Escape")
    expect(shown.find(".about")).to_be_hidden()


def test_the_tour_is_closed_with_escape(visit):
    shown = visit(tour=True)
    shown.find("#tour-next").focus()
    shown.page.keyboard.press("Enter")
    expect(shown.find(".count")).to_have_text("2 / 5")
    shown.page.keyboard.press("Escape")
    expect(shown.find(".tour")).to_be_hidden()
