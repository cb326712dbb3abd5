"""English verbs: past or present, the base form, the third person."""

from __future__ import annotations

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import english, word_set
from engramdb.text.normalize import lazy

_VERBS = english().verbs


_IRREGULAR = _VERBS.irregular.strip().splitlines()
_BASE_OF: dict[str, str] = {
    form: base
    for row in _IRREGULAR
    for base, *forms in [row.split()]
    for group in forms
    for form in group.split("/")
}
_PAST = frozenset(
    form for row in _IRREGULAR for form in row.split()[1].split("/") if form not in ("become", "come", "run")
)
_PARTICIPLES = frozenset(form for row in _IRREGULAR for form in row.split()[2].split("/"))
_VOWEL = lazy("[aeiouy]")
_SAME_IN_PAST = word_set(_VERBS.same_in_past)
_LOOKS_PAST = word_set(_VERBS.looks_past)
UNCHANGED = word_set(
    "can could will would shall should must may might ought was had did can't cannot couldn't won't wouldn't "
    "shouldn't mustn't mightn't hadn't didn't wasn't"
)
_AUXILIARIES = {
    "am": "is",
    "are": "is",
    "have": "has",
    "do": "does",
    "were": "was",
    "don't": "does not",
    "haven't": "has not",
    "aren't": "is not",
    "weren't": "was not",
    "ain't": "is not",
}


def is_past(verb: str) -> bool:
    """Say whether a form is past tense: "moved", "went"."""
    word = verb.lower()
    return (
        word in _PAST
        or word in ("quit", "hurt")
        or (len(word) > 3 and word.endswith("ed") and word not in _LOOKS_PAST)
    )


def is_participle(verb: str) -> bool:
    """Say whether a form can follow "have": "moved", "gone"."""
    word = verb.lower()
    return (
        word in _PARTICIPLES
        or word in _SAME_IN_PAST
        or (len(word) > 3 and word.endswith("ed") and word not in _LOOKS_PAST)
    )


def third_person(verb: str) -> str:
    """Return what stands after a name for what stood after "I": use → uses, am → is, moved → moved."""
    word = verb.lower().replace("’", "'")
    if word in _AUXILIARIES:
        return _AUXILIARIES[word]
    if word in UNCHANGED or is_past(word) or not word.replace("-", "").isalpha():
        return verb
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


@cached(4096)
def bases(verb: str) -> tuple[str, ...]:
    """Return the base forms that a form may come from, the likeliest first: using → use, us."""
    word = verb.lower()
    if word in _BASE_OF:
        return (_BASE_OF[word],)
    found = [word]
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and _VOWEL.search(stem):
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "sl":
                found.append(stem[:-1])
            found += [f"{stem}e", stem]
            if stem.endswith("i"):
                found.append(f"{stem[:-1]}y")
    return tuple(found)
