"""`make run`: it installs only what it needs, and serves where it is told to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make on PATH")


def planned(folder: Path, *arguments: str, **environment: str) -> str:
    """Return the commands that make would run in a fresh clone."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    done = subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_running_needs_no_tools_of_developers(tmp_path: Path) -> None:
    """The tests add those later, to the same environment, without setting it up again."""
    run = planned(tmp_path, "run")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    (tmp_path / ".venv" / "can-run").touch()
    test = planned(tmp_path, "test")

    assert ".[server,models,mcp,chat]" in run
    assert "--group dev" not in run
    assert "--group dev" in test
    assert "-m venv" not in test


@pytest.mark.parametrize(
    ("arguments", "environment", "served"),
    [
        ((), {}, "serve --no-token"),
        (("PORT=8080",), {}, "serve --no-token --port 8080"),
        ((), {"PORT": "8080"}, "serve --no-token --port 8080"),
        (("HOST=localhost", "PORT=0"), {}, "serve --no-token --host localhost --port 0"),
        (("HOST=0.0.0.0",), {}, "serve --allow-remote --host 0.0.0.0"),
        ((), {"HOST": "my-laptop"}, "serve --no-token"),
    ],
)
def test_the_server_listens_where_make_is_told(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], served: str
) -> None:
    """Others reach it only where an address says so, and then with a token; a shell's own HOST is none."""
    (last,) = (
        line
        for line in planned(tmp_path, "run", *arguments, **environment).splitlines()
        if "serve" in line[:30]
    )

    assert last.split(maxsplit=1)[1].strip() == served
