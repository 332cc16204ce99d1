"""The table of licences: what `pip install pgcjax` brings, from its metadata."""

from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = "docs/licences.md"
_LINUX = {
    "extra": "",
    "os_name": "posix",
    "platform_system": "Linux",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}
"""So that the table is the same on every system."""
_COPYLEFT = ("GPL", "GNU ")

_TEXT = """\
# Licences

After this page you can name the licence of all that `pip install pgcjax` brings.
pgcjax is [Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0), its data CC0-1.0.

The table lists all dependencies, and theirs, on Linux with Python 3.11, as their
metadata state. Extras, such as `pgcjax[plots]`, bring more. This page is made by
`scripts/release --licences`. `scripts/release --dry-run licences` fails where it is
not current, a licence is missing, or a licence is one of the GPL's family.

| package | licence |
|---|---|
"""


def dependencies(name: str = "pgcjax") -> list[str]:
    """List what a distribution needs, and what that needs, without extras."""
    waiting, needed = [name], {canonicalize_name(name)}
    while waiting:
        for line in distribution(waiting.pop()).requires or []:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate(_LINUX):
                continue
            if (canonical := canonicalize_name(requirement.name)) not in needed:
                needed.add(canonical)
                waiting.append(canonical)
    return sorted(needed - {canonicalize_name(name)})


def licence(about: Distribution) -> str:
    """Return the licence that metadata state; "" if they state none."""
    stated = about.metadata.get("License-Expression")
    if stated:
        return stated
    marks = about.metadata.get_all("Classifier") or []
    named = [m.split(" :: ")[-1] for m in marks if m.startswith("License :: ")]
    if named := [name for name in named if name != "OSI Approved"]:
        return "; ".join(named)
    return (about.metadata.get("License") or "").strip().partition("\n")[0]


def licences() -> dict[str, str]:
    """Return the licence of each dependency, by its name."""
    return {name: licence(distribution(name)) for name in dependencies()}


def problems(table: dict[str, str]) -> list[str]:
    """List dependencies whose licence is missing, or binds programs that use them."""
    lacking = [f"{name} states no licence" for name, text in table.items() if not text]
    binding = [
        f"{name} is {text}"
        for name, text in table.items()
        if any(word in text for word in _COPYLEFT)
    ]
    return lacking + binding


def page() -> str:
    """Write the page."""
    rows = (f"| {name} | {text} |\n" for name, text in licences().items())
    return _TEXT + "".join(rows)
