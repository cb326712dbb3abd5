"""
Tell whether a question asks for a secret, which one, and whose.

What people call their secrets and what they do with one is in `text/data/secrets.toml`. Who speaks of a
secret asks for none: whether the gate was open, who knows the code, how a password is changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.terms import STOP_WORDS, query_terms
from engramdb.values.privacy import PiiKind

NAMES_OF_KIND: Final = {
    PiiKind.SSN: frozenset({"ssn"}),
    PiiKind.GOVERNMENT_ID: frozenset({"ssn", "passport", "licence", "identity", "tax", "insurance"}),
    PiiKind.PAYMENT_CARD: frozenset({"card"}),
    PiiKind.BANK_ACCOUNT: frozenset({"account"}),
    PiiKind.CREDENTIAL: frozenset({"password", "code", "key", "seed"}),
}
"""What each kind that is found may be called; the words around it say which."""
CREDENTIALS: Final = NAMES_OF_KIND[PiiKind.CREDENTIAL]
"""Kinds that are asked for by a word of their own; beside one, "card" or "account" says only whose it is."""
_KINDS: Final = frozenset().union(*NAMES_OF_KIND.values())
_SENTENCE: Final = re.compile(r"(?<=[.!?;:])\s+")
_OWNER = re.compile(r"(?<![\w-])([^\W_][\w-]{0,40}?)(?:'s|(?<=s)')\s(?=(\w{1,40}))")


class AskedSecret(Struct, frozen=True):
    """What a question asks for: the kinds that it names, and what it says of them."""

    kinds: frozenset[str]
    words: frozenset[str]
    """What else it says."""
    owners: frozenset[str] = frozenset()
    """One of these must fit: Nora in "the PIN of Nora's card"."""
    names: frozenset[str] = frozenset()
    """The words of the names themselves; between secrets that fit as well, they decide."""
    is_own: bool = False
    """Whether it is the asker's: "my PIN", and not Nora's."""


class NamedSecret(Struct, frozen=True):
    """One name of a secret in a text."""

    kind: str
    name: str
    is_thing: bool = False
    """Whether what has this name is something besides: a passport;"""
    is_kept_somewhere: bool = False
    """or has a secret place: a spare key."""


class SecretNames(Struct, frozen=True):
    """The names of secrets by kind, the longest first, and what shows that a question asks for no value."""

    kinds: tuple[tuple[str, str], ...]
    after: tuple[str, ...]
    """Words that make a name the name of something else."""
    things: frozenset[str]
    numbers: re.Pattern[str]
    """The words by which its number is meant."""
    own: re.Pattern[str]
    place: re.Pattern[str]
    kept_somewhere: frozenset[str]
    no_request: re.Pattern[str]
    about: re.Pattern[str]
    """Beginnings of questions for something else: "who", "does","""
    asks_whether: re.Pattern[str]
    """unless they go on like this: "do you know"."""
    uses: re.Pattern[str]
    """What is done with a secret: "what do I press"."""
    ignored: frozenset[str]


@cache
def secret_names() -> SecretNames:
    table = registry("secrets")
    named = [(name, kind) for kind, names in table["kinds"].items() for name in names]
    named.sort(key=lambda pair: len(pair[0]), reverse=True)
    return SecretNames(
        kinds=tuple((plain_words(name), kind) for name, kind in named),
        after=tuple(table["after"]),
        things=frozenset(map(plain_words, table["things"])),
        numbers=re.compile(_one_of(table["numbers"])),
        own=re.compile(_one_of(table["own"])),
        place=re.compile(_one_of(table["place"])),
        kept_somewhere=frozenset(map(plain_words, table["kept_somewhere"])),
        no_request=re.compile(_one_of(table["no_request"])),
        about=re.compile(rf"(?:^|,)\s*(?:{'|'.join(map(re.escape, table['about']))})(?!\w)"),
        asks_whether=re.compile(_one_of(table["asks_whether"])),
        uses=re.compile("|".join(map(_phrase, table["uses"]))),
        ignored=STOP_WORDS.union(*(query_terms(word) for word in table["ignored"])),
    )


def _one_of(words: Iterable[str]) -> str:
    longest_first = sorted((re.escape(_bare(one)) for one in words), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)"


def _phrase(words: str) -> str:
    """Return the pattern of a phrase, in each place of which one of several words stands: "how do|can i"."""
    return rf"(?<!\w){' '.join(f'(?:{one})' for one in words.split())}(?!\w)"


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name, compiled when a text first holds it."""
    if not name.isascii() and not any(one in name for one in " -") and _is_unspaced(name):
        return re.compile(re.escape(name))
    before = r"(?<![^\W_])" if len(name) < 4 else r"(?:(?<![^\W_])|(?P<compound>(?<![^\W_])[^\W_]{3,})-?)"
    following = "|".join(re.escape(one) for one in secret_names().after)
    return re.compile(rf"{before}{re.escape(name)}(?:s|es|n|en)?(?![^\W_])(?!\s(?:{following}))")


def _is_unspaced(name: str) -> bool:
    return any(
        unicodedata.name(one, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL")) for one in name
    )


@cache
def _same() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((one, re.compile(_one_of(others))) for one, others in registry("secrets")["same"].items())


def _bare(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def plain_words(text: str) -> str:
    plain = _bare(text)
    for one, others in _same():
        plain = others.sub(one, plain)
    return plain


def asked_secret(question: str) -> AskedSecret | None:
    """Return the secret that a question asks for, or None where it asks for none."""
    plain = plain_words(question)
    if secret_names().no_request.search(plain):
        return None
    asking = " ".join(one for one in _SENTENCE.split(plain) if not _is_about(one))
    named = [*named_secrets(asking)[0]]
    if secret_names().place.search(plain):
        named = [one for one in named if one.is_kept_somewhere]
    is_number = secret_names().numbers.search(plain) is not None
    own = [one for one in named if one.kind in CREDENTIALS] or [
        one for one in named if is_number or not one.is_thing
    ]
    is_hidden = secret_names().place.search(plain) is not None and bool(named_secrets(plain)[0])
    is_used = secret_names().uses.search(asking) is not None and not is_hidden
    if not own and not is_used:
        return None
    rest = named_secrets(plain)[1]
    whose = " ".join(one.name for one in named if one not in own)
    words = frozenset(query_terms(f"{rest} {whose}")) - secret_names().ignored
    return AskedSecret(
        kinds=frozenset(one.kind for one in own) or _KINDS,
        words=words,
        owners=owners_in(plain) & words,
        names=frozenset(term for one in own for term in query_terms(one.name)) - secret_names().ignored,
        is_own=secret_names().own.search(plain) is not None,
    )


def _is_about(sentence: str) -> bool:
    """Return whether a sentence asks something else of a secret: "does Kim know the code?"."""
    return (
        secret_names().about.search(sentence) is not None
        and secret_names().asks_whether.search(sentence) is None
    )


def owners_in(plain: str) -> frozenset[str]:
    """Return the words for those who are said to own something; "it's" and "Bob's here" own nothing."""
    found = (match for match in _OWNER.finditer(plain) if not STOP_WORDS & set(match.groups()))
    return frozenset(term for match in found for term in query_terms(match[1])) - secret_names().ignored


def named_secrets(plain: str) -> tuple[list[NamedSecret], str]:
    """Return the secrets that a text names, and the text without their names."""
    found: list[NamedSecret] = []
    rest = plain
    for name, kind in secret_names().kinds:
        if name not in rest:
            continue
        pattern = _pattern(name)
        for match in pattern.finditer(rest):
            said = match[0].removeprefix(match.groupdict().get("compound") or "")
            found.append(
                NamedSecret(
                    kind=kind,
                    name=said,
                    is_thing=name in secret_names().things,
                    is_kept_somewhere=name in secret_names().kept_somewhere,
                )
            )
        rest = pattern.sub(lambda one: f" {one.groupdict().get('compound') or ''} ", rest)
    return found, rest
