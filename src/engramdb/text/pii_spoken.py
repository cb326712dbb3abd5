"""
Find secrets as people tell them: in any order of words, in a list, and as the answer to a request for one.

`pii_patterns` knows "the password is …". Here the value may stand first ("… is my password", "use … as the
passphrase"), in brackets, or anywhere near the name where it can hardly be anything else. A bare answer is
judged by what was said before it, across a filler or two ("one moment").
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

from engramdb.text.lexicons import ENGLISH, word_set
from engramdb.text.normalize import lazy
from engramdb.text.pii_patterns import NAMES_OF_SECRETS_ASKED, assigned, credentials, cued, is_placeholder
from engramdb.text.sentences import sentences

MAX_ANSWER_WORDS = 20
"""In a longer text after a question about a secret, only what looks like one by itself is taken for it."""
NEAR_CHARACTERS = 120
"""So far from the name of a secret a random-looking word is taken for its value."""
MAX_BETWEEN = 3
"""Messages between a request and its answer;"""
MAX_BETWEEN_WORDS = 8
"""and so many words in each: more is another subject."""
MAX_HEARD_CHARACTERS = 2000
"""Of a message's end, to look for a request."""
RANDOM_CHARACTERS = 8
PHRASE_WORDS = 4
MAX_ITEMS = 20
SEED_WORDS = 11
"""In a row, in a text that names a seed phrase; such phrases have twelve to twenty-four."""

_NAME = (
    r"(?:passwords?|passwd|pass(?:phrase|code)|pwd?|pass|pin(?:[ -]code)?|(?:seed|recovery) phrase|"
    r"passwort|kennwort|contraseña|mot de passe|wachtwoord|senha|hasło|пароль)"
)
_COMPOUND = (
    r"(?![\w-])(?!\s(?:manager|polic|reset|hash|field|hint|flow|grant|login|auth|check|protect|stor|generator|"
    r"vault|length|rules?\b|form|input|page|column|prompt|file|change|rotation|strength|expir|screen|button|"
    r"number|header|connector|entry|dialog|requirement|recovery|less|app\b|endpoint|test|valid))"
)
_OWNER = (
    r"(?:the|my|our|your|his|her|their|its|a|this|that|[\w-]{2,20}['’]s|"
    r"mein|unser|dein|das|mon|le|mi|el|la|mijn)"
)
_VALUE = r"(?P<value>\"[^\"\s]{4,128}\"|'[^'\s]{4,128}'|`[^`\s]{4,128}`|[^\s\"'`，。、(\[]{4,128})"
_CUES = "pass,pw,pin,phrase,login,log-in,kennwort,contraseña,senha,wachtwoord,hasło,пароль"
_OF = rf"{_OWNER}\s(?:[\w'’-]{{1,20}}\s){{0,2}}"
_TOLD_FIRST = cued(
    _CUES,
    r"(?i)(?<!\S)[(\[]?" + _VALUE + r"(?:"
    rf"(?:,?\s(?:which|that|and\sthat|it)?\s?|['’])(?:is|was|are|s|will\sbe|ist|est|es)\s(?:now\s|still\s|also\s)?{_OF}"
    rf"|\sas\s(?:{_OF}|[\w'’-]{{1,20}}\s)?"
    rf"|\sfor\s{_OF}"
    rf"|\s?[,(\[–—=-]{{1,2}}\s?(?:(?:that|it|this)(?:['’]s|\sis)\s)?(?:{_OF})?"
    rf")(?P<name>{_NAME}){_COMPOUND}",
)
_ASKED_WHETHER = cued(_CUES, rf"(?i)\b(?:is|was|are)\s{_VALUE}\s{_OF}(?P<name>{_NAME}){_COMPOUND}")
_SHORT = cued("pw", r"(?i)(?<![\w-])(?P<name>pw)\s(?:is\s)?(?P<value>[^\s\"'，。、]{5,128})")
_NAMED = cued(
    f"{_CUES},log in,sign in,credential,密码,パスワード,비밀번호",
    rf"(?i)\b(?:{_NAME}|log-?ins?|log(?:ged)? in|sign(?:ed)? in|credentials?)\b|密码|パスワード|비밀번호",
)
_TOKEN = lazy(r"[^\s\"'`“”‘’，。、]{4,128}")
_JOINT = r"(?:\s?,(?:\s(?:or|and))?|\s?[/|]|\s(?:or|and))\s"
_MORE_ITEMS = lazy(rf"{_JOINT}(?P<item>[^\s,;/|]{{3,128}})(?=[\s,;/|?.!)]|\Z)")
_LIST = cued(
    "passwords,passphrases,passcodes,pins",
    r"(?i)\b(?:passwords|passphrases|passcodes|pins)(?:\s[\w'’-]{1,20}){0,3}\s?(?:[:=]|\sare)\s"
    rf"(?P<list>[^\s,;]{{3,128}}(?:{_JOINT}[^\s,;]{{3,128}}){{1,{MAX_ITEMS}}})",
)
_ITEM = lazy(r"(?!(?:or|and|are)\b)[^\s,;/|]{3,128}(?<![?.!])")
_SEED_NAME = lazy(
    r"(?i)\b(?:seed|recovery|backup|secret)[ -](?:phrase|words|sentence)|\bmnemonic\b|"
    r"\b(?:ledger|trezor|metamask|wallet|bitcoin|crypto|cold storage)\b.{0,40}\b(?:words|phrase|seed)\b|"
    r"\b(?:12|24|twelve|twenty-four) words\b"
)
_SEED = lazy(rf"(?:(?:\d{{1,2}}[.):]\s?)?\b[a-z]{{3,8}}\b[\s,;]{{0,3}}){{{SEED_WORDS},24}}")
_WORD = lazy(r"[^\W\d_]+")
_SEPARATED = lazy(r"[^\s,;]+")
_PIECES = lazy(r"[-._:/,|\\\s]+")
_NOT_RANDOM = lazy(
    r"(?i)\A(?:0x)?[0-9a-f]+\Z|@[\w-]+\.\w|://|[()\[\]{}<>]|\A--|\A\d+(?:st|nd|rd|th|k|ms|s|px|gb|mb|%)\Z"
)
_ORDINARY = lazy(
    r"(?i)\A(?:oauth|sha|md|utf|base|python|node|java|http|tls|ssl|ipv|v|auth|argon|bcrypt|scrypt|pbkdf|aes|rsa|"
    r"k8s|s3|ec2|id|user|step|option|totp|mfa|2fa|fido|webauthn|windows|win|iphone|ios|android|pg|postgres|"
    r"mysql|php|vue|web|log4j|wpa|u2f|1password)[-_]?\d*[a-z]{0,2}\Z"
)
_STOP_WORDS = word_set(ENGLISH.stop_words)
_SYMBOLS = frozenset("!@#$%^&*+=?~")


def told_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where values stand that the text calls a password or the like, whichever comes first."""
    lower = text.lower()
    for pattern in (_TOLD_FIRST, _ASKED_WHETHER, _SHORT):
        for match in pattern.matches(text, lower):
            if _may_be_value(match["value"], name=match["name"]):
                yield match.span("value")
    names = [match.span() for match in _NAMED.matches(text, lower)]
    if names:
        yield from _near(text, names)
    reached = 0
    for _, end in assigned(text):
        more = list(_with_more(text, end)) if end > reached else []
        yield from more
        reached = max([reached, *(last for _, last in more)])
    yield from _lists(text, lower)
    if _SEED_NAME.search(text):
        yield from _seed_phrases(text)


def _may_be_value(value: str, *, name: str) -> bool:
    """Return whether a word before its name can be a secret: nothing stands between that says so."""
    bare = value.strip("\"'`.,;:!?()[]")
    if bare.isdigit():
        return name.lower().startswith(("pin", "passc")) and 4 <= len(bare) <= 8
    if is_placeholder(bare) or _ORDINARY.match(bare) or _NOT_RANDOM.search(bare):
        return False
    letters, digits = any(map(str.isalpha, bare)), any(map(str.isdigit, bare))
    is_phrase = bare.count("-") >= PHRASE_WORDS - 1 and bare.replace("-", "").isalpha()
    return (letters and digits and len(bare) >= 5) or is_phrase or looks_random(bare)


def looks_random(word: str) -> bool:
    """Return whether a word can hardly be anything but a secret: letters, digits and signs in a jumble."""
    if len(word) < RANDOM_CHARACTERS or is_placeholder(word) or _NOT_RANDOM.search(word):
        return False
    return any(map(_is_jumble, _PIECES.split(word)))


def _is_jumble(piece: str) -> bool:
    if len(piece) < RANDOM_CHARACTERS or _NOT_RANDOM.search(piece):
        return False
    letters, digits = any(map(str.isalpha, piece)), any(map(str.isdigit, piece))
    signs = sum(character in _SYMBOLS for character in piece[1:-1])
    kinds = [(one.isalpha(), one.isdigit()) for one in piece]
    changes = sum(one != two for one, two in pairwise(kinds))
    is_cased = piece != piece.lower() and piece != piece.upper()
    return letters and ((digits and (bool(signs) or changes >= 3)) or (signs >= 2 and is_cased))


def _near(text: str, names: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield random-looking words near the name of a secret, in the same paragraph."""
    for match in _TOKEN.finditer(text):
        word = match[0].strip(".,;:!?()[]{}*")
        if not word or not looks_random(word):
            continue
        begin = match.start() + match[0].find(word)
        place = bisect(names, (begin, begin))
        if any(
            _is_near(text, begin, begin + len(word), name) for name in names[max(0, place - 1) : place + 1]
        ):
            yield begin, begin + len(word)


def _is_near(text: str, begin: int, end: int, name: tuple[int, int]) -> bool:
    first, last = min(end, name[1]), max(begin, name[0])
    return last - first <= NEAR_CHARACTERS and "\n\n" not in text[first:last]


def _with_more(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Yield the values that follow one in a row: "the password is hunter2 or hunter3"."""
    for _ in range(MAX_ITEMS):
        more = _MORE_ITEMS.match(text, end)
        item = more["item"].rstrip(".?!)") if more else ""
        if more is None or not _may_be_value(item, name="password"):
            return
        end = more.start("item") + len(item)
        yield more.start("item"), end


def _lists(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield the items of lists of passwords of which one looks like it: "swordfish or hunter2" are two."""
    for match in _LIST.matches(text, lower):
        items = list(_ITEM.finditer(text, *match.span("list")))
        if any(_may_be_value(item[0], name="password") for item in items):
            yield from (item.span() for item in items)


def _seed_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield rows of small plain words, none of them one that joins others."""
    for row in _SEED.finditer(text):
        run: list[re.Match[str]] = []
        for word in [*_WORD.finditer(text, row.start(), row.end()), None]:
            if word is not None and word[0] not in _STOP_WORDS:
                run.append(word)
                continue
            if len(run) >= SEED_WORDS:
                yield run[0].start(), run[-1].end()
            run = []


# What was said before an answer.

_ANY_NAME = lazy(
    rf"(?i)(?:(?:\b[a-z]{{2,}} )?\bcodes?\b|\bmnemonic\b|\bpw\b|{NAMES_OF_SECRETS_ASKED}){_COMPOUND}"
)
_ASKING = lazy(
    r"(?i)\b(?:(?:what|which)\s(?:[\w'’-]{1,20}\s)?|"
    r"(?:what(?:['’]?s|\s(?:is|was|are))|tell|give|send|enter|type|share|provide|paste|spell|need|remind)\s"
    rf"(?:[\w'’-]{{1,20}}\s){{0,4}}?){_ANY_NAME.pattern.removeprefix('(?i)')}"
)
_LEFT_OPEN = lazy(r"(?i)(?:\b(?:is|are|was|ist|lautet|es|est|follows|this)|[:=–—-])\s*:?\s*\Z")
_NO_ANSWER = word_set(
    "nothing sorry later never unknown nope thanks maybe sure okay dunno please wait moment second forgot "
    "forgotten unsure neither default same again none correct exactly right wrong secret password always "
    "empty blank changed expired there hello yeah yes cool great perfect done unchanged bitwarden lastpass "
    "keepass keepassxc 1password vault keychain"
)


def awaited_secret(heard: Sequence[str]) -> str | None:
    """Return the sentence that named the secret which the next message may tell; `heard` is oldest first."""
    for message in list(reversed(heard))[: MAX_BETWEEN + 1]:
        for sentence in reversed(sentences(message[-MAX_HEARD_CHARACTERS:])[-4:]):
            if _ANY_NAME.search(sentence):
                return sentence
        if len(message.split()) > MAX_BETWEEN_WORDS:
            return None
    return None


def awaits_answer(before: str) -> bool:
    """Return whether a sentence asks for a secret or leaves it open ("the code is:")."""
    is_question = before.rstrip(" )\"'*_").endswith(("?", "？"))
    return is_question or bool(_LEFT_OPEN.search(before) or _ASKING.search(before))


def answered_sentence(heard: Sequence[str]) -> str:
    """Return the sentence that the next message answers, or nothing; `heard` is oldest first."""
    named = awaited_secret(heard)
    if named is not None:
        return named
    last = sentences(heard[-1][-MAX_HEARD_CHARACTERS:])[-1:] if heard else []
    return next((one for one in last if awaits_answer(one)), "")


def answered_secrets(text: str, before: str) -> Iterator[tuple[int, int]]:
    """Yield what would be a secret if the text named what the sentence before it asks for or speaks of."""
    named = _ANY_NAME.search(before)
    if named is None:
        return
    for match in _TOKEN.finditer(text):
        if looks_random(match[0].strip(".,;:!?()[]{}*")):
            yield match.span()
    if not awaits_answer(before):
        return
    is_open = _LEFT_OPEN.search(before) is not None
    words = text.split()
    if len(words) <= MAX_ANSWER_WORDS:
        yield from _values_of(text, named[0])
    if is_open or _ASKING.search(before):
        yield from _plain_answer(text, words, named[0])


def _values_of(text: str, name: str) -> Iterator[tuple[int, int]]:
    for word in _SEPARATED.finditer(text):
        if any(credentials(f"the {name} is {word[0]}")):
            yield word.span()


def _plain_answer(text: str, words: Sequence[str], name: str) -> Iterator[tuple[int, int]]:
    """Yield an answer of nothing but plain words: a seed phrase, a passphrase, or a single word."""
    bare = [word.strip(".,;:!?\"'`").casefold() for word in words]
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if _SEED_NAME.search(name):
        yield from _seed_phrases(text)
    is_plain = all(word.isalpha() and len(word) >= 3 and word not in _STOP_WORDS for word in bare)
    is_phrase = "phrase" in name.lower() and PHRASE_WORDS <= len(bare) <= 24
    is_word = len(bare) == 1 and len(bare[0]) >= 5 and bare[0] not in _NO_ANSWER and "pass" in name.lower()
    if is_plain and (is_phrase or is_word):
        yield start, end
