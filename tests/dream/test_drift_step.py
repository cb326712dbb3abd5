"""Claims about files are checked inside the folders that the user named, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb.dream.drift import GONE_REASON, DriftStep, PathCheck, check_path, is_elsewhere
from engramdb.dream.step import Skipped
from engramdb.values import Layer, Scope, Status

from .insighted import counts, proposed, take

if TYPE_CHECKING:
    from pathlib import Path

    from engramdb import Engram
    from engramdb.values import Memory


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one source file."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "parser.py").write_text("")
    return tmp_path / "project"


def claim(engram: Engram, content: str, *, pinned: bool = False) -> Memory:
    """A statement about code."""
    return engram.remember(content, layer=Layer.CODEBASE, pinned=pinned)


def test_without_folders_the_step_is_skipped_and_says_so(engram: Engram) -> None:
    """Nobody's files are looked at unasked."""
    with pytest.raises(Skipped, match="no folders may be looked at"):
        proposed(engram, DriftStep())


def test_a_claim_about_a_file_that_is_gone_is_invalidated(engram: Engram, root: Path) -> None:
    """The reason is in the history and names the file; what is still there is left alone."""
    dead = claim(engram, "The tokenizer lives in src/tokenizer.py")
    living = claim(engram, "The grammar is defined in src/parser.py")

    take(engram, DriftStep(), roots=((None, root),))

    assert engram.get(dead.id).status is Status.INVALIDATED
    assert engram.get(living.id).status is Status.ACTIVE
    assert engram.history(dead.id)[-1].reason == f"{GONE_REASON}: src/tokenizer.py"


def test_what_tells_of_a_removal_or_lies_elsewhere_is_left_alone(engram: Engram, root: Path) -> None:
    """A file may be gone because the memory says so, or belong to a folder that was not opened."""
    kept = [
        claim(engram, "We deleted src/legacy.py in spring"),
        claim(engram, "The other service keeps its routes in backend/routes.py"),
        claim(engram, "Passwords are listed in /etc/shadow-copy.txt"),
        engram.remember("I read about src/ghost.py in a blog"),
    ]

    report = take(engram, DriftStep(), roots=((None, root),))

    assert counts(report) == {}
    assert {engram.get(memory.id).status for memory in kept} == {Status.ACTIVE}


def test_a_pinned_or_half_true_claim_becomes_a_question(engram: Engram, root: Path) -> None:
    """Only what is wholly gone is invalidated, and never what a person pinned."""
    pinned = claim(engram, "The tokenizer lives in src/tokenizer.py", pinned=True)
    half = claim(engram, "src/parser.py calls into src/emitter.py")

    take(engram, DriftStep(), roots=((None, root),))
    again = take(engram, DriftStep(), roots=((None, root),))

    assert {engram.get(memory.id).status for memory in (pinned, half)} == {Status.ACTIVE}
    assert {gap.memories for gap in engram.gaps()} == {(pinned.id,), (half.id,)}
    assert counts(again) == {}


@pytest.mark.parametrize(
    "named",
    [
        "../secret.txt",
        "src/../../secret.txt",
        "~/secret.txt",
        "C:/secret.txt",
        "",
        "src/\0",
        "leaving/secret.txt",
    ],
)
def test_no_path_leads_out_of_the_folder(root: Path, named: str) -> None:
    """Climbing, a home, another drive and a link that leaves are refused, whatever lies there."""
    (root.parent / "secret.txt").write_text("")
    (root / "leaving").symlink_to(root.parent)

    assert check_path(root, named) is PathCheck.UNKNOWN


def test_links_inside_of_the_folder_are_followed_and_circles_end(root: Path) -> None:
    """A link is as good as what it leads to, and one that leads to itself says nothing."""
    (root / "source").symlink_to("src")
    (root / "whole").symlink_to(root / "src")
    (root / "circle").symlink_to("circle")

    assert check_path(root, "source/parser.py") is PathCheck.THERE
    assert check_path(root, "whole/parser.py") is PathCheck.THERE
    assert check_path(root, str(root / "src" / "parser.py")) is PathCheck.THERE
    assert check_path(root, str(root / "src" / "gone.py")) is PathCheck.ABSENT
    assert check_path(root, "circle/parser.py") is PathCheck.UNKNOWN


@pytest.mark.parametrize(
    "content",
    [
        "src/deleted_items.py holds the trash view",
        "The job remove_expired() lives in src/expiry.py",
        "src/renamed/missing_values.py fills the gaps",
        "Node.js is started by src/todo_server.ts",
    ],
)
def test_a_word_inside_a_file_name_is_no_word_about_absence(engram: Engram, root: Path, content: str) -> None:
    """What `deleted_items.py` holds says nothing about a deletion, so the claim goes with the file."""
    dead = claim(engram, content)

    take(engram, DriftStep(), roots=((None, root),))

    assert engram.get(dead.id).status is Status.INVALIDATED


@pytest.mark.parametrize(
    "content",
    [
        "Run the parser before every commit",
        "src is where the parser is run",
        "The tests/staging split is by team",
        "client.py talks to the server",
        "The client is in api/client.py",
        "The grammar is defined in SRC/Parser.py",
    ],
)
def test_a_plain_word_a_bare_name_and_other_capitals_are_no_missing_file(
    engram: Engram, root: Path, content: str
) -> None:
    """Only a whole path that must lie in the folder can be missing from it."""
    (root / "run.py").write_text("")
    (root / "tests").mkdir()
    (root / "lib" / "api").mkdir(parents=True)
    (root / "lib" / "api" / "client.py").write_text("")
    told = claim(engram, content)

    report = take(engram, DriftStep(), roots=((None, root),))

    assert counts(report) == {}
    assert engram.get(told.id).status is Status.ACTIVE


def test_a_file_that_may_have_been_moved_is_asked_about(engram: Engram, root: Path) -> None:
    """The question quotes the memory and names the file; nothing is invalidated."""
    (root / "src" / "text").mkdir()
    (root / "src" / "text" / "lexer.py").write_text("")
    told = claim(engram, "The tokenizer lives in src/lexer.py")

    take(engram, DriftStep(), roots=((None, root),))

    (gap,) = engram.gaps()
    assert engram.get(told.id).status is Status.ACTIVE
    assert "“The tokenizer lives in src/lexer.py”" in gap.question
    assert "src/lexer.py is not there any more" in gap.question


def test_a_question_about_several_files_names_them(engram: Engram, root: Path) -> None:
    """Which of them is gone the person sees."""
    claim(engram, "src/parser.py calls into src/emitter.py")

    take(engram, DriftStep(), roots=((None, root),))

    assert "Not all of src/parser.py and src/emitter.py are there" in engram.gaps()[0].question


def test_a_namesake_deep_in_a_large_folder_is_not_searched_for_ever(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file counts as moved only if it is found among so many names."""
    monkeypatch.setattr("engramdb.dream.drift.MAX_ENTRIES", 1)
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "a" / "b" / "c" / "lexer.py").write_text("")

    assert not is_elsewhere(root, "src/lexer.py")


def test_a_folder_of_a_project_is_for_its_memories_alone(engram: Engram, root: Path) -> None:
    """What is said in one project is not judged by another project's files."""
    own, other = Scope(project="falcon"), Scope(project="heron")
    said = "The tokenizer lives in src/tokenizer.py"
    kept = {one: engram.remember(said, layer=Layer.CODEBASE, scope=one) for one in (own, other)}

    take(engram, DriftStep(), roots=(("falcon", root),))

    assert engram.get(kept[own].id, scope=own).status is Status.INVALIDATED
    assert engram.get(kept[other].id, scope=other).status is Status.ACTIVE
