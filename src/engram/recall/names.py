"""
Names in a question, and which known things they may mean: pure rules, without the store.

Used by `recall.entity`, which looks the names up. A name in capitals counts at once; a word in small
letters only may be one. Two entities are one person where one carries all names of the other: "Bob",
"Bob Chen" and "Robert Chen, known as Bob" may have been met before anyone said that they are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.text.entity_names import fold, fold_name, name_lists
from engram.text.mentions import mentions
from engram.text.name_runs import words_of
from engram.text.terms import STOP_WORDS
from engram.values import EntityType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.text.name_runs import Word
    from engram.values import Entity

MAX_WORDS = 60
"""Words of a question that are looked at; a longer one is a pasted text."""

LONGEST_NAME = 4
"""Words of the longest name in small letters that is looked up."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A name that a question uses, or a few words of it that may be one."""

    words: tuple[str, ...]
    folds: frozenset[str]
    """The forms in which it may be stored."""
    type: EntityType = EntityType.UNKNOWN
    is_sure: bool = False
    has_noun: bool = False
    """Whether a word beside it says what it is: project, app, service."""

    @property
    def is_full_name(self) -> bool:
        """Whether it names one person, so that others with the same first name are not meant."""
        return self.type is EntityType.PERSON and len(self.words) > 1

    @property
    def has_title(self) -> bool:
        """Whether it is a family name after a title: Dr. Schmidt."""
        return len(self.words) == 2 and self.words[0].rstrip(".") in name_lists().person_titles

    @property
    def part(self) -> str | None:
        """The word that may be a person's given or family name, where it is no full name."""
        return self.words[-1] if len(self.words) == 1 or self.has_title else None


def name(text: str) -> Asked:
    """Return a text that is a name for sure."""
    return Asked(tuple(fold(text).split()), _folds(text), is_sure=True)


def asked_names(question: str) -> list[Asked]:
    """Return the names in a question, and the words that may be names, the longest first."""
    sure = [
        Asked(tuple(fold(one.text).split()), _folds(one.text), one.type, is_sure=True)
        for one in mentions(question)
    ]
    every = [*sure, *_possible(words_of(question)[:MAX_WORDS])]
    return sorted(every, key=lambda one: (-len(one.words), not one.is_sure))


def fitting(asked: Asked, known: Sequence[Entity]) -> list[Entity]:
    """Return who may be called so, exact names first; only those of the suggested type, if any are."""
    exact = [one for one in known if not asked.folds.isdisjoint(folded_names(one))]
    partly = [one for one in known if one not in exact and _carries(one, asked)]
    found = exact + partly
    same_type = [one for one in found if one.type is asked.type]
    return same_type if same_type and asked.type is not EntityType.UNKNOWN else found


def folded_names(entity: Entity) -> frozenset[str]:
    """Return all names of an entity as they are compared."""
    return frozenset(fold_name(one, entity.type) for one in (entity.name, *entity.aliases))


def first_names(entity: Entity) -> frozenset[str]:
    """Return the first words of a person's longer names."""
    longer = (one.split() for one in folded_names(entity) if " " in one and "'s " not in one)
    return frozenset(words[0] for words in longer if entity.type is EntityType.PERSON)


def possible_names(entity: Entity) -> frozenset[str]:
    """Return what someone may go by elsewhere: any name, a first name, a nickname with the family's."""
    names, first, last = folded_names(entity), first_names(entity), _last_names(entity)
    is_person = entity.type is EntityType.PERSON
    full = {f"{one} {family}" for one in names if " " not in one for family in last if is_person}
    return names | first | full


def with_same(meant: Sequence[Entity], known: Sequence[Entity]) -> list[Entity]:
    """Return the entities with all of `known` that are the same under another name."""
    found = list(meant)
    for one in found:  # grows while it is walked through: what is the same as the same is the same
        found += [other for other in known if other not in found and _are_same(one, other)]
    return found


def bare_names(entity: Entity) -> frozenset[str]:
    """Return the names of someone who goes by single words only; none for anyone with a longer name."""
    names = folded_names(entity)
    return frozenset() if any(" " in one for one in names) else names


def _folds(text: str) -> frozenset[str]:
    return frozenset(fold_name(text, kind) for kind in EntityType)


def _possible(words: Sequence[Word]) -> Iterator[Asked]:
    """Yield every few words in a row, but none that begin or end with a word that says nothing."""
    nouns = name_lists().project_nouns | name_lists().service_nouns
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            run = words[start:end]
            if run[0].folded in STOP_WORDS or run[-1].folded in STOP_WORDS:
                continue
            around = words[max(0, start - 1) : end + 1]
            yield Asked(
                tuple(one.folded for one in run),
                frozenset({" ".join(one.folded for one in run), _with_owners(run)}),
                is_sure=len(run) > 1 or (run[0].is_capital and not run[0].starts_sentence),
                has_noun=any(one.folded in nouns for one in around),
            )


def _with_owners(run: Sequence[Word]) -> str:
    """Return the words with the 's of owners: Tom's sister."""
    owned = [f"{one.folded}'s" if one.is_owner else one.folded for one in run[:-1]]
    return " ".join([*owned, run[-1].folded])


def _carries(entity: Entity, asked: Asked) -> bool:
    """Say whether a person's longer name begins with it, or ends with it after a title or nothing."""
    if entity.type is not EntityType.PERSON or asked.part is None:
        return False
    if not asked.has_title and asked.part in first_names(entity):
        return True
    is_family = asked.has_title or (asked.type is EntityType.UNKNOWN and asked.is_sure)
    return is_family and asked.part in _last_names(entity)


def _last_names(entity: Entity) -> frozenset[str]:
    longer = (one.split() for one in folded_names(entity) if " " in one and "'s " not in one)
    return frozenset(words[-1] for words in longer)


def _are_same(one: Entity, other: Entity) -> bool:
    return _covers(one, other) or _covers(other, one)


def _covers(one: Entity, other: Entity) -> bool:
    """Say whether each name of the other is a name of this one too, or is made of its names."""
    if one.type is not other.type and EntityType.UNKNOWN not in (one.type, other.type):
        return False
    own, last = folded_names(one), _last_names(one)
    return all(
        name in own or (" " in name and name.split()[0] in own and name.split()[-1] in last)
        for name in folded_names(other)
    )
