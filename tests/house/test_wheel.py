"""The wheel has the product alone: neither the demo nor the stand-ins, which only a checkout has."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile

import pytest

from bot.cli import FAULT, NO_DEMO

ONLY_IN_A_CHECKOUT = ("bot/demo/", "bot/standins/", "tests/", "deploy/")
TOOLS_OF_A_DEVELOPER = {"ruff", "mypy", "import-linter", "playwright", "axe-playwright-python"}


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    """The wheel as the image builds it, by the same backend."""
    pytest.importorskip("hatchling", reason="run `uv sync` once: it came with the group `test`")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(
        [*command, "--directory", str(folder)], cwd=root, check=True, capture_output=True
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel):
    """A folder with the wheel unpacked, and a way to run its command."""
    site = wheel.parent / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "bot", *arguments],
            cwd=site.parent,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_wheel_has_the_whole_product_and_nothing_else(root, wheel, tracked):
    product = {
        path.relative_to(root).as_posix()
        for path in tracked
        if path.is_relative_to(root / "bot")
        and not path.relative_to(root).as_posix().startswith(ONLY_IN_A_CHECKOUT)
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == product


def test_the_demo_of_an_installed_wheel_says_in_one_sentence_where_to_get_it(installed):
    done = installed("demo")
    assert (done.returncode, done.stdout, done.stderr) == (FAULT, "", f"{NO_DEMO}\n")
    assert "uv run bot demo" in NO_DEMO


def test_the_installed_command_tells_its_version(installed, project):
    done = installed("--version")
    assert (done.returncode, done.stdout) == (0, f"bot {project['project']['version']}\n")


def test_seeing_the_demo_installs_neither_a_linter_nor_a_browser_driver(project):
    groups = project["dependency-groups"]
    default = project["tool"]["uv"]["default-groups"]
    assert default == ["demo", "test"]

    def named(*chosen):
        wanted = [entry for group in chosen for entry in groups[group]]
        return {entry.split(">")[0].split("=")[0] for entry in wanted}

    assert not named(*default) & TOOLS_OF_A_DEVELOPER
    assert named("lint", "browser") == TOOLS_OF_A_DEVELOPER


def test_the_metadata_names_no_host_and_every_python_that_is_checked(root, project):
    """The workflow runs on the versions that the classifiers promise."""
    metadata = project["project"]
    assert "urls" not in metadata
    assert "Private :: Do Not Upload" in metadata["classifiers"]
    promised = [
        classifier.rpartition(" ")[2]
        for classifier in metadata["classifiers"]
        if classifier.startswith("Programming Language :: Python :: 3.")
    ]
    workflow = (root / ".github/workflows/ci.yml").read_text()
    assert f"python: {promised}".replace("'", '"') in workflow
