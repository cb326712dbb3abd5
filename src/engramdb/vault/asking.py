"""
Tell whether a question asks for a secret, and which memory is about that very thing.

What people call their secrets and what they do with one is in `text/data/secrets.toml`. Naming one is not
enough: the kinds must be the same and the other words must fit, so that who asks for the alarm code is not
shown the PIN of the bank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.pii import CONFIDENTIAL
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values.memory import Memory, MemoryId, SecurityTier
from engramdb.values.privacy import PiiKind
from engramdb.vault.masking import mask_memory, scan_memory

FITS_FROM: Final = 0.5
"""The share of the question's other words that a memory must say;"""
FITS_ALONE_FROM: Final = 0.3
"""or this share, where no other secret of the kind says as much;"""
FITS_UNNAMED_FROM: Final = 0.6
"""or this one, where the question names no secret: "how do I open the old safe?"."""
MAX_UNNAMED: Final = 3
"""How many secrets of a kind are shown to "what is my PIN?", which says no more than the kind."""
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
MAX_WORDS_BETWEEN: Final = 8
"""How far apart the question word and the deed may stand: "what does the plumber have to press"."""
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OWNER = re.compile(r"([^\W_][\w-]*?)(?:'s|(?<=s)')\s(?=(\w+))")


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
    is_named: bool = True
    """Whether the secret has a name, and not only a use: "what do I press at the gate?"."""


class _Named(Struct, frozen=True):
    """One name of a secret in a text."""

    kind: str
    name: str
    nearest: frozenset[str]


class _Names(Struct, frozen=True):
    """The names of secrets by kind, the longest first, and what shows that a question asks for no value."""

    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    uses: tuple[tuple[frozenset[str], re.Pattern[str]], ...]
    """What is done with a secret, and the kinds of which that may be."""
    no_request: re.Pattern[str]
    ignored: frozenset[str]


@cache
def _names() -> _Names:
    table = registry("secrets")
    named = [(name, kind) for kind, names in table["kinds"].items() for name in names]
    named.sort(key=lambda pair: len(pair[0]), reverse=True)
    patterns = tuple((kind, re.compile(_pattern(_plain(name), table["after"]))) for name, kind in named)
    vague = _one_of(table["vague"])
    return _Names(
        kinds=patterns,
        uses=tuple((frozenset(one["kinds"]), _use(one["asks"], one["does"], vague)) for one in table["uses"]),
        no_request=re.compile(_one_of(table["no_request"])),
        ignored=frozenset(term for word in table["ignored"] for term in query_terms(word)),
    )


def _one_of(words: Iterable[str]) -> str:
    longest_first = sorted((re.escape(_plain(one)) for one in words), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)"


def _use(asks: Sequence[str], does: Sequence[str], vague: str) -> re.Pattern[str]:
    """Return what finds a question word, a deed and a particular thing; "how do I open a shop?" has none."""
    between = rf"(?:'\w+)?(?P<between>(?:\s[\w'-]+){{0,{MAX_WORDS_BETWEEN}}}?)"
    return re.compile(rf"{_one_of(asks)}{between}\s{_one_of(does)}(?!\s{vague})(?P<after>[^.?!]*)")


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


def _plain(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    for one, others in registry("secrets")["same"].items():
        for other in others:
            plain = plain.replace(other, one)
    return plain


def asked_secret(question: str) -> AskedSecret | None:
    """Return the secret that a question asks for by name or by its use, or None where it asks for none."""
    plain = _plain(question)
    if _names().no_request.search(plain):
        return None
    named, rest = _named_in(plain)
    own = [one for one in named if one.kind in _CREDENTIALS] or named
    if not own:
        return _asked_by_use(plain)
    whose = " ".join(one.name for one in named if one not in own)
    words = frozenset(query_terms(f"{rest} {whose}")) - _names().ignored
    return AskedSecret(
        kinds=frozenset(one.kind for one in own),
        words=words,
        nearest=frozenset(word for one in own for word in one.nearest) & words,
        owners=_owners(rest) & words,
        names=frozenset(term for one in own for term in query_terms(one.name)) - _names().ignored,
    )


def _owners(plain: str) -> frozenset[str]:
    """Return the words for those who are said to own something; "what's" and "Bob's here" own nothing."""
    found = (match for match in _OWNER.finditer(plain) if match[2] not in STOP_WORDS)
    return frozenset(term for match in found for term in query_terms(match[1])) - _names().ignored


def _asked_by_use(plain: str) -> AskedSecret | None:
    """Return what is asked for by what is done with it: "what do I press at the gate?"."""
    for kinds, use in _names().uses:
        found = use.search(plain)
        words = frozenset(query_terms(f"{found['between']} {found['after']}")) if found else frozenset()
        if words := words - _names().ignored:
            return AskedSecret(kinds=kinds, words=words, is_named=False)
    return None


def _named_in(plain: str) -> tuple[list[_Named], str]:
    """Return the secrets that a text names, and the text without their names."""
    found: list[_Named] = []
    rest = plain
    for kind, pattern in _names().kinds:
        for match in pattern.finditer(rest):
            compound = match.groupdict().get("compound")
            before = _WORD.findall(rest[: match.start()])[-1:] if compound is None else [compound]
            nearest = frozenset(term for word in before for term in query_terms(word))
            found.append(_Named(kind, match[0].removeprefix(compound or ""), nearest))
        rest = pattern.sub(lambda one: f" {one.groupdict().get('compound') or ''} ", rest)
    return found, rest


def secret_kinds(memory: Memory) -> frozenset[str]:
    """Return the kinds of secret that a memory holds: by what was found, and by what its words call it."""
    found = scan_memory(memory).kinds
    named = {one.kind for one in _named_in(_plain(_told(memory)))[0]}
    possible = [_OF_KIND[kind] for kind in found if kind in _OF_KIND]
    if not possible:
        return frozenset(named or _CREDENTIALS)
    return frozenset(kind for kinds in possible for kind in (kinds & named or kinds))


def _is_named(memory: Memory) -> bool:
    """Return whether it is known what sort of secret a memory holds."""
    kinds = scan_memory(memory).kinds & CONFIDENTIAL
    return bool(kinds - {PiiKind.CREDENTIAL}) or bool(_named_in(_plain(_told(memory)))[0])


def _told(memory: Memory) -> str:
    shown = mask_memory(memory)
    return " ".join(
        part for part in (shown.content, shown.answers, shown.statement, *shown.refers_to) if part
    )


def secrets_asked_for(question: str, memories: Sequence[Memory]) -> frozenset[MemoryId]:
    """Return which confidential memories, best first, are about the very secret that a question names."""
    held = [one for one in memories if one.security is SecurityTier.CONFIDENTIAL]
    asked = asked_secret(question) if held else None
    if asked is None:
        return frozenset()
    alike = [one for one in held if asked.kinds & secret_kinds(one)]
    fits = {one.id: _fit(asked, one) for one in alike}
    # What nothing calls by a name is no PIN because somebody asks for one: it has to share a word.
    fits = {one.id: fits[one.id] for one in alike if fits[one.id][1] or asked.words or _is_named(one)}
    best = max(fits.values(), default=(0.0, 0))
    chosen = [memory_id for memory_id, fit in fits.items() if fit == best]
    if not asked.words:
        return frozenset(chosen[:MAX_UNNAMED])
    if not asked.is_named:
        return frozenset(chosen) if len(chosen) == 1 and best[0] >= FITS_UNNAMED_FROM else frozenset()
    is_enough = best[0] >= FITS_FROM or (best[0] >= FITS_ALONE_FROM and len(chosen) == 1)
    return frozenset(chosen) if is_enough else frozenset()


def _fit(asked: AskedSecret, memory: Memory) -> tuple[float, int]:
    """
    Return the share of the question's words that a memory says, and how many of the name of the secret.

    Nothing fits where the word right before the name or the owner is missing: no alarm, no alarm code.
    """
    told = set(query_terms(_plain(_told(memory))))
    if memory.provenance.speaker:
        told |= set(query_terms(memory.provenance.speaker))
    if any(must and not must & told for must in (asked.nearest, asked.owners)):
        return 0.0, 0
    share = len(asked.words & told) / len(asked.words) if asked.words else 1.0
    return share, len(asked.names & told)
