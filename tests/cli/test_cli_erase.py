"""`engram erase`: what cannot be undone asks first, tells what goes, and says whether the file is clean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


@pytest.fixture
def stored(engram_command: Command, home: Path) -> str:
    """The id of a memory of Ann's, who also said it."""
    engram_command("observe", "The codeword is zanzibarium", "--user", "ann", "--session", "s1")
    memory = engram_command("remember", "The codeword is zanzibarium", "--user", "ann", "--json")
    assert b"zanzibarium" in (home / "memory.db").read_bytes()
    return str(json.loads(memory.stdout)["id"])


def test_without_a_yes_nothing_is_erased(engram_command: Command, stored: str) -> None:
    """A script that forgot to say so fails, and is told both ways on."""
    result = engram_command("erase", stored, "--user", "ann")

    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert "--dry-run" in result.stderr
    assert engram_command("get", stored, "--user", "ann").exit_code == 0


def test_a_dry_run_tells_what_would_go(engram_command: Command, stored: str) -> None:
    """Counts, and the memory is still there."""
    result = engram_command("erase", stored, "--user", "ann", "--dry-run")

    assert result.stdout.startswith("would erase 1 memory, 1 message")
    assert "zanzibarium" in engram_command("get", stored, "--user", "ann").stdout


def test_an_erased_memory_is_not_in_the_file(engram_command: Command, stored: str, home: Path) -> None:
    """Its words are in no file of the home."""
    result = engram_command("erase", stored, "--user", "ann", "--yes", "--json")

    done = json.loads(result.stdout)
    assert (done["memories"], done["turns"], done["is_file_clean"]) == ([stored], 1, True)
    assert [file for file in home.rglob("*") if file.is_file() and b"zanzibarium" in file.read_bytes()] == []


def test_a_user_is_erased_with_the_name(engram_command: Command, stored: str, home: Path) -> None:
    """A token stands in its place; the memory is gone for who asks by that name again."""
    result = engram_command("erase", "--user", "ann", "--yes")

    assert result.exit_code == 0, result.stderr
    assert "erased-" in result.stdout
    assert engram_command("get", stored, "--user", "ann").exit_code == 3
    assert [file for file in home.rglob("*") if file.is_file() and b"zanzibarium" in file.read_bytes()] == []


def test_erasing_nothing_in_particular_is_misuse(engram_command: Command, stored: str) -> None:
    """Neither an id nor a user: nobody means the whole store."""
    result = engram_command("erase", "--yes")

    assert result.exit_code == 2
    assert "--user" in result.stderr
    assert engram_command("get", stored, "--user", "ann").exit_code == 0
