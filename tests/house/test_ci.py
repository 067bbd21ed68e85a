"""`.ci/run` runs every check, whatever fails, and is good only if all are and some test passed."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest

UV = """#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in *" pytest"*) echo "$SUMMARY" ;; esac
[ "$*" != "$BROKEN" ]
"""

ALONE = {
    "uv": UV,
    "chromium": "#!/bin/sh",
    "ldconfig": "#!/bin/sh\necho libcurl.so.4 libatomic.so.1",
    "apt-get": '#!/bin/sh\necho apt-get "$*" >> "$CALLS"',
    "sudo": '#!/bin/sh\necho sudo "$*" >> "$CALLS"',
}
"""What `.ci/run` finds in place of the machine's own, so that a test never installs anything."""

CHECKS = [
    "run --group lint --group browser ruff check",
    "run --group lint --group browser ruff format --check",
    "run --group lint --group browser mypy",
    "run --group lint --group browser lint-imports",
    "run --group lint --group browser pytest",
    "run --group lint --group browser pytest -r R tests/standins tests/demo tests/browser",
]

FAILED_TESTS = ["failed: tests", "failed: tests -r R tests/standins tests/demo tests/browser"]


@pytest.fixture
def ci(root, tmp_path):
    """Run `.ci/run` with a `uv` that keeps a record and fails at one command."""
    calls = tmp_path / "calls"
    for name, program in ALONE.items():
        (tmp_path / name).write_text(program)
        (tmp_path / name).chmod(0o755)

    def run(broken="", summary="3 passed, 1 skipped in 0.1s"):
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        env = {"PATH": path, "CALLS": str(calls), "BROKEN": broken, "SUMMARY": summary}
        done = subprocess.run(
            [root / ".ci/run"], env=env, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, calls.read_text().splitlines()

    return run


def test_all_checks_run_and_pass(ci):
    code, out, calls = ci()
    assert (code, calls, out.splitlines()[-1]) == (0, CHECKS, "all good")


def test_what_the_tests_need_is_installed_where_it_is_missing(ci, tmp_path):
    (tmp_path / "ldconfig").write_text("#!/bin/sh")
    code, _, calls = ci()
    assert code == 0
    assert [call.split()[-2:] for call in calls if " install " in call] == [
        ["libcurl4", "libatomic1"]
    ]


@pytest.mark.parametrize("broken", CHECKS)
def test_one_failing_check_fails_the_run_and_stops_no_other(ci, broken):
    code, out, calls = ci(broken)
    name = re.sub("^uv .* pytest", "tests", f"uv {broken}")
    assert (code, calls, out.splitlines()[-1]) == (1, CHECKS, f"failed: {name}")


@pytest.mark.parametrize(
    "summary", ["no tests ran in 0.01s", "4 skipped in 0.1s", "0 passed", "10 deselected"]
)
def test_a_run_in_which_no_test_passed_fails(ci, summary):
    code, out, _ = ci(summary=summary)
    assert (code, out.splitlines()[-2:]) == (1, FAILED_TESTS)


def test_the_workflow_and_readme_run_the_same_commands(root, readme):
    assert "run: .ci/run" in (root / ".github/workflows/ci.yml").read_text()
    assert re.search(r"pip install uv && uv run pytest$", readme, re.MULTILINE)


def test_every_folder_of_tests_runs_by_default_or_in_ci_or_is_a_measurement(root):
    configured = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pytest"]
    run = {*configured["testpaths"], *CHECKS[-1].split()}
    folders = {f"tests/{path.parent.name}" for path in root.glob("tests/*/test_*.py")}
    assert folders - run == {"tests/load"}
