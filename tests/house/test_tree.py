"""What must never be in the repository."""

from __future__ import annotations

import re

HOSTS = ("pypi", "pythonhosted", "npmjs", "proxy.golang", "crates", "rubygems")
REGISTRY = re.compile(
    rf"https?://[\w.@:-]*\b({'|'.join(HOSTS)})\b[\w.]*|\b(PIP|UV)_\w*INDEX\w*|--(extra-)?index-url"
)
MACHINE = re.compile(r"(?<![\w.:/])/(work|root|home|Users|tmp)/\w")


def texts(tracked):
    for path in tracked:
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def found(pattern, tracked):
    return [
        f"{path.name}:{number}: {line.strip()[:100]}"
        for path, text in texts(tracked)
        if path.name != "test_tree.py"
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_package_registry(tracked):
    assert found(REGISTRY, tracked) == []


def test_no_file_names_a_place_on_somebodys_machine(tracked):
    assert found(MACHINE, tracked) == []


def test_the_searches_find():
    assert REGISTRY.search("https://files.pythonhosted.org/packages")
    assert REGISTRY.search("UV_INDEX_URL=x")
    assert MACHINE.search('open("/home/anna/bot")')
