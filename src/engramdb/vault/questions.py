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
NAME: Final = "\ue000"
"""Stands for the name of a secret in a clause; a private sign that nobody types."""
_CHUNK: Final = "[^ ]{1,40}"
_NAME_END: Final = f"[^ ]{{0,40}}{NAME}"
_DETERMINER: Final = (
    r"(?:the|my|mine|our|his|her|their|your|this|that|those|these|old|[^ ]{1,40}'s|[^ ]{1,40}s') "
    rf"(?:{_CHUNK} ){{0,5}}?"
)
_CLAUSE: Final = re.compile(r"[.!?;:,](?=\s|$)|\s[-–—]\s")
_POLITE: Final = re.compile(
    r"(?<!\w)(?:please|pls|again|quick|quickly|thanks|hey|hi|ok|okay|bitte|por favor)(?!\w)"
)
_BARE: Final = re.compile(
    r"(?!(?:is|are|was|were|am|does|do|did|has|have|had|can|could|should|would|will|who|why|when|how|i|we|he|she"
    r"|they|it|and|so|but|if|ist|sind|hat|est|es|è|é|heeft)\b)"
    rf"(?:{_DETERMINER})?(?:{_CHUNK} ){{0,3}}?{_NAME_END}"
    r"(?: (?:of|for|at|to|in|on|from|von|vom|für|am|im|de|du|des|da|do|del|della|van|voor)"
    rf"(?: {_CHUNK}){{1,6}}|(?: {_CHUNK}){{1,2}})?"
)
"""Nothing but a name: "Kim's passport number", "alarm code at the shop"."""
_WHAT_IS_IT: Final = re.compile(r"what(?:'s| is| was| are| were) (?:it|they|that)(?: now| then)?")
_BEFORE_NAME: Final = re.compile(rf"([^ ]{{1,40}}) [^ ]{{0,40}}{NAME}")
_NAME_OF: Final = re.compile(rf"{NAME} (?:of|for|at|von|vom|für|de|du|da|do|del|della|van|voor) ")
_OF_NAME: Final = re.compile(r"\b(?:of|von|de|di|da|van) (?:my |our )?([A-Z]\w+)")
_PROPER: Final = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z]\w*[a-z]\w*|\b\w*\d\w*")
_OWNER = re.compile(r"(?<![\w-])([^\W_][\w-]{0,40}?)(?:'s|(?<=s)')\s(?=(\w{1,40}))")


class AskedSecret(Struct, frozen=True):
    """What a question asks for: the kinds that it names, and what it says of them."""

    kinds: frozenset[str]
    words: frozenset[str]
    """What else it says."""
    owners: frozenset[str] = frozenset()
    """All of these must be said of it: Nora in "the PIN of Nora's card"."""
    proper: frozenset[str] = frozenset()
    """Those of the words that are names or hold digits: Oslo, Acme319."""
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
    requests: re.Pattern[str]
    """How a clause asks for a secret, with `NAME` in the place of its name."""
    not_asked: re.Pattern[str]
    others: re.Pattern[str]
    """Words for people who are not the speaker."""
    ignored: frozenset[str]


@cache
def secret_names() -> SecretNames:
    """Return the words of `text/data/secrets.toml`."""
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
        requests=re.compile("|".join(map(_request, table["requests"]))),
        not_asked=re.compile(_one_of(table["not_asked"])),
        others=re.compile(_one_of(table["others"])),
        ignored=STOP_WORDS.union(*(query_terms(word) for word in table["ignored"])),
    )


def _one_of(words: Iterable[str]) -> str:
    longest_first = sorted((re.escape(_bare(one)) for one in words), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)"


def _request(pattern: str) -> str:
    """Return a pattern of the data file with its placeholders filled in."""
    pattern = _bare(pattern)
    for name, piece in (("{name}", _NAME_END), ("{det}", _DETERMINER), ("{gap}", rf"(?:{_CHUNK} ){{0,6}}?")):
        pattern = pattern.replace(name, piece)
    return rf"(?<!\w){pattern}"


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
    """Return a text in lower case, with one word for what has several: "wifi" for "WLAN"."""
    plain = _bare(text)
    for one, others in _same():
        plain = others.sub(one, plain)
    return plain


def asked_secret(question: str) -> AskedSecret | None:
    """Return the secret that a question asks for by a name of it, or None where it asks for none."""
    plain, names = plain_words(question), secret_names()
    every, rest = named_secrets(plain)
    if not every or names.no_request.search(plain):
        return None
    is_place = names.place.search(plain) is not None
    named = [one for one in every if one.is_kept_somewhere] if is_place else every
    is_number = names.numbers.search(plain) is not None
    meant = [one for one in named if one.kind in CREDENTIALS] or [
        one for one in named if is_number or not one.is_thing
    ]
    if not meant or not (is_place or _is_request(plain, every)):
        return None
    whose = " ".join(one.name for one in named if one not in meant)
    words = frozenset(query_terms(f"{rest} {whose}")) - names.ignored
    owners = owners_in(plain) | frozenset(query_terms(" ".join(_OF_NAME.findall(question))))
    return AskedSecret(
        kinds=frozenset(one.kind for one in meant),
        words=words,
        owners=owners & words,
        proper=frozenset(query_terms(" ".join(_PROPER.findall(question)))) & words,
        names=frozenset(term for one in meant for term in query_terms(one.name)) - names.ignored,
        is_own=names.own.search(plain) is not None,
    )


def _is_request(plain: str, named: Iterable[NamedSecret]) -> bool:
    """Return whether one clause of a question asks for what it names, or it is nothing but a name."""
    marked = _POLITE.sub(" ", _marked(plain, named)).strip()
    if _BARE.fullmatch(marked.strip(" .?!,;:")) is not None:
        return True
    clauses = [one.strip() for one in _CLAUSE.split(marked) if one.strip()]
    last, before = clauses[-1].strip(" ?"), clauses[-2] if len(clauses) > 1 else ""
    if marked.endswith("?") and _BARE.fullmatch(last) and re.match(_DETERMINER, last):
        return True
    if NAME in before and _WHAT_IS_IT.fullmatch(last):
        return True
    return any(_asks(clause) for clause in clauses if NAME in clause)


def _asks(clause: str) -> bool:
    if not clause.isascii() and _is_unspaced(clause):
        return True
    asked = secret_names().requests.search(clause)
    return asked is not None and secret_names().not_asked.search(clause, 0, asked.end()) is None


def _marked(plain: str, named: Iterable[NamedSecret]) -> str:
    """Return a text with `NAME` in the place of each name."""
    for name in sorted({one.name for one in named}, key=len, reverse=True):
        plain = plain.replace(name, NAME)
    return plain


def words_of_names(plain: str) -> frozenset[str]:
    """Return the words of the names of secrets in a text, and those right before them: bank and PIN."""
    named, _ = named_secrets(plain)
    before = (one[1] for one in _BEFORE_NAME.finditer(_marked(plain, named)))
    return frozenset(query_terms(" ".join([*(one.name for one in named), *before]))) - secret_names().ignored


def tells_which(plain: str) -> bool:
    """Return whether a sentence says which secret it tells: "the bank PIN", "the code of the boat"."""
    named, _ = named_secrets(plain)
    of_names = frozenset(query_terms(" ".join(one.name for one in named)))
    is_about = _NAME_OF.search(_marked(plain, named)) is not None
    return is_about or bool(owners_in(plain)) or bool(words_of_names(plain) - of_names)


def is_the_speakers(text: str) -> bool:
    """Return whether a sentence calls something the speaker's own: "my PIN", and not "my wife's"."""
    plain, names = plain_words(text), secret_names()
    return any(names.others.match(plain, one.end() + 1) is None for one in names.own.finditer(plain))


def is_someone_elses(text: str) -> bool:
    """Return whether a sentence is about somebody else, and calls nothing the speaker's own."""
    if is_the_speakers(text):
        return False
    plain = plain_words(text)
    is_named = _OF_NAME.search(text) is not None or bool(owners_in(plain))
    return is_named or secret_names().others.search(plain) is not None


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
