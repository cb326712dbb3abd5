"""`--project auto`: an agent's folder says which project its memories belong to."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from surfaces.mcp_talk import command, talking

from engramdb import Engram, Scope
from engramdb.hooks.events import CLAUDE_CODE
from engramdb.hooks.project import AUTO, chosen, project_of, working_folder

from .test_hooks_parts import line, write
from .test_hooks_process import ended, event, read, start, until

if TYPE_CHECKING:
    from pathlib import Path

    from surfaces.fixtures import Command


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with two repositories, one of them a worktree, whose `.git` is a file."""
    folder = tmp_path / "person"
    (folder / "shop" / ".git").mkdir(parents=True)
    (folder / "shop" / "src" / "cart").mkdir(parents=True)
    (folder / "blog").mkdir()
    (folder / "blog" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def contents(home: Path, project: str | None) -> list[str]:
    """Return what is remembered in one project itself, and not around it."""
    scope = Scope(project=project)
    found: list[str] = read(
        home, lambda engram: [one.content for one in engram.list(scope=scope) if one.scope == scope]
    )
    return found


@pytest.mark.parametrize(
    ("below", "project"),
    [
        ("shop", "shop"),
        ("shop/src/cart", "shop"),
        ("shop/src/../../blog", "blog"),
        ("blog/posts/gone", "blog"),
        ("notes", "notes"),
        ("notes/2026", "2026"),
        ("", None),
    ],
)
def test_a_folder_belongs_to_the_repository_around_it(person: Path, below: str, project: str | None) -> None:
    """Without a repository it is its own project, also where it is gone; the home folder is none."""
    (person / ".git").mkdir()  # who keeps their settings under git does not work on them all day

    assert project_of(str(person / below)) == project


@pytest.mark.parametrize("folder", ["/", "", ".", "shop", "//", "\0"])
def test_what_is_no_folder_of_work_is_no_project(folder: str) -> None:
    """Its memories are then those of everywhere."""
    assert project_of(folder) is None


@limits(max_examples=40)
@given(st.text(min_size=1, max_size=300))
def test_whatever_a_folder_is_called_a_scope_takes_it(name: str) -> None:
    """Always the same, also where its name cannot be a scope's: of spaces, of bytes that are no text."""
    folder = f"/w/{name}"

    assert Scope(project=project_of(folder)) == Scope(project=project_of(folder))


def test_names_are_made_usable_and_only_auto_is_looked_up(person: Path) -> None:
    """Letters that are written in two ways are one name, and what does not print becomes a dash."""
    broken = os.fsdecode(b"/w/caf\xe9")

    found = [project_of(one) for one in ("/w/ cafe\u0301 ", broken, "/w/a\tb", f"/w/{'x' * 300}")]

    assert found == ["café", "caf-", "a-b", "x" * 200]
    assert (chosen("harvest", str(person / "shop")), chosen(None, "/w/shop")) == ("harvest", None)
    assert chosen(AUTO, str(person / "shop" / "src")) == "shop"


def test_what_is_said_in_one_project_stays_there(home: Path, person: Path, engram_command: Command) -> None:
    """Two folders, two memories; what is global is seen in both."""
    engram_command("remember", "I use the Helix editor")
    shop, blog = str(person / "shop" / "src"), str(person / "blog")
    told = event(cwd=shop, session_id="a", prompt="We deploy the orders service with Nomad from now on")
    ended(start("UserPromptSubmit", told, "--project", AUTO))
    ended(start("SessionEnd", event(cwd=shop, session_id="a"), "--project", AUTO))
    until(lambda: contents(home, "shop"))

    asked = "how do we deploy the orders service, and which editor do I use?"
    there = ended(start("UserPromptSubmit", event(cwd=shop, session_id="b", prompt=asked), "--project=auto"))
    elsewhere = ended(
        start("UserPromptSubmit", event(cwd=blog, session_id="c", prompt=asked), "--project=auto")
    )

    assert b"Nomad" in there
    assert b"Nomad" not in elsewhere
    assert b"Helix" in elsewhere
    assert contents(home, "blog") == []


def test_an_agent_that_walks_into_another_project_takes_nothing_along(
    home: Path, person: Path, tmp_path: Path
) -> None:
    """The log says where each word was said; catching up on it does not carry it elsewhere."""
    shop, blog = str(person / "shop"), str(person / "blog")
    lines = [
        line("user", "the shop opens at nine", "u1", cwd=shop),
        line("assistant", "Noted.", "a1", cwd=shop),
        line("user", "now the blog", "u2", cwd=blog),
        line("assistant", "Here it is.", "a2", cwd=blog),
    ]

    ended(
        start(
            "Stop",
            event(cwd=blog, transcript_path=write(tmp_path / "s1.jsonl", lines)),
            *("--project", AUTO),
        )
    )

    kept = until(
        lambda: read(
            home, lambda engram: [turn.content for turn in engram.turns(scope=Scope(project="blog"))]
        )
    )
    assert kept == ["now the blog", "Here it is."]


@pytest.fixture
def server_home(tmp_path: Path) -> Path:
    """The home of a server, which is not the folder that it is started in."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


def test_a_server_belongs_to_the_project_that_it_is_started_in(person: Path, server_home: Path) -> None:
    """By its own working directory, which a coding agent sets; no tool can choose another."""
    place = command(server_home, "--project", AUTO)
    place.cwd = str(person / "shop" / "src")

    with talking(place) as talk:
        talk.values("remember", content="The cart is kept for 30 days", from_user=True)

    with Engram.open(server_home / "memory.db", background=False) as engram:
        (kept,) = engram.list(scope=Scope(project="shop"))
    assert kept.scope == Scope(project="shop")


def test_a_server_whose_folder_is_gone_is_in_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    folder = working_folder()

    assert (folder, chosen(AUTO, folder), chosen("harvest", folder)) == ("", None, "harvest")


def test_auto_is_written_as_it_is_said(person: Path, engram_command: Command) -> None:
    """Server and hooks look at the folder each time; a program that has no folder is refused."""
    done = engram_command("connect", "claude-code", "--project", AUTO, "--user", "maya", "--yes")
    refused = engram_command("connect", "claude-desktop", "--project", AUTO, "--yes")
    removed = engram_command("connect", "claude-desktop", "--project", AUTO, "--remove")

    server = json.loads((person / ".claude.json").read_text(encoding="utf-8"))["mcpServers"]["engram"]
    hooks = (person / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert (done.exit_code, removed.exit_code) == (0, 0)
    assert server["args"][-4:] == ["--project", "auto", "--user", "maya"]
    assert hooks.count("--project auto") == len(CLAUDE_CODE.events)
    assert refused.exit_code != 0
    assert "does not say which folder" in refused.stderr
