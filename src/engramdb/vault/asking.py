"""
Tell whether a question asks for a secret, and which memory is about that very thing.

What people call their secrets and what they do with one is in `text/data/secrets.toml`. Naming one is not
enough: the kinds must be the same and the other words must fit, so that who asks for the alarm code is not
shown the PIN of the bank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.pii import CONFIDENTIAL, PiiScan
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values.memory import Memory, MemoryId, SecurityTier
from engramdb.values.privacy import PiiKind, PiiSpan
from engramdb.vault.masking import mask_found, mask_memory, scan_memory

FITS_FROM: Final = 0.5
"""The share of the question's other words that a memory must say;"""
FITS_ALONE_FROM: Final = 0.3
"""or this share, where no other secret of the kind says as much."""
_OF_KIND: Final = {
    PiiKind.SSN: frozenset({"ssn"}),
    PiiKind.GOVERNMENT_ID: frozenset({"ssn", "passport", "licence", "identity", "tax", "insurance"}),
    PiiKind.PAYMENT_CARD: frozenset({"card"}),
    PiiKind.BANK_ACCOUNT: frozenset({"account"}),
    PiiKind.CREDENTIAL: frozenset({"password", "code", "key", "seed"}),
}
"""What each kind that is found may be called; the words around it say which."""
_CREDENTIALS: Final = _OF_KIND[PiiKind.CREDENTIAL]
"""Kinds that are asked for by a word of their own; beside one, "card" or "account" says only whose it is."""
MAX_CHARACTERS_BEFORE: Final = 80
"""How far before a name the word is looked for that says which one is meant."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OWNER = re.compile(r"(?<![\w-])([^\W_][\w-]{0,40}?)(?:'s|(?<=s)')\s(?=(\w{1,40}))")


class AskedSecret(Struct, frozen=True):
    """What a question asks for: the kinds that it names, and what it says of them."""

    kinds: frozenset[str]
    words: frozenset[str]
    """What else it says."""
    nearest: frozenset[str] = frozenset()
    """One of these must fit: alarm in "the alarm code"."""
    owners: frozenset[str] = frozenset()
    """One of these must fit, too: Nora in "the PIN of Nora's card"."""
    names: frozenset[str] = frozenset()
    """The words of the names themselves; between secrets that fit as well, they decide."""
    is_own: bool = False
    """Whether it is the asker's: "my PIN", and not Nora's."""


class _Named(Struct, frozen=True):
    """One name of a secret in a text."""

    kind: str
    name: str
    nearest: frozenset[str]
    is_thing: bool = False
    """Whether what has this name is something besides: a passport;"""
    is_kept_somewhere: bool = False
    """or has a secret place: a spare key."""


class _Fit(NamedTuple):
    """How well a secret fits what is asked for; where the first is equal, the next decides."""

    share: float = 0.0
    """Of the words of the question, those that are said of it."""
    names: int = 0
    """How many words of its name are,"""
    own: int = 0
    """and of all of these, how many its own sentence says; "my" is one of them."""


class _Names(Struct, frozen=True):
    """The names of secrets by kind, the longest first, and what shows that a question asks for no value."""

    kinds: tuple[tuple[str, str, re.Pattern[str]], ...]
    things: frozenset[str]
    numbers: re.Pattern[str]
    """The words by which its number is meant."""
    own: re.Pattern[str]
    place: re.Pattern[str]
    kept_somewhere: frozenset[str]
    no_request: re.Pattern[str]
    ignored: frozenset[str]


@cache
def _names() -> _Names:
    table = registry("secrets")
    named = [(name, kind) for kind, names in table["kinds"].items() for name in names]
    named.sort(key=lambda pair: len(pair[0]), reverse=True)
    plain = ((_plain(name), kind) for name, kind in named)
    patterns = tuple((name, kind, re.compile(_pattern(name, table["after"]))) for name, kind in plain)
    return _Names(
        kinds=patterns,
        things=frozenset(map(_plain, table["things"])),
        numbers=re.compile(_one_of(table["numbers"])),
        own=re.compile(_one_of(table["own"])),
        place=re.compile(_one_of(table["place"])),
        kept_somewhere=frozenset(map(_plain, table["kept_somewhere"])),
        no_request=re.compile(_one_of(table["no_request"])),
        ignored=STOP_WORDS.union(*(query_terms(word) for word in table["ignored"])),
    )


def _one_of(words: Iterable[str]) -> str:
    longest_first = sorted((re.escape(_bare(one)) for one in words), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)"


def _pattern(name: str, after: Sequence[str]) -> str:
    if not name.isascii() and not any(one in name for one in " -") and _is_unspaced(name):
        return re.escape(name)
    before = r"(?<![^\W_])" if len(name) < 4 else r"(?:(?<![^\W_])|(?P<compound>(?<![^\W_])[^\W_]{3,})-?)"
    following = "|".join(re.escape(one) for one in after)
    return rf"{before}{re.escape(name)}(?:s|es|n|en)?(?![^\W_])(?!\s(?:{following}))"


def _is_unspaced(name: str) -> bool:
    return any(
        unicodedata.name(one, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL")) for one in name
    )


@cache
def _same() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((one, re.compile(_one_of(others))) for one, others in registry("secrets")["same"].items())


def _bare(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _plain(text: str) -> str:
    plain = _bare(text)
    for one, others in _same():
        plain = others.sub(one, plain)
    return plain


def asked_secret(question: str) -> AskedSecret | None:
    """Return the secret that a question asks for by name, or None where it asks for none."""
    plain = _plain(question)
    if _names().no_request.search(plain):
        return None
    named, rest = _named_in(plain)
    if _names().place.search(plain):
        named = [one for one in named if one.is_kept_somewhere]
    is_number = _names().numbers.search(plain) is not None
    own = [one for one in named if one.kind in _CREDENTIALS] or [
        one for one in named if is_number or not one.is_thing
    ]
    if not own:
        return None
    whose = " ".join(one.name for one in named if one not in own)
    words = frozenset(query_terms(f"{rest} {whose}")) - _names().ignored
    return AskedSecret(
        kinds=frozenset(one.kind for one in own),
        words=words,
        nearest=frozenset(word for one in own for word in one.nearest) & words,
        owners=_owners(rest) & words,
        names=frozenset(term for one in own for term in query_terms(one.name)) - _names().ignored,
        is_own=_names().own.search(plain) is not None,
    )


def _owners(plain: str) -> frozenset[str]:
    """Return the words for those who are said to own something; "it's" and "Bob's here" own nothing."""
    found = (match for match in _OWNER.finditer(plain) if not STOP_WORDS & set(match.groups()))
    return frozenset(term for match in found for term in query_terms(match[1])) - _names().ignored


def _named_in(plain: str) -> tuple[list[_Named], str]:
    """Return the secrets that a text names, and the text without their names."""
    found: list[_Named] = []
    rest = plain
    for name, kind, pattern in _names().kinds:
        if name not in rest:
            continue
        for match in pattern.finditer(rest):
            compound = match.groupdict().get("compound")
            near = rest[max(0, match.start() - MAX_CHARACTERS_BEFORE) : match.start()]
            before = _WORD.findall(near)[-1:] if compound is None else [compound]
            nearest = frozenset(term for word in before for term in query_terms(word)) - _names().ignored
            said = match[0].removeprefix(compound or "")
            found.append(
                _Named(
                    kind=kind,
                    name=said,
                    nearest=nearest,
                    is_thing=name in _names().things,
                    is_kept_somewhere=name in _names().kept_somewhere,
                )
            )
        rest = pattern.sub(lambda one: f" {one.groupdict().get('compound') or ''} ", rest)
    return found, rest


def _kinds_of(memory: Memory, shown: Memory) -> frozenset[str]:
    """Return the kinds of secret that a memory holds: by what was found, and by what its words call it."""
    found = scan_memory(memory).kinds
    named = {one.kind for one in _named_in(_plain(_said(shown)))[0]}
    possible = [_OF_KIND[kind] for kind in found if kind in _OF_KIND]
    if not possible:
        return frozenset(named or _CREDENTIALS)
    return frozenset(kind for kinds in possible for kind in (kinds & named or kinds))


def _is_named(memory: Memory, shown: Memory) -> bool:
    """Return whether it is known what sort of secret a memory holds."""
    kinds = scan_memory(memory).kinds & CONFIDENTIAL
    told = _plain(" ".join([_said(shown), *shown.refers_to]))
    return bool(kinds - {PiiKind.CREDENTIAL}) or bool(_named_in(told)[0])


def _said(shown: Memory) -> str:
    return " ".join(part for part in (shown.content, shown.answers, shown.statement) if part)


def secrets_asked_for(question: str, memories: Sequence[Memory]) -> frozenset[MemoryId]:
    """Return which confidential memories are about the very secret that a question names."""
    held = [one for one in memories if one.security is SecurityTier.CONFIDENTIAL]
    asked = asked_secret(question) if held else None
    if asked is None:
        return frozenset()
    fits: dict[MemoryId, _Fit] = {}
    for one in held:
        shown = mask_memory(one)
        is_alike = asked.kinds & _kinds_of(one, shown) and not _is_anothers(asked, shown)
        # What nothing calls by a name is no PIN because somebody asks for one: it has to share a word.
        if is_alike and (asked.words or _is_named(one, shown)):
            fits[one.id] = _fit(asked, shown)
    best = max(fits.values(), default=_Fit())
    chosen = frozenset(memory_id for memory_id, fit in fits.items() if fit == best)
    if not asked.words:  # "what is my PIN?" says no more than the kind
        return chosen if len(chosen) == 1 else frozenset()
    is_enough = best.share >= FITS_FROM or (best.share >= FITS_ALONE_FROM and len(chosen) == 1)
    return chosen if is_enough else frozenset()


def _is_anothers(asked: AskedSecret, shown: Memory) -> bool:
    """Return whether nobody else's secret is asked for, and this one is said to be: Nora's, and not "my"."""
    said = _plain(_said(shown))
    is_open = asked.is_own or not asked.words
    return is_open and not _names().own.search(said) and bool(_owners(said) - asked.words)


def _fit(asked: AskedSecret, shown: Memory) -> _Fit:
    """
    Return how well a secret fits what is asked for.

    Nothing fits where the word right before the name or the owner is missing: no alarm, no alarm code. The
    sentence that a memory leans on counts where its own words do not say which secret it is.
    """
    said = _plain(_said(shown))
    own = set(query_terms(f"{said} {_plain(shown.provenance.speaker or '')}"))
    is_told = bool(_owners(said)) or any(one.nearest for one in _named_in(said)[0])
    told = own if is_told else own | set(query_terms(_plain(" ".join(shown.refers_to))))
    if any(must and not must & told for must in (asked.nearest, asked.owners)):
        return _Fit()
    share = len(asked.words & told) / len(asked.words) if asked.words else 1.0
    is_own = asked.is_own and _names().own.search(said) is not None
    return _Fit(share, len(asked.names & told), len((asked.words | asked.names) & own) + is_own)


def shown_to(question: str, memory: Memory) -> Memory:
    """Return a memory with the secret that a question asks for; of several in it, those that fit best."""
    found = scan_memory(memory)
    secrets = [one for one in found.spans if one.kind in CONFIDENTIAL]
    asked = asked_secret(question)
    if (
        asked is None
        or not secrets
        or any(one.kind in CONFIDENTIAL for one in found.findings if not one.is_located)
    ):
        return memory.unmarked
    groups = list(_groups(memory.content, secrets))
    fits = [_fit_of_part(asked, words) for words, _ in groups]
    hidden = [span for fit, (_, spans) in zip(fits, groups, strict=True) if fit < max(fits) for span in spans]
    if not hidden:
        return memory.unmarked
    return mask_memory(memory).evolve(content=mask_found(memory.content, PiiScan.of(hidden)))


def _groups(content: str, secrets: Sequence[PiiSpan]) -> Iterator[tuple[str, list[PiiSpan]]]:
    """Yield the words before each secret of a text, and its parts: no word stands between those."""
    begin, parts = 0, [secrets[0]]
    for one in secrets[1:]:
        between = content[parts[-1].end : one.start]
        if _WORD.search(between):
            yield content[begin : parts[0].start], parts
            begin, parts = parts[-1].end, [one]
        else:
            parts.append(one)
    yield content[begin : parts[0].start], parts


def _fit_of_part(asked: AskedSecret, words: str) -> tuple[bool, int]:
    """Return whether words name a secret of the kind that is asked for, and how much they say of it."""
    plain = _plain(words)
    is_alike = any(one.kind in asked.kinds for one in _named_in(plain)[0])
    return is_alike, len((asked.words | asked.names) & set(query_terms(plain)))
