"""What is installed: exactly these files, from wherever the machine gets its packages."""

import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from tests.architecture import sources

DAILY = sorted((sources.ROOT / "tests/clients/daily/python/locks").glob("*.in"))
DAILY_LOCKS = [str(path.relative_to(sources.ROOT).with_suffix("")) for path in DAILY]
LOCKS = ("requirements/runtime", "requirements/dev", "bench/requirements", *DAILY_LOCKS)
# A file of an index is named by its digest alone.
DIGEST = re.compile(r"--hash=sha256:[0-9a-f]{64}")
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)")
# Three systems, with at least two processors each; most also have wheels by interpreter.
WHEELS_OF_A_COMPILED_PACKAGE = 6
ELSEWHERE = re.compile(r"://|--\w*(?:index|links|host)|^-[ei] |@ |file:", re.MULTILINE)


def text_of(lock: str) -> str:
    return (sources.ROOT / f"{lock}.txt").read_text()


def entries(lock: str) -> list[str]:
    """The lines of a lock, each package with all its digests on one."""
    lines = re.sub(r"\\\n", " ", text_of(lock)).splitlines()
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def pinned_versions(lock: str) -> dict[str, str]:
    """Each package's name and version; asserts that its digests follow."""
    found = {}
    for entry in entries(lock):
        match = REQUIREMENT.match(entry)
        assert match, entry
        assert DIGEST.search(entry), f"{match[1]} has no digest"
        found[plain(match[1])] = match[2]
    return found


def is_compiled(name: str) -> bool:
    """Whether the installed distribution is a wheel for this system; false when not installed."""
    try:
        wheel = metadata.distribution(name.partition("[")[0]).read_text("WHEEL") or ""
    except metadata.PackageNotFoundError:
        return False
    return "Root-Is-Purelib: false" in wheel


def input_lines(lock: str) -> list[str]:
    lines = (sources.ROOT / f"{lock}.in").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def plain(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_by_version_and_digest(lock: str) -> None:
    assert len(pinned_versions(lock)) > 20


@pytest.mark.parametrize("lock", LOCKS)
def test_a_compiled_package_is_pinned_for_every_system_and_interpreter(lock: str) -> None:
    """Digests of one system's wheel alone would refuse every other system's."""
    few = [
        entry.split(maxsplit=1)[0]
        for entry in entries(lock)
        if is_compiled(entry.partition("==")[0])
        and len(DIGEST.findall(entry)) < WHEELS_OF_A_COMPILED_PACKAGE
    ]

    assert few == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_the_place_it_was_made_from(lock: str) -> None:
    assert ELSEWHERE.findall(text_of(lock)) == []


def test_the_development_lock_holds_the_runtime_one() -> None:
    runtime, dev = pinned_versions("requirements/runtime"), pinned_versions("requirements/dev")

    assert runtime.items() <= dev.items()


def test_everything_that_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((sources.ROOT / "pyproject.toml").read_text())
    asked = {
        "requirements/runtime": project["project"]["dependencies"],
        "requirements/dev": project["dependency-groups"]["dev"],
        "bench/requirements": input_lines("bench/requirements"),
        **{lock: input_lines(lock) for lock in DAILY_LOCKS},
    }

    for lock, requirements in asked.items():
        names = {plain(re.split(r"[^A-Za-z0-9._-]", each)[0]) for each in requirements}
        assert names <= pinned_versions(lock).keys()


@pytest.mark.parametrize("lock", ["requirements/runtime", "requirements/dev"])
def test_a_lock_holds_whatever_its_distributions_require(lock: str) -> None:
    """It is installed without resolving. Extras and markers are those of this interpreter."""
    pins = pinned_versions(lock)
    waiting = [Requirement(each) for each in [*direct_dependencies(lock), *pins]]
    seen, missing = set[tuple[str, str]](), []
    while waiting:
        requirement = waiting.pop()
        name = plain(requirement.name)
        if name not in pins or not requirement.specifier.contains(pins[name], prereleases=True):
            missing.append(str(requirement))
            continue
        for key in {(name, extra) for extra in ("", *requirement.extras)} - seen:
            seen.add(key)
            waiting += find_requirements(*key)

    assert missing == []
    assert len(seen) > len(pins)


def direct_dependencies(lock: str) -> list[str]:
    project = tomllib.loads((sources.ROOT / "pyproject.toml").read_text())
    runtime: list[str] = project["project"]["dependencies"]
    return runtime + (project["dependency-groups"]["dev"] if lock.endswith("dev") else [])


def find_requirements(name: str, extra: str) -> list[Requirement]:
    """What an installed distribution requires here, with this extra or without one.

    Nothing for one that is locked for other systems or interpreters.
    """
    try:
        found = map(Requirement, metadata.requires(name) or [])
    except metadata.PackageNotFoundError:
        return []
    return [each for each in found if not each.marker or each.marker.evaluate({"extra": extra})]
