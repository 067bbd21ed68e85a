"""The demo in a real Chromium: `bot demo` as a process, and pages that note whatever they should
not do.

Two people talk on one page as they would on two phones. A page fails its test when it writes an
error to the console, throws, or asks anybody but the demo for anything.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as DriverTimeout

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-software-rasterizer",
)  # fmt: skip
MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MONGODB_URI")
START_SECONDS = 60
TIMEOUT_MS = 45_000


@dataclass
class Demo:
    """`bot demo` on a folder of its own."""

    folder: Path
    port: int = 0
    address: str = ""
    process: subprocess.Popen[str] = field(init=False)

    def start(self) -> None:
        environ = {name: value for name, value in os.environ.items() if name not in MODEL}
        command = [sys.executable, "-m", "bot", "demo", "--no-browser", f"--port={self.port}"]
        self.process = subprocess.Popen(
            [*command, f"--folder={self.folder}"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        self.address = self._announced()
        self.port = int(self.address.rstrip("/").rpartition(":")[2])

    def _announced(self) -> str:
        seen: list[str] = []
        for line in self.process.stdout or ():
            seen.append(line)
            if line.strip().startswith("Open http"):
                return line.split()[-1]
        raise AssertionError("bot demo did not start:\n" + "".join(seen))

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    shown = Demo(tmp_path_factory.mktemp("demo"))
    shown.start()
    yield shown
    shown.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        reason = (
            "no Chromium: install it to have the demo's page tested (Debian: apt-get "
            "install chromium libatomic1)"
        )
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield launched
        launched.close()


@dataclass
class HttpExchange:
    """The page as one visitor has it open. `faults` is what must not happen."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)
    spoken: dict[int, int] = field(default_factory=dict)

    def watch(self) -> None:
        """Note every fault from now on."""

        def console(line: ConsoleMessage) -> None:
            if line.type in {"error", "warning"}:
                self.faults.append(line.text)

        def request(asked: Request) -> None:
            if not asked.url.startswith((self.address, "data:", "blob:")):
                self.faults.append(f"asked for {asked.url}")

        self.page.on("console", console)
        self.page.on("request", request)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def find(self, selector: str, words: str | None = None) -> Locator:
        return self.page.locator(selector, has_text=words)

    def pane(self, number: int = 0) -> Locator:
        return self.find(".pane").nth(number)

    def say(self, words: str, number: int = 0) -> None:
        self.spoken[number] = self.pane(number).locator(".message").count()
        field = self.pane(number).locator("textarea")
        field.fill(words)
        field.press("Enter")

    def hears(self, words: str, number: int = 0) -> None:
        """Wait until it was said there, by somebody else, since `say`."""
        new = f".message:nth-child(n + {self.spoken.get(number, 0) + 1})"
        self.pane(number).locator(f"{new}.theirs", has_text=words).last.wait_for()

    def session_id(self) -> str:
        """The id the inspector shows."""
        return self.find(".head ._id dd").inner_text()


@pytest.fixture
def visit(browser: Browser, demo: Demo) -> Iterator[Callable[..., HttpExchange]]:
    """Open the page; at the end it must have kept to the rules."""
    visits = []

    def opened(
        width: int = 1280,
        locale: str = "en-US",
        address: str = "",
        *,
        tour: bool = False,
        **options,
    ) -> HttpExchange:
        size = ViewportSize(width=width, height=800)
        still = {
            "reduced_motion": "reduce"
        } | options  # what moves on the page is drawn by the processor here
        page = browser.new_context(viewport=size, locale=locale, **still).new_page()
        page.set_default_timeout(TIMEOUT_MS)
        shown = HttpExchange(page, address or demo.address)
        shown.watch()
        page.goto(shown.address)
        shown.find(".people button").first.wait_for()
        if not tour:
            shown.find("#tour-close").click()
        visits.append(shown)
        return shown

    yield opened
    for shown in visits:
        shown.page.context.close()
    assert [fault for shown in visits for fault in shown.faults] == []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The driver's time-outs alone are tried again, and shown as R: a browser shares the machine
    with all else. What the page shows wrongly is wrong at once.
    """
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=[DriverTimeout]))
