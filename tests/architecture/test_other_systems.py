"""What one system lacks is not imported on the way in."""

from __future__ import annotations

import subprocess
import sys

import pytest

ABSENT_ON_WINDOWS = ("resource", "fcntl", "pwd", "grp", "termios")


@pytest.mark.parametrize("module", ["engramdb.http.app", "engramdb.cli.main", "engramdb.engine.parts"])
def test_the_ways_in_import_without_the_modules_of_unix(module: str) -> None:
    """Of our own modules: what the standard library does on this system is its affair."""
    code = f"""
import builtins, sys
find = builtins.__import__
def without(name, globals=None, *rest):
    if name in {ABSENT_ON_WINDOWS!r} and (globals or {{}}).get("__name__", "").startswith("engramdb"):
        raise ImportError(name)
    return find(name, globals, *rest)
builtins.__import__ = without
import {module}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
