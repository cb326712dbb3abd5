"""Runs of capitalized words, and what kind of thing each names."""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.text.english_words import is_english_word
from engramdb.text.name_cues import (
    BEFORE_A_PLACE,
    DEFINITE,
    EFFORT_AFTER,
    FIRM_ACT,
    FOOD_AFTER,
    HUMAN_ACT,
    MAY_SOMEONE,
    NOUN_AFTER,
    OF_A_FIRM,
    OF_A_PLACE,
    OF_A_PROJECT,
    OF_A_THING,
    OF_SOMEONE,
    OF_SOMEONE_FROM,
    OF_SOMEONE_NAMED,
    PERSON_ACT,
    SOMEONE_DOES,
    THEIRS,
    TO_SOMEONE,
)
from engramdb.text.names import fold, name_lists
from engramdb.text.normalize import lazy
from engramdb.text.topics import is_topic_word
from engramdb.values import EntityType, Mention

_WORD = lazy(r"\w+")
_SMALL_GERMAN = """
der die das den dem des und ist nicht ein eine einen ich wir mit auf mein meine hat haben habe im bei von zu
zum zur sich auch nach seit sind wird werden jede jeden mir dir uns mich dich noch nur schon sehr wie aber
oder wenn weil dass wo sie alle unser unsere
"""
_SMALL_ENGLISH = "the is are of to and my for with it was on at that has i a his her we"
_GERMAN_WORDS, _ENGLISH_WORDS = frozenset(_SMALL_GERMAN.split()), frozenset(_SMALL_ENGLISH.split())
_SMALL_TYPED = "from u this you can but so then ok pls tbh btw our in be off an"
_TYPED_ENGLISH = frozenset(_SMALL_TYPED.split())
"""Small words of short messages, which the others may be missing in."""
_GERMAN = lazy(rf"\b(?:{'|'.join(_SMALL_GERMAN.split())}|für|über|kein\w*)\b", re.IGNORECASE)
_ENGLISH = lazy(rf"\b(?:{'|'.join(_SMALL_ENGLISH.split())})\b", re.IGNORECASE)


def capitals_prove_nothing(text: str) -> bool:
    """Return whether the text is German, where every noun has one: "die" and "hat" are English words too."""
    start = text[:400]
    if start.isascii():  # word by word: a fifth of the time, and the same where a letter has one small form
        words: list[str] = _WORD.findall(start.lower())
        german = sum([word in _GERMAN_WORDS or word.startswith("kein") for word in words])
        english = sum([word in _ENGLISH_WORDS for word in words])
        return german > english
    return len(_GERMAN.findall(start)) > len(_ENGLISH.findall(start))


def reads_like_english(text: str) -> bool:
    """Return whether a text has small English words, and more of them than German ones."""
    words: list[str] = _WORD.findall(text[:400].lower())
    english = sum([word in _ENGLISH_WORDS or word in _TYPED_ENGLISH for word in words])
    return english > sum([word in _GERMAN_WORDS for word in words])


# Find runs of capitalised words, the raw material of names.
#
# Knows only words and what stands between them: "Dr. Anna van der Berg" is one run, "Anna. Berlin" two, and
# so is "Tom's Emma". One pass over the text.

_WORD_RUNS = lazy(r"[^\W_](?:\w|[&'’.\-](?=\w))*[+#]{0,2}")
_BREAK = lazy(r"[.!?:;\n…•\"“„«»(\[*>]|(?:\A|\n)\s*-\s|。|！|？")
_POSSESSIVE = ("'s", "’s")
MAX_WORDS = 6
"""Longer runs are headlines, not names."""


class Word(Struct):
    """One word where it stands; `end` leaves out a possessive 's."""

    start: int
    end: int
    folded: str
    is_capital: bool
    is_owner: bool
    starts_sentence: bool


class CapitalizedRun(Struct, frozen=True):
    """Capitalised words in a row; `starts_sentence` says that the first capital may mean nothing."""

    words: tuple[Word, ...]
    starts_sentence: bool

    @property
    def start(self) -> int:
        """Where it begins in the text."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where it ends in the text."""
        return self.words[-1].end

    @property
    def folded(self) -> str:
        """The words without case and accents."""
        return " ".join(word.folded for word in self.words)

    def without_first(self) -> CapitalizedRun:
        """Return the rest, whose capital does mean something."""
        return CapitalizedRun(self.words[1:], starts_sentence=False)


def words_of(text: str) -> list[Word]:
    """Return the words of a text in order."""
    found: list[Word] = []
    before = 0
    for match in _WORD_RUNS.finditer(text):
        start, end = match.span()
        written = match.group()
        is_owner = written.endswith(_POSSESSIVE) and len(written) > 2
        end -= 2 if is_owner else 0
        is_first = before == 0 or (
            text[before:start] != " " and _BREAK.search(text, before, start) is not None
        )
        core = text[start:end]
        is_capital = core[0].isupper() and core != "I"
        found.append(Word(start, end, fold(core), is_capital, is_owner, is_first))
        before = match.end()
    return found


def runs(text: str, words: list[Word]) -> list[CapitalizedRun]:
    """Return the runs of capitalised words, none longer than a name may be."""
    found: list[CapitalizedRun] = []
    at = 0
    while at < len(words):
        last = _end_of_run(text, words, at) if _begins(text, words, at) else at
        if last > at:
            if last - at <= MAX_WORDS:
                found.append(CapitalizedRun(tuple(words[at:last]), words[at].starts_sentence))
            at = last
        else:
            at += 1
    return found


def _begins(text: str, words: list[Word], at: int) -> bool:
    """Return whether a run may begin here: at a capital, or at a small title before one ("señora García")."""
    if words[at].is_capital:
        return True
    is_title = words[at].folded in name_lists().person_titles
    return is_title and at + 1 < len(words) and words[at + 1].is_capital and _joined(text, words, at)


def _end_of_run(text: str, words: list[Word], at: int) -> int:
    """Return the place after the last word of the run that begins here."""
    particles = name_lists().particles
    last = at
    while last + 1 < len(words) and not words[last].is_owner and _joined(text, words, last):
        following = last + 1
        if words[following].is_capital:
            last = following
            continue
        while (
            following + 1 < len(words)
            and following - last <= 2
            and words[following].folded in (_OF if _is_head(words[last]) else particles)
            and _joined(text, words, following)
        ):
            following += 1
        if following == last + 1 or not words[following].is_capital:
            break
        last = following
    return last + 1


_OF = frozenset({"of", "the", "für", "fur", "de", "des", "for"})


def _is_head(word: Word) -> bool:
    return word.folded in name_lists().organisation_heads


def _joined(text: str, words: list[Word], at: int) -> bool:
    """Return whether two words belong together, as in "Dr. Anna" and "St. Thomas' Hospital"."""
    gap = text[words[at].end : words[at + 1].start]
    if gap == " ":
        return True
    is_short = words[at].end - words[at].start == 1 or words[at].folded in name_lists().person_titles
    is_plural_owner = gap in ("' ", "’ ") and words[at].folded.endswith("s")
    is_saint = gap == ". " and words[at].folded in ("st", "ste")
    return (gap == ". " and is_short) or gap == " & " or is_saint or is_plural_owner


# Decide what a run of capitalised words names: a person, an organisation, a place, a project, or nothing.
#
# Looks at the lists, at the run's own first and last word, and at the cues on either side, so the time does
# not grow with the text. The first rule that is sure decides; a capital that only starts a sentence is
# never enough.

Placed = tuple[int, int, Mention]
"""Where a mention starts and ends, and what it is."""

_WINDOW = 48
"""Characters of context; the longest cue is about forty."""

_MIN_LETTERS = 2
_MAX_UNKNOWN_LETTERS = 24
"""A longer word on no list is a key or a code, and must not become a name."""

_STREETS = frozenset({"street", "st", "road", "rd", "avenue", "ave", "lane", "boulevard", "strasse", "platz"})


def run_mention(text: str, run: CapitalizedRun, *, is_tool: bool, is_german: bool) -> Placed | None:
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
    return (
        None if kind is None else (name.start, name.end, Mention(text=text[name.start : name.end], type=kind))
    )


def _trimmed(run: CapitalizedRun) -> CapitalizedRun | None:
    """Return the run without words that only start the sentence, or None where no name is left."""
    lists = name_lists()
    is_title_case = not run.starts_sentence and run.words[0].folded in lists.starters - lists.articles
    if is_title_case and not _is_given(run) and run.folded not in lists.places:
        return None  # "do it Your Way": who writes small words large says nothing by it
    while run.folded not in lists.places and _is_only_a_start(run):
        if len(run.words) == 1:
            return None
        run = run.without_first()
    if run.folded in lists.given_words:
        return run
    return None if all(_is_no_name(word.folded) for word in run.words) else run


def _is_only_a_start(run: CapitalizedRun) -> bool:
    """Return whether the first word is no part of the name: "The", or "Call" before Pedro."""
    lists = name_lists()
    first, rest = run.words[0].folded, run.words[1:]
    if any(" ".join(word.folded for word in run.words[:length]) in lists.places for length in (2, 3)):
        return False  # New York Times
    if first in lists.starters:
        return not (first in lists.given_words and not rest)
    if first in lists.given or first in lists.given_words or first in lists.person_titles:
        return False
    is_before_name = bool(rest) and rest[0].folded in lists.given | lists.person_titles
    return run.starts_sentence and is_before_name and first not in lists.project_nouns


def _is_no_name(word: str) -> bool:
    lists = name_lists()
    return word in lists.not_names or word.removesuffix("s") in lists.not_names


def _headed(text: str, run: CapitalizedRun, before: str, after: str, *, is_tool: bool) -> Placed | None:
    """Return a project or service whose own or next word says so: "Project X", "the X app", "X service"."""
    lists = name_lists()
    if len(run.words) > 1 and run.words[0].folded in lists.project_nouns:
        return run.start, run.end, Mention(text=text[run.start : run.end], type=EntityType.PROJECT)
    noun = NOUN_AFTER.match(after)
    if noun is None or run.words[-1].is_owner or _is_no_name(run.folded) or run.folded in lists.places:
        return None
    is_definite = DEFINITE.search(before) is not None or (run.starts_sentence and not is_tool)
    end = run.end + noun.end()
    if noun[1] in lists.project_nouns and is_definite:
        return run.start, end, Mention(text=text[run.start : end], type=EntityType.PROJECT)
    if noun[1] in ("service", "microservice") and is_definite:
        return run.start, end, Mention(text=text[run.start : end], type=EntityType.SERVICE)
    return None


def _kind(text: str, run: CapitalizedRun, before: str, after: str, *, is_german: bool) -> EntityType | None:
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


def _by_form(run: CapitalizedRun, before: str, after: str) -> EntityType | None:
    """Return the type where a title, a suffix, a list of firms or "the project called" leaves no doubt."""
    if run.words[0].folded in name_lists().person_titles and len(run.words) > 1:
        return EntityType.PERSON
    if OF_A_PROJECT.search(before):
        return EntityType.PROJECT
    if _is_organisation(run, after):
        return EntityType.ORGANIZATION
    return EntityType.LOCATION if _is_place_by_form(run) else None


def _is_organisation(run: CapitalizedRun, after: str) -> bool:
    lists = name_lists()
    first, last = run.words[0].folded, run.words[-1].folded
    if len(run.words) > 1 and (last in lists.organisation_endings or first in lists.organisation_heads):
        return True
    is_branch = first in lists.organisations and " ".join(run.folded.split()[1:]) in lists.places
    if run.folded in lists.organisations or is_branch:
        return True
    is_word = run.folded in lists.organisation_words
    return is_word and (not run.starts_sentence or FIRM_ACT.match(after) is not None)


def _is_place_by_form(run: CapitalizedRun) -> bool:
    """Return whether the first or last word makes it a place: Lake Garda, Baker Street, but not Sam Park."""
    lists = name_lists()
    if len(run.words) < 2:
        return False
    last = run.words[-1].folded
    if last in _STREETS or run.words[0].folded in lists.place_heads:
        return True
    return last in lists.place_endings and not _is_given(run)


def _place_or_namesake(run: CapitalizedRun, before: str, after: str) -> EntityType | None:
    """Return what a name on the list of places means here: Austin is a city unless it does what people do."""
    lists = name_lists()
    if FOOD_AFTER.match(after):
        return None
    is_placed = BEFORE_A_PLACE.search(before) is not None
    if run.folded not in lists.places_of_people or is_placed:
        return EntityType.LOCATION
    is_person = PERSON_ACT.match(after) is not None or run.folded not in lists.places
    return EntityType.PERSON if is_person else EntityType.LOCATION


def _is_given(run: CapitalizedRun) -> bool:
    """Return whether the first word is a given name; "Jean-Luc" and "Mary-Anne" are by their first part."""
    lists = name_lists()
    first = run.words[0].folded
    return first in lists.given or first in lists.given_words or first.partition("-")[0] in lists.given


def _given(run: CapitalizedRun, before: str, after: str) -> EntityType | None:
    """Return what a given name is here: a person, a cat that is called so, or no name at all."""
    if not _is_meant_as_name(run, after):
        return None
    return EntityType.UNKNOWN if OF_A_THING.search(before) else EntityType.PERSON


def _is_meant_as_name(run: CapitalizedRun, after: str) -> bool:
    """Return whether a given name is one here: Will, Mark and May are words too."""
    lists = name_lists()
    first = run.words[0].folded
    if first not in lists.given_words:
        return True
    if len(run.words) > 1:
        return not _is_no_name(run.words[1].folded)
    if run.starts_sentence or first in lists.not_names:
        return PERSON_ACT.match(after) is not None or HUMAN_ACT.match(after) is not None
    return True


def _by_cues(run: CapitalizedRun, before: str, after: str, *, is_german: bool) -> EntityType | None:
    """Return the type of a run that is on no list, by what stands around it."""
    if OF_A_THING.search(before):
        return EntityType.UNKNOWN
    if OF_A_FIRM.search(before) or OF_SOMEONE_FROM.search(before):
        return EntityType.ORGANIZATION
    if OF_A_PLACE.search(before) and not is_german:
        return EntityType.LOCATION
    if EFFORT_AFTER.match(after) and DEFINITE.search(before):
        return EntityType.PROJECT
    return EntityType.PERSON if _is_someone(run, before, after) else None


def _is_someone(run: CapitalizedRun, before: str, after: str) -> bool:
    """Return whether what stands around a run speaks of a person; a common word needs more than a verb."""
    if OF_SOMEONE_NAMED.search(before) or OF_SOMEONE.search(before):
        return True
    is_acting = PERSON_ACT.match(after) is not None and run.words[0].folded != "team"
    if len(run.words) in (2, 3) and is_acting:
        return True
    if len(run.words) > 1 or is_english_word(run.folded) or is_topic_word(run.folded):
        return False
    is_asked = TO_SOMEONE.search(before) or (MAY_SOMEONE.search(before) and SOMEONE_DOES.match(after))
    return bool(HUMAN_ACT.match(after) or is_asked or (run.words[-1].is_owner and THEIRS.match(after)))


_CODE_NAME = lazy(
    r"[a-z](?:Service|Controller|Manager|Factory|Handler|Client|Repository|Exception|Error|Config|Provider|Helper|"
    r"Utils?|Model|View|Test|Builder|Adapter|Impl|Props|State|Context|Request|Response|Dto|DTO|Id|Type|Store|Hook)\b"
)
"""Names in code, such as UserService: they name nothing that is talked about."""


def _unknown(text: str, run: CapitalizedRun) -> EntityType | None:
    """Return that something is named, unless the capital has another reason: a sentence, an abbreviation."""
    written = text[run.start : run.end]
    is_first_word = len(run.words) == 1 and run.starts_sentence
    is_code = any(len(word.folded) > _MAX_UNKNOWN_LETTERS for word in run.words) or any(
        character.isdigit() or character == "_" for character in written
    )
    is_code = is_code or _CODE_NAME.search(written) is not None
    return None if is_first_word or is_code or written.isupper() else EntityType.UNKNOWN
