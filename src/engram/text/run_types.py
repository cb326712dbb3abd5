"""
Decide what a run of capitalised words names: a person, an organisation, a place, a project, or nothing.

Called by `mentions` for each run. Looks at the lists, at the run's own first and last word, and at the cues
on either side, so the time does not grow with the text. The first rule that is sure decides; a capital that
only starts a sentence is never enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text import name_cues as cues
from engram.text.entity_names import name_lists
from engram.values import EntityType, Mention

if TYPE_CHECKING:
    from engram.text.name_runs import Run

Placed = tuple[int, int, Mention]
"""Where a mention starts and ends, and what it is."""

_WINDOW = 48
"""Characters of context; the longest cue is about forty."""

_MIN_LETTERS = 2
_MAX_UNKNOWN_LETTERS = 24
"""A longer word on no list is a key or a code, and must not become a name."""

_STREETS = frozenset({"street", "st", "road", "rd", "avenue", "ave", "lane", "boulevard", "strasse", "platz"})


def run_mention(text: str, run: Run, *, is_tool: bool, is_german: bool) -> Placed | None:
    """
    Return what the run names and where, or None.

    `is_tool` says that a technology is named in it, `is_german` that every noun of the text has a capital.
    """
    name = _trimmed(run)
    if name is None or name.end - name.start < _MIN_LETTERS:
        return None
    before = text[max(0, name.start - _WINDOW) : name.start]
    after = text[name.words[-1].end : name.words[-1].end + _WINDOW]
    headed = _headed(text, name, before, after, is_tool=is_tool)
    if headed is not None:
        return headed
    is_firm = name.folded in name_lists().organisations
    if is_tool and not is_firm and not (len(name.words) > 1 and _is_given(name)):
        return None  # the vocabulary of technologies speaks for it
    kind = _kind(text, name, before, after, is_german=is_german)
    return None if kind is None else (name.start, name.end, Mention(text[name.start : name.end], kind))


def _trimmed(run: Run) -> Run | None:
    """Return the run without words that only start the sentence, or None where no name is left."""
    lists = name_lists()
    while run.folded not in lists.places and _is_only_a_start(run):
        if len(run.words) == 1:
            return None
        run = run.without_first()
    if run.folded in lists.given_words:
        return run
    return None if all(_is_no_name(word.folded) for word in run.words) else run


def _is_only_a_start(run: Run) -> bool:
    """Say whether the first word is no part of the name: "The", or "Call" before Pedro."""
    lists = name_lists()
    first, rest = run.words[0].folded, run.words[1:]
    if first in lists.starters:
        return not (first in lists.given_words and not rest)
    if first in lists.given or first in lists.given_words or first in lists.person_titles:
        return False
    is_before_name = bool(rest) and rest[0].folded in lists.given | lists.person_titles
    return run.starts_sentence and is_before_name and first not in lists.project_nouns


def _is_no_name(word: str) -> bool:
    lists = name_lists()
    return word in lists.not_names or word.removesuffix("s") in lists.not_names


def _headed(text: str, run: Run, before: str, after: str, *, is_tool: bool) -> Placed | None:
    """Return a project or service whose own or next word says so: "Project X", "the X app", "X service"."""
    lists = name_lists()
    if len(run.words) > 1 and run.words[0].folded in lists.project_nouns:
        return run.start, run.end, Mention(text[run.start : run.end], EntityType.PROJECT)
    noun = cues.NOUN_AFTER.match(after)
    if noun is None or run.words[-1].is_owner or _is_no_name(run.folded) or run.folded in lists.places:
        return None
    is_definite = cues.DEFINITE.search(before) is not None or (run.starts_sentence and not is_tool)
    end = run.end + noun.end()
    if noun[1] in lists.project_nouns and is_definite:
        return run.start, end, Mention(text[run.start : end], EntityType.PROJECT)
    if noun[1] in ("service", "microservice") and is_definite:
        return run.start, end, Mention(text[run.start : end], EntityType.SERVICE)
    return None


def _kind(text: str, run: Run, before: str, after: str, *, is_german: bool) -> EntityType | None:
    """Return the type of a run, or None where it names nothing."""
    lists = name_lists()
    by_form = _by_form(run, before, after)
    if by_form is not None:
        return by_form
    if run.folded in lists.places or run.folded in lists.places_of_people:
        return _place_or_namesake(run, before, after)
    if _is_given(run):
        return None if text[run.start : run.end].isupper() else _given(run, before, after)
    by_cues = _by_cues(run, before, after, is_german=is_german)
    return by_cues or (None if is_german else _unknown(text, run))


def _by_form(run: Run, before: str, after: str) -> EntityType | None:
    """Return the type where a title, a suffix, a list of firms or "the project called" leaves no doubt."""
    if run.words[0].folded in name_lists().person_titles and len(run.words) > 1:
        return EntityType.PERSON
    if cues.OF_A_PROJECT.search(before):
        return EntityType.PROJECT
    if _is_organisation(run, after):
        return EntityType.ORGANIZATION
    return EntityType.LOCATION if _is_place_by_form(run) else None


def _is_organisation(run: Run, after: str) -> bool:
    lists = name_lists()
    first, last = run.words[0].folded, run.words[-1].folded
    if len(run.words) > 1 and (last in lists.organisation_endings or first in lists.organisation_heads):
        return True
    is_branch = first in lists.organisations and " ".join(run.folded.split()[1:]) in lists.places
    if run.folded in lists.organisations or is_branch:
        return True
    is_word = run.folded in lists.organisation_words
    return is_word and (not run.starts_sentence or cues.FIRM_ACT.match(after) is not None)


def _is_place_by_form(run: Run) -> bool:
    """Say whether the first or last word makes it a place: Lake Garda, Baker Street, but not Sam Park."""
    lists = name_lists()
    if len(run.words) < 2:
        return False
    last = run.words[-1].folded
    if last in _STREETS or run.words[0].folded in lists.place_heads:
        return True
    return last in lists.place_endings and not _is_given(run)


def _place_or_namesake(run: Run, before: str, after: str) -> EntityType | None:
    """Return what a name on the list of places means here: Austin is a city unless it does what people do."""
    lists = name_lists()
    if cues.FOOD_AFTER.match(after):
        return None
    is_placed = cues.BEFORE_A_PLACE.search(before) is not None
    if run.folded not in lists.places_of_people or is_placed:
        return EntityType.LOCATION
    is_person = cues.PERSON_ACT.match(after) is not None or run.folded not in lists.places
    return EntityType.PERSON if is_person else EntityType.LOCATION


def _is_given(run: Run) -> bool:
    """Say whether the first word is a given name; "Jean-Luc" and "Mary-Anne" are by their first part."""
    lists = name_lists()
    first = run.words[0].folded
    return first in lists.given or first in lists.given_words or first.partition("-")[0] in lists.given


def _given(run: Run, before: str, after: str) -> EntityType | None:
    """Return what a given name is here: a person, a cat that is called so, or no name at all."""
    if not _is_meant_as_name(run, after):
        return None
    return EntityType.UNKNOWN if cues.OF_A_THING.search(before) else EntityType.PERSON


def _is_meant_as_name(run: Run, after: str) -> bool:
    """Say whether a given name is one here: Will, Mark and May are words too."""
    lists = name_lists()
    first = run.words[0].folded
    if first not in lists.given_words:
        return True
    if len(run.words) > 1:
        return not _is_no_name(run.words[1].folded)
    if run.starts_sentence or first in lists.not_names:
        return cues.PERSON_ACT.match(after) is not None
    return True


def _by_cues(run: Run, before: str, after: str, *, is_german: bool) -> EntityType | None:
    """Return the type of a run that is on no list, by what stands around it."""
    if cues.OF_A_THING.search(before):
        return EntityType.UNKNOWN
    if cues.OF_A_FIRM.search(before) or cues.OF_SOMEONE_FROM.search(before):
        return EntityType.ORGANIZATION
    if cues.OF_A_PLACE.search(before) and not is_german:
        return EntityType.LOCATION
    is_acting = len(run.words) in (2, 3) and cues.PERSON_ACT.match(after) and run.words[0].folded != "team"
    is_person = cues.OF_SOMEONE_NAMED.search(before) or cues.OF_SOMEONE.search(before) or is_acting
    return EntityType.PERSON if is_person else None


def _unknown(text: str, run: Run) -> EntityType | None:
    """Return that something is named, unless the capital has another reason: a sentence, an abbreviation."""
    written = text[run.start : run.end]
    is_first_word = len(run.words) == 1 and run.starts_sentence
    is_code = any(len(word.folded) > _MAX_UNKNOWN_LETTERS for word in run.words) or any(
        character.isdigit() or character == "_" for character in written
    )
    return None if is_first_word or is_code or written.isupper() else EntityType.UNKNOWN
