"""Everything runnable in the README and the guides runs, in an empty folder, as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .warm_commands import shim

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("code-blocks")

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("guides/*.md")),
    *sorted((ROOT / "docs").glob("concepts/*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    """Return the page's code blocks of a language."""
    return [code for name, code in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the command `engram`, started warm; see `warm_commands`."""
    folder = tmp_path_factory.mktemp("bin")
    address = folder / "line"
    shim(folder, address)
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("warm_commands.py")), str(address)],
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield folder
        server.kill()


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a user who has just installed Engram and set nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "HOME": str(home), "NO_COLOR": "1"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """A reader who pastes the Python of a page gets what the page says, to the letter where it shows it."""
    shown = dict(PRINTED.findall(page.read_text(encoding="utf-8")))
    for code in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            check=False,
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
        )

        assert done.returncode == 0, done.stderr
        assert done.stdout == shown.get(code, done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_blocks_run_in_their_order(page: Path, tmp_path: Path, commands: Path) -> None:
    """A reader who pastes the shell lines of a page, one block after the other, meets no error."""
    script = "set -euo pipefail\n" + "\n".join(blocks(page, "bash"))
    own = environment(tmp_path)

    done = subprocess.run(
        ["bash", "-c", script],
        check=False,
        cwd=tmp_path,
        env={**own, "PATH": f"{commands}{os.pathsep}{own['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    """A newcomer reads it to the end."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_links_between_pages_lead_somewhere() -> None:
    """No relative link of any page is broken."""
    broken = [
        f"{page.relative_to(ROOT)} → {target}"
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []
