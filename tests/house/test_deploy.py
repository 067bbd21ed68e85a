"""The files of deploy/ agree with pyproject.toml, with the settings and with each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from bot.ops.http_server import MAX_CONNECTIONS
from bot.settings import Settings
from deploy.mongo.users import COLLECTIONS, ROLES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = ("requirements.txt", "requirements-build.txt")


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def pinned(name: str) -> dict[str, Version]:
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", read(name), re.MULTILINE)
    return {canonicalize_name(package): Version(version) for package, version in pins}


def found(pattern: str, name: str) -> str:
    match = re.search(pattern, read(name))
    assert match, f"{name} has nothing like {pattern}"
    return match[1]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [(PINS[0], PROJECT["project"]["dependencies"]), (PINS[1], PROJECT["build-system"]["requires"])],
    ids=["runtime", "build"],
)
def test_every_dependency_is_pinned_inside_the_range_of_pyproject(name, wanted):
    pins = pinned(name)
    for requirement in map(Requirement, wanted):
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("name", PINS)
def test_every_pin_has_hashes_and_no_address(name):
    assert "://" not in read(name)
    entries = [entry for entry in re.split(r"\n(?=\S)", read(name)) if not entry.startswith("#")]
    assert len(entries) == len(pinned(name)) > 0
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


def test_what_only_developers_need_is_not_installed():
    developers = {
        canonicalize_name(Requirement(wanted).name)
        for group in PROJECT["dependency-groups"].values()
        for wanted in group
    }
    assert not developers & pinned("requirements.txt").keys()


def test_the_image_runs_as_nobody_in_particular_and_gets_the_signal():
    dockerfile = read("Dockerfile").splitlines()
    assert dockerfile[-2:] == ['ENTRYPOINT ["bot"]', 'CMD ["run"]']
    assert "USER 10001:10001" in dockerfile
    assert "STOPSIGNAL SIGTERM" in dockerfile


def test_what_the_image_copies_exists_and_is_let_through():
    let_through = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", read("Dockerfile"), re.MULTILINE)
    copied = {name for line in copies for name in line.split()}
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)


def test_the_probe_of_the_image_notices_a_dead_bot():
    """Nothing listens at the port it asks, so the very command of the HEALTHCHECK must fail."""
    code = found(r'CMD \["python", "-c", "(.+)"\]', "Dockerfile")
    probe = subprocess.run(
        [sys.executable, "-c", code], env={"PORT": "1"}, capture_output=True, check=False
    )
    assert probe.returncode == 1
    assert b"refused" in probe.stderr


def test_mongodb_is_one_without_the_known_leak():
    """CVE-2025-14847 was closed in 7.0.28 and 8.0.17."""
    version = Version(found(r"image: mongo:(\S+)", "compose.yaml"))
    assert version >= Version({7: "7.0.28", 8: "8.0.17"}[version.major])


def test_no_secret_stands_in_compose_and_each_one_is_asked_for():
    compose = read("compose.yaml")
    asked = re.findall(r"\$\{(\w+)([^}]*)\}", compose)
    assert {name for name, _ in asked} == {role.variable for role in ROLES} | {
        "MONGODB_ROOT_PASSWORD"
    }
    assert {rest for _, rest in asked} == {":?set it in deploy/.env, see deploy/README.md"}
    for line in compose.splitlines():
        assert "PASSWORD" not in line or "${" in line


def test_nothing_is_published_but_the_admins_page_on_the_loopback_address():
    published = re.findall(r"ports: (.+)", read("compose.yaml"))
    assert published == ['["127.0.0.1:8081:8081"]']


def test_the_root_password_stays_out_of_the_bots_container():
    """The bot reads bot.env; .env, which has every password, is for Compose only."""
    files = re.findall(r"env_file: (.+)", read("compose.yaml"))
    assert set(files) == {"[bot.env]"}
    assert {"bot.env", ".env"} <= {*read(".gitignore").splitlines()}


def test_a_stop_leaves_more_time_than_the_bot_takes():
    grace = Settings.model_fields["grace_seconds"].default
    assert int(found(r"stop_grace_period: (\d+)s\n    depends_on", "compose.yaml")) > grace
    assert int(found(r"TimeoutStopSec=(\d+)", "bot.service")) > grace


def test_files_and_memory_are_bounded_and_the_port_is_open_inside_the_image_only():
    """C167: a limit of files far above what the port may take, a limit of memory below the
    machine's.
    """
    assert int(found(r"nofile: {soft: (\d+), hard: \1}", "compose.yaml")) >= 10 * MAX_CONNECTIONS
    assert int(found(r"LimitNOFILE=(\d+)", "bot.service")) >= 10 * MAX_CONNECTIONS
    assert (
        found(r"mem_limit: (\w+)", "compose.yaml"),
        found(r"MemoryMax=(\w+)", "bot.service"),
    ) == ("1g", "1G")
    assert found(r"HOST=(\S+)", "Dockerfile") == "0.0.0.0"
    assert "HOST" not in re.findall(r"^\w+(?==)", read("bot.service"), re.MULTILINE)


def test_the_schemas_password_is_alone_in_a_container_without_secrets_or_a_way_out():
    """What its user could do, MongoDB cannot forbid; the token it could send somewhere is not
    there.
    """
    services = {
        part.partition(":")[0].strip(): part
        for part in re.split(r"\n  (?=[\w-]+:\n)", read("compose.yaml"))
    }
    assert {name for name, part in services.items() if "SCHEMA_PASSWORD" in part} == {
        "setup",
        "schema",
    }
    secret = {
        name.upper()
        for name, field in Settings.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }
    told = dict(re.findall(r"^      ([A-Z_]+): (.+)$", services["schema"], re.MULTILINE))
    assert secret - {"MONGODB_URI"} | {"MCP_SERVERS"} <= told.keys()
    for name in ("setup", "schema"):
        assert "networks: [inside]" in services[name]
    Settings.read(
        {name: value.strip('"') for name, value in told.items()}
        | {"MONGODB_URI": "mongodb://mongo"}
    )


def test_what_compose_tells_the_bot_is_a_setting():
    services = re.split(r"\n  (?=[\w-]+:\n)", read("compose.yaml"))
    bot = next(service for service in services if service.startswith("bot:"))
    told = re.findall(r"^      ([A-Z_]+): ", bot, re.MULTILINE)
    assert {"MONGODB_URI", "PORT"} <= {*told} <= {name.upper() for name in Settings.model_fields}


def test_the_roles_know_every_collection_the_store_touches(sources):
    store = "".join(source.text for source in sources if source.under("bot/store/"))
    touched = {*re.findall(r'database\["(\w+)"\]', store)}
    assert touched
    assert touched <= {*COLLECTIONS}


def test_the_start_script_is_sound_shell():
    subprocess.run(["bash", "-n", str(DEPLOY / "mongo" / "start.sh")], check=True)


def test_the_readme_fits_on_three_screens():
    assert len(read("README.md").splitlines()) <= 120
