"""
Say whether something beside a name or a home town might make it exact: a number, a handle, a secret's name.

Called by `pii`, for texts in which the finders saw nothing but names and towns; calls nothing.
A finder must be sure of what it reports. Here a doubt is enough, because what is left out of a file can still
be asked for, and what was written to one cannot be called back. So every number counts that is not plainly a
year, a date, a time of day, an age or a count of something.
"""

from __future__ import annotations

import unicodedata

from engram.text.lazy import lazy

_INVISIBLE = lazy("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_WIDE = lazy("[\uff10-\uff19\uff20-\uff3a\uff41-\uff5a]")
"""Another form of an ASCII letter, a digit or the sign of a mail address."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_YEAR = r"(?:1[89]|20)\d\d"
_PLAIN_NUMBER = lazy(
    rf"(?<![\w.+-]){_YEAR}-[01]\d-[0-3]\d(?![\w-])"
    rf"|(?<![\w.])[0-3]?\d(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?(?!\w)"
    rf"|\b{_MONTH} [0-3]?\d(?:st|nd|rd|th)?(?:,? {_YEAR})?(?![\w.-])"
    rf"|(?<![\w.+/-]){_YEAR}(?:s\b|(?![\w/-]|\.\d| \d|[年月]))"
    r"|(?<![\w.+:-])[0-2]?\d:[0-5]\d(?![\w:-])"
    r"|(?<=\b(?:am|is) )\d{1,2}(?![\w-]|[.,] ?\d| \d)"
    r"|(?<=\baged )\d{1,2}(?![\w-]|[.,] ?\d| \d)"
    r"|(?<![\w.,+/-])(?<!\d )\d{1,3} (?!(?:in|at|on|and|or|of|to|by|bis|ter)\b)[a-z]{3,}"
    rf"|(?<!\d)(?:\d{{1,2}}|{_YEAR})(?=[年歳才月日時分人匹回個])"
)
"""The first letter after a count is a small one: "3 cats", but "3 Mill Lane" is a house."""
_ANY_NUMBER = lazy(r"\d")
_DIGIT_WORD = r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple)"
_SPELLED = lazy(rf"(?i)\b{_DIGIT_WORD}(?:[\s,.-]+{_DIGIT_WORD}\b){{3}}")
_MAIL_IN_WORDS = lazy(
    r"(?i)\b(?:at|arroba)\W{1,3}[\w-]{2,30}\W{1,3}(?:dot|punkt|point|punto)\W{1,3}[a-z]{2,10}\b"
)
_SECRET = lazy(
    r"(?i)\b(?:pass(?:word|phrase|code|wort)s?|passwd|pwd|kennwort|contraseña|mot de passe|wachtwoord|senha|"
    r"pin|cvv|cvc|iban|api[ _-]?keys?|(?:seed|recovery|backup|secret) (?:phrase|words|codes?|keys?))\b"
    r"|пароль|密码|密碼|パスワード|비밀번호"
)


def undisguised(text: str) -> str:
    """Return the text as a reader sees it, without invisible characters and wide letters and digits."""
    if text.isascii():
        return text
    return _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), _INVISIBLE.sub("", text))


def is_exact(text: str) -> bool:
    """Say whether a text holds more than names: what could reach a person, find a door or open one."""
    if "@" in text or _ANY_NUMBER.search(_PLAIN_NUMBER.sub(" ", text)):
        return True
    return any(form.search(text) for form in (_SPELLED, _MAIL_IN_WORDS, _SECRET))
