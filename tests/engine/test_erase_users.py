"""Erasing a user: who is meant is said exactly, and nobody is called clean because of a spelling."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal

import pytest

from engramdb import Engram, Scope
from engramdb.errors import UserNotFound
from engramdb.values import Status

if TYPE_CHECKING:
    from pathlib import Path

ANGSTROM = "Ångström"
SPELLINGS = {
    "ann": ("ANN", "Ann", "discord:ann"),
    "discord:42": ("Discord:42", "DISCORD:42"),
    "Ann Lee": ("ann lee", "AnnLee", "Ann  Lee"),
    "straße": ("STRASSE", "strasse"),
}


@pytest.mark.parametrize(
    ("stored", "asked"), [(name, other) for name, others in SPELLINGS.items() for other in others]
)
def test_another_spelling_is_no_user_and_is_told_who_is(engram: Engram, stored: str, asked: str) -> None:
    """Names that differ in case, blanks or a prefix are other names; the error names the one there is."""
    memory = engram.remember("I like tea", scope=Scope(user=stored))

    with pytest.raises(UserNotFound) as refused:
        engram.erase(user=asked)

    assert repr(stored) in refused.value.hint
    assert engram.get(memory.id, scope=Scope(user=stored)).status is Status.ACTIVE


@pytest.mark.parametrize("user", ["nobody", "42", "an", "discord"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_unknown_user_is_not_clean(engram: Engram, user: str, dry_run: bool) -> None:
    """Also a dry run says that there is no such user, and no part of a name is one."""
    engram.remember("I like tea", scope=Scope(user="discord:4242"))

    with pytest.raises(UserNotFound) as refused:
        engram.erase(user=user, dry_run=dry_run)

    assert "discord:4242" not in str(refused.value)


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_two_spellings_that_look_the_same_are_one_user(
    engram: Engram, store_path: Path, stored: Literal["NFC", "NFD"], asked: Literal["NFC", "NFD"]
) -> None:
    """A name is the same name in every normal form of its characters."""
    engram.remember("I like zanzibarium", scope=Scope(user=unicodedata.normalize(stored, ANGSTROM)))

    done = engram.erase(user=unicodedata.normalize(asked, ANGSTROM))

    assert len(done.memories) == 1
    assert b"zanzibarium" not in store_path.read_bytes()


def test_users_of_other_projects_are_not_suggested(engram: Engram) -> None:
    """The error speaks of the scope that was asked about, and of no other."""
    engram.remember("I like tea", scope=Scope(project="shop", user="ann"))

    with pytest.raises(UserNotFound) as refused:
        engram.erase(user="ANN", scope=Scope(project="harbor"))

    assert "'ann'" not in str(refused.value)


def test_a_user_is_cleaned_again_by_the_token(engram: Engram) -> None:
    """Where the file could not be cleaned, the token names the user whose name is gone."""
    engram.remember("I like tea", scope=Scope(user="ann"))
    done = engram.erase(user="ann")

    again = engram.erase(user=done.token)

    assert (again.memories, again.is_file_clean) == ((), True)


def test_what_others_say_of_a_user_is_listed_and_left(engram: Engram) -> None:
    """Memories, messages and documents of others that name the user are theirs; the person decides."""
    engram.remember("I like tea", scope=Scope(user="annika"))
    said = engram.remember("Annika borrowed the ladder", scope=Scope(user="ben"))
    engram.remember("Mannikau is a village", scope=Scope(user="ben"))
    heard = engram.observe("Ask ANNIKA about it.", scope=Scope(user="ben"))

    done = engram.erase(user="annika")

    assert {one.id for one in done.mentions} >= {said.id, heard.id}
    assert all(one.scope == Scope(user="ben") for one in done.mentions)
    assert engram.get(said.id, scope=Scope(user="ben")).status is Status.ACTIVE
    assert len([one for one in done.mentions if one.kind == "memory"]) == 1
