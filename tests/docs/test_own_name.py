"""No text of ours tells anybody to install another project's package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = sorted(
    path
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("src", "**/*.py"), ("src", "**/*.html"))
    for path in (ROOT / folder).glob(pattern)
)
INSTALLS = re.compile(r"(?:pip3?|pipx|uv pip|uv tool|uv) (?:install|add)((?: [^\s`),;]+)+)")
OURS = re.compile(r"""['"]?(engramdb|\.)(?:\[([a-z0-9,{}-]+)\])?['".]*""")
OTHERS = {"hypothesis", "psutil", "pytest", "pytest-randomly", "pytest-timeout", "pytest-xdist"}
"""What a guide names beside ours, on purpose."""


def test_what_we_tell_people_to_install_is_ours_and_has_that_extra() -> None:
    """Every `pip install` in docs, errors and hints names `engramdb`, or a clone, and extras that exist."""
    wrong = []
    for path in TEXTS:
        for found in INSTALLS.finditer(path.read_text(encoding="utf-8")):
            words = [word for word in found[1].split() if not word.startswith("-")]
            wrong += [f"{path.name}: {word}" for word in words if not _is_ours(word) and word not in OTHERS]

    assert wrong == []


def test_the_name_of_another_project_stands_nowhere() -> None:
    """`engram-memory` on PyPI is not ours; only the decision that says so names it."""
    texts = [path for path in TEXTS if path.name != "0018-own-name.md"]

    assert [path for path in texts if "engram-memory" in path.read_text(encoding="utf-8")] == []


def _is_ours(word: str) -> bool:
    found = OURS.fullmatch(word)
    if found is None:
        return False
    extras = (found[2] or "all").split(",")
    return extras == ["{extras}"] or set(extras) <= set(PROJECT["optional-dependencies"])
