"""What two statements are to each other as far as their words tell: the same, a contradiction, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from engramdb.erasable_cache import cached
from engramdb.text.changes import WordSort, claim_marks, difference, tells_change, word_sorts
from engramdb.text.grammar import is_exclusive, opens_with_pronoun
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.polarity import deny_each_other
from engramdb.text.relations import read_statement
from engramdb.text.sentences import sentences
from engramdb.text.specifics import swap_specifics
from engramdb.text.technologies import technology_class
from engramdb.text.terms import query_terms, terms
from engramdb.values import Kind, Memory, Voice
from engramdb.values.reading import Force

MAX_REPEATED_WORDS = 20
"""Longer statements are not merged on a judge's word: in chat, warm words all sound the same (lab 36)."""
_NEGATION = lazy(
    r"\b(?:not|no|never|without|stopped|quit|nicht|kein|keine|keinen|pas|nunca|не|нет)\b|n['’]t\b|不|ない",
    re.IGNORECASE,
)
_COMPARING = lazy(
    r"\b(?:over|than|rather than|instead of|before|after|above|below|statt|plutôt que|antes que)\b",
    re.IGNORECASE,
)
"""Words whose two sides are not interchangeable: "tabs over spaces" is not "spaces over tabs"."""
_POSSESSIVE = lazy(r"(?<!\w)(?!(?:it|that|he|she|here|there|let|what|who)['’])(\w+)['’]s\b", re.IGNORECASE)
_NUMBER = lazy(r"(?:(?<![\w)])[-+−<>≤≥]=?)?\d+(?:[.,:]\d+)*(?:\s?%)?")
_CODE_WORD = lazy(r"(?<!\S)(?=\S*[\[\]{}<>=&|~$#@^/\\]|-\w)\S+")
"""Words that no stemmer may take apart: options, paths, operators, extras, tags."""
_COMPOUND = lazy(r"\b(\w+)-\w[\w-]*")
_PURPOSE = lazy(r"\bfor (?:the |our |my )?(\w+)", re.IGNORECASE)
_SAME_OBJECT = 0.6
_SAME_FRAME = 0.7
_SAME_MEANING = 0.85
_SAME_FRAME_SHARE = 0.6
"""Of the older words so many must stand in the newer one: at 0.5 one harmless pair in sixteen passes."""
_MAX_VALUE_WORDS = 3
_LEAST_WORDS = 2
_EMPTY = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "been", "i", "it", "that", "this", "and", "of"}
    | {"veri", "realli", "just", "also", "so", "each", "everi", "still", "too", "inde", "definit"}
    | {"absolut", "simpli", "truli"}
)
"""Stems that add nothing. Before and after, to and from, not and no do."""


class ComparesStatements(Protocol):
    """The part of likeness that settling needs."""

    def between(self, statement: str, others: Sequence[str]) -> list[float]: ...


_MIN_WORDS = 6
"""A shorter answer is about whatever was asked, a shorter aside too vague to doubt anything for."""
_MIN_OWN_TERMS = 2
"""With fewer telling words, what leans on others is about whatever they are about: "yes, the second one"."""
_TOO_SHORT, _BEARS_ABOVE = 7, 0.45
"""Of 465 pairs of unrelated one-line facts 31 were doubted without these, and none with them; of 160 changes
of the open half of evals.beliefs none is lost."""
_DOUBTING = frozenset({Force.HEDGED, Force.QUOTED, Force.REQUEST})


def may_settle(memory: Memory) -> bool:
    """
    Return whether a memory may repeat, replace or contradict another one.

    Not what was supposed, asked, quoted or pasted, nor what was over when it was said ("I lived in Paris in
    2019"), and nothing that only what was said before tells the meaning of.
    """
    return memory.is_believed and _is_of_now(memory) and not _is_open(memory)


def _is_of_now(memory: Memory) -> bool:
    return memory.valid_to is None or memory.valid_to > memory.stated_at


def _is_open(memory: Memory) -> bool:
    """Return whether it is not said what a statement is about, or of whom: "she does", "the blue one"."""
    if memory.statement is not None or not (memory.answers or memory.refers_to):
        return False
    is_brief_answer = memory.answers is not None and len(memory.content.split()) < _MIN_WORDS
    is_vague = len(set(query_terms(memory.content))) < _MIN_OWN_TERMS
    return is_brief_answer or is_vague or opens_with_pronoun(memory.content)


def may_doubt(memory: Memory) -> bool:
    """
    Return whether a memory that settles nothing may still make another one doubtful, where a judge says so.

    What is hedged, reported or asked for in somebody's own words often tells of a change in passing: "the
    airline rebooked us, we fly on the 19th, could be worse". So does what leaves open what it is about: "it's
    eleven people now".
    """
    is_told = memory.force in _DOUBTING and len(memory.content.split()) >= _MIN_WORDS
    is_left_open = memory.is_believed and _is_open(memory)
    return (is_told or is_left_open) and memory.provenance.voice is Voice.OWN and _is_of_now(memory)


def may_bear_on(new: Memory, old: Memory, likeness: float) -> bool:
    """
    Return whether a small network may be believed that one statement makes another one doubtful.

    Of a few words without one in common it knows too little: "I switched to helix" ended "I'm at Globex now".
    """
    if likeness >= _BEARS_ABOVE or len(new.told.split()) > _TOO_SHORT:
        return True
    return not set(query_terms(new.told)).isdisjoint(query_terms(old.told))


def understood(memory: Memory) -> Memory:
    """
    Return a memory that says what it denies and replaces.

    Admission stores both; only what an older version has stored is read from its words.
    """
    if memory.is_negated is not None:
        return memory
    found = read_statement(memory.told, speaker=memory.provenance.speaker)
    if found is None:
        return memory.evolve(is_negated=is_negation(memory.told))
    return memory.evolve(is_negated=found.is_negated, replaces=found.replaces)


def is_change(memory: Memory) -> bool:
    """Return whether it says that something holds from now on that did not before."""
    return memory.replaces is not None or tells_change(memory.told)


@cached(512)  # for the batch at hand
def is_negation(text: str) -> bool:
    """Return whether the text denies something."""
    return bool(_NEGATION.search(text))


def contradicts(new: Memory, old: Memory) -> bool:
    """Return whether a stored memory cannot hold beside an older one."""
    return conflict(understood(new), understood(old)) is not None


def exclude_each_other(one: Memory, other: Memory) -> bool:
    """Return whether two stored memories cannot both hold, whichever is the newer one."""
    return contradicts(one, other) or contradicts(other, one)


def conflict(new: Memory, old: Memory) -> str | None:
    """Return in a few words why the new statement contradicts the old one, or None."""
    if not may_share_subject(new, old) or _possessors(new) != _possessors(old):
        return None
    if _have_other_purposes(new, old):
        return None
    if new.replaces is not None and _is_about(old, new.replaces):
        return f"replaced {old.predicate or 'it'}"
    if new.is_negated == old.is_negated and is_reversed(new.told, old.told):
        return "the other way round"
    if new.predicate and new.predicate == old.predicate:
        return _same_relation(new, old)
    return _same_frame(new, old)


def _have_other_purposes(new: Memory, old: Memory) -> bool:
    """Return whether both say what something is for, and not the same: vim for Python, IntelliJ for Java."""
    mine, theirs = _purposes(new.told), _purposes(old.told)
    return bool(mine) and bool(theirs) and mine.isdisjoint(theirs)


@cached(512)
def _purposes(text: str) -> frozenset[str]:
    return frozenset(terms(" ".join(_PURPOSE.findall(text))))


def is_reversed(mine: str, theirs: str) -> bool:
    """Return whether two statements compare the same things the other way round."""
    compared, other = _sides(mine), _sides(theirs)
    if compared is None or other is None or compared[0] != other[0]:
        return False
    (_, left, right), (_, their_left, their_right) = compared, other
    swapped = bool(left & their_right - right) and bool(right & their_left - left)
    return swapped and left | right == their_left | their_right


@cached(512)  # a statement is held against each of its neighbors, and a neighbor against many
def _sides(text: str) -> tuple[str, frozenset[str], frozenset[str]] | None:
    """Return the word by which a statement compares two things, and the terms on either side of it."""
    found = _COMPARING.search(text)
    if found is None:
        return None
    before, after = text[: found.start()], text[found.end() :]
    return found[0].casefold(), frozenset(terms(before)), frozenset(terms(after))


def is_single(statement: Memory) -> bool:
    """Return whether it states something of which a subject has one only: a home, an employer."""
    return not statement.is_negated and is_exclusive(statement.predicate or "")


def same_relation(new: Memory, old: Memory) -> bool:
    """Return whether both name the same single object of the same subject: lives in Paris, moved to Paris."""
    if old.is_negated or not is_single(new):
        return False
    if new.predicate != old.predicate or not new.object or not old.object:
        return False
    same_subject = _subject(new.subject or "") == _subject(old.subject or "")
    same_object = _plain(new.object) == _plain(old.object) and not _claim_otherwise(new, old)
    return same_subject and same_object and _days_in(new, new.object) == _days_in(old, old.object)


def _claim_otherwise(new: Memory, old: Memory) -> bool:
    """Return whether one of two statements tells of what was, is at times, or is planned, the other not."""
    return claim_marks(new.told) != claim_marks(old.told)


def _days_in(memory: Memory, words: str) -> list[datetime]:
    """Return when the relative times are that these words of a memory name: "on Friday" is not one day."""
    return [one.start for one in memory.moments if one.is_relative and one.words in words]


def same_slot(new: Memory, old: Memory) -> bool:
    """Return whether both fill the one place that a subject has for such a thing, with whatever."""
    is_one = new.predicate is not None and new.predicate == old.predicate and is_exclusive(new.predicate)
    return is_one and new.subject is not None and old.subject is not None and may_share_subject(new, old)


def same_specifics(new: Memory, old: Memory, likeness: ComparesStatements) -> bool:
    """
    Return whether the old statement may stand for the new one: nothing in the new one would be lost.

    Two statements may sound alike and both be true, "has a dog" and "has a cat", and no similarity tells them
    apart from a paraphrase. So numbers, names and negation must agree, and words that only the new one has
    must mean the same as those that only the old one has.
    """
    mine, theirs = new.told, old.told
    if new.is_negated != old.is_negated or new.days_meant != old.days_meant or _claim_otherwise(new, old):
        return False
    if _numbers(mine) != _numbers(theirs) or not name_same_literals(mine, theirs):
        return False
    if not _names(mine) <= _names(theirs) or is_reversed(mine, theirs):
        return False
    return _adds_nothing(mine, theirs, likeness)


def may_be_same(new: Memory, old: Memory) -> bool:
    """
    Return whether a judge may be believed that both are the same.

    Only of short ones that deny nothing of each other, mean no other days, and of which not each names what
    the other does not.
    """
    mine, theirs = new.told, old.told
    if not (_is_one_short_sentence(mine) and _is_one_short_sentence(theirs)):
        return False
    if deny_each_other(mine, theirs) or _claim_otherwise(new, old) or is_reversed(mine, theirs):
        return False
    return not _mean_other_days(new, old) and not swap_specifics(mine, theirs)


def _is_one_short_sentence(text: str) -> bool:
    """Return whether it is; a question and its answer are one: "My dotfiles? In a private repo."."""
    said = sentences(text)
    is_answered = len(said) == 2 and said[0].rstrip().endswith("?")
    return len(text.split()) <= MAX_REPEATED_WORDS and (len(said) == 1 or is_answered)


def _mean_other_days(new: Memory, old: Memory) -> bool:
    """Return whether both name times of which none overlap: "on Tuesday", said in another week."""
    if not new.moments or not old.moments:
        return False
    return not any(
        one.start < other.end and other.start < one.end for one in new.moments for other in old.moments
    )


def _adds_nothing(mine: str, theirs: str, likeness: ComparesStatements) -> bool:
    my_words, their_words = ([one for one in terms(text) if one not in _EMPTY] for text in (mine, theirs))
    added = [word for word in my_words if word not in their_words]
    dropped = [word for word in their_words if word not in my_words]
    if not added or not dropped:
        return added == dropped
    (alike,) = likeness.between(" ".join(added), [" ".join(dropped)])
    return alike > _SAME_MEANING


def name_same_literals(mine: str, theirs: str) -> bool:
    """Return whether two statements have the same signs before numbers, and the same options and paths."""
    is_same = _signed(mine) == _signed(theirs) and _code_words(mine) == _code_words(theirs)
    return is_same and not _extends_word(mine, theirs) and not _extends_word(theirs, mine)


def _extends_word(one: str, other: str) -> bool:
    """Return whether a text has as part of a word what the other one has alone: `deploy-all` and `deploy`."""
    words = set(other.split())
    compounds = (match for match in _COMPOUND.finditer(one) if match[1] in words and match[0] not in words)
    return any(not words.issuperset(match[0].split("-")) for match in compounds)


def _signed(text: str) -> list[str]:
    return [one for one in _numbers(text) if not (one[0].isdigit() and one[-1].isdigit())]


def _code_words(text: str) -> set[str]:
    return {one.rstrip(".,;:!?") for one in _CODE_WORD.findall(text)}


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def _names(text: str) -> set[str]:
    """Return the capitalised words that do not begin the text, folded, and known technologies."""
    words = re.findall(r"[\w.+#-]+", text)
    return {
        normalize_text(word).removesuffix("'s")
        for place, word in enumerate(words)
        if (place and word[0].isupper()) or technology_class(word)
    }


def _same_relation(new: Memory, old: Memory) -> str | None:
    mine, theirs = new.object, old.object
    if mine is None or theirs is None:
        return None
    is_same_object = _overlap(mine, theirs) >= _SAME_OBJECT and _days_in(new, mine) == _days_in(old, theirs)
    is_same_object = is_same_object and _agree(mine, theirs)
    if new.is_negated != old.is_negated:
        return "denied" if is_same_object else None
    if is_same_object or new.is_negated:
        return None
    return _another_object(new, mine, theirs)


def _another_object(new: Memory, mine: str, theirs: str) -> str | None:
    """Say why the relation cannot hold for both objects, if it cannot."""
    if is_exclusive(new.predicate or "") and _are_alike(mine, theirs):
        return f"another {new.predicate}"
    kind = technology_class(mine)
    if is_change(new) and kind is not None and kind == technology_class(theirs):
        return f"changed {kind}"
    return None


def _possessors(memory: Memory) -> frozenset[str]:
    """Return whose things a statement speaks of, beside its subject: my dog's name is not my name."""
    owners = _owners(memory.told)
    return owners.difference(terms(memory.subject or "")) if owners else owners


@cached(512)
def _owners(text: str) -> frozenset[str]:
    return frozenset(term for word in _POSSESSIVE.findall(text) for term in terms(word))


def _values(words: str) -> dict[str, WordSort]:
    sorts = word_sorts(words, is_sentence=False)
    return {term: sort for term, sort in sorts.items() if sort is not WordSort.WORD}


def _agree(mine: str, theirs: str) -> bool:
    """Return whether the names, numbers and days of one are those of the other, or some of them."""
    one, two = _values(mine).keys(), _values(theirs).keys()
    return one <= two or two <= one


def _are_alike(mine: str, theirs: str) -> bool:
    """Return whether two objects are of one sort: a flat is no other Berlin, a holiday no other Alice."""
    one, two = set(_values(mine).values()), set(_values(theirs).values())
    return one == two or bool(one & two)


def changes_value(new: Memory, old: Memory) -> bool:
    """
    Return whether the newer one tells of a change and says the older one with another value.

    Lookalikes do so too ("the rate limit for free users is now 20"), so it is ground for a doubt alone.
    """
    if not is_change(new) or not may_share_subject(new, old):
        return False
    if len(word_sorts(old.told).keys() - word_sorts(new.told).keys()) > _MAX_VALUE_WORDS:
        return False
    found = difference(old.told, new.told)
    is_frame = bool(found.shared) and found.shared_share >= _SAME_FRAME_SHARE
    return is_frame and found.swaps_value and len(found.only_new) <= len(found.only_old) + 2


def _same_frame(new: Memory, old: Memory) -> str | None:
    """Compare statements without a known relation: only a denial of the same words is a contradiction."""
    if new.kind is Kind.EPISODE or old.kind is Kind.EPISODE:
        return None  # things that happened do not contradict one another
    if new.is_negated == old.is_negated:
        return None
    words = [set(query_terms(one.told)) for one in (new, old)]
    if min(len(each) for each in words) < _LEAST_WORDS:
        return None
    is_denied = _overlap(new.told, old.told) >= _SAME_FRAME and deny_each_other(new.told, old.told)
    return "denied" if is_denied else None


def may_share_subject(new: Memory, old: Memory) -> bool:
    """Return whether two statements may be about the same: one subject, or unknown ones of one speaker."""
    if new.subject is None or old.subject is None:
        return new.provenance.speaker == old.provenance.speaker
    return new.subject == old.subject or _subject(new.subject) == _subject(old.subject)


_plain = cached(512)(normalize_text)


def _subject(words: str) -> str:
    """Return the name of a subject: an agent's "the user" is the user."""
    return _plain(words).removeprefix("the ")


def _is_about(memory: Memory, thing: str) -> bool:
    """Return whether the memory's object, or else its content, names the thing."""
    wanted = set(terms(thing))
    return bool(wanted) and wanted <= set(terms(memory.object or memory.told))


def _overlap(first: str, second: str) -> float:
    one, two = set(terms(first)), set(terms(second))
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0
