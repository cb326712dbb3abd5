"""Patterns for secrets and exact identifiers, with the cues without which they cannot match."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain

from msgspec import Struct

from engramdb.text.lexicons import registry
from engramdb.text.normalize import lazy
from engramdb.text.word_starts import AnyOf, alternatives

# A pattern and the words without which it cannot match.


class Cued(Struct, frozen=True):
    """A pattern that is only run on a text with one of its cues."""

    cues: tuple[str, ...]
    pattern: str

    def matches(self, text: str, lower: str) -> Iterator[re.Match[str]]:
        """Return the matches in the text, whose lower-case form the caller has at hand."""
        for cue in self.cues:  # a plain loop: asked forty times for every statement
            if cue in lower:
                return compiled(self.pattern).finditer(text)
        return iter(())


def cued(cues: str, pattern: str) -> Cued:
    """Return a pattern with its cues, given in lower case with a comma between them."""
    return Cued(tuple(cues.split(",")), pattern)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern compiled, once per process."""
    return re.compile(pattern)


@cache
def _cues() -> Mapping[str, str]:
    return registry("pii_cues")


@cache
def cue(name: str) -> re.Pattern[str]:
    """Return the words of `data/pii_cues.toml` under a name, as a pattern that is read in any case."""
    return re.compile(words_of(name), re.IGNORECASE)


@cache
def _gate(name: str) -> AnyOf:
    words = words_of(name)
    is_group = words.startswith("(?:") and words.endswith(")")
    return AnyOf(list(alternatives(words[3:-1] if is_group else words)))


def has_words(name: str, lower: str) -> bool:
    """Return whether a text in small letters has any of these words; most have none, which shows at once."""
    return _gate(name).is_in(lower)


def words_of(name: str) -> str:
    """Return the same as an expression, to be part of another one."""
    return "".join(line.strip() for line in _cues()[name].splitlines())


# Whether something beside a name or a home town might make it exact: a number, a handle, a secret's name.

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
NAMES_OF_SECRETS_ASKED = (
    r"\b(?:pass(?:word|phrase|code|wort)s?|passwd|pwd|kennwort|contraseña|mot de passe|wachtwoord|senha|"
    r"pin|cvv|cvc|iban|api[ _-]?keys?|(?:seed|recovery|backup|secret) (?:phrase|words|codes?|keys?))\b"
    r"|пароль|密码|密碼|パスワード|비밀번호"
)
_SECRET = lazy(f"(?i){NAMES_OF_SECRETS_ASKED}")


def undisguised(text: str) -> str:
    """Return the text as a reader sees it, without invisible characters and wide letters and digits."""
    if text.isascii():
        return text
    return _WIDE.sub(lambda wide: unicodedata.normalize("NFKC", wide[0]), _INVISIBLE.sub("", text))


def is_exact(text: str) -> bool:
    """Return whether a text holds more than names: what could reach a person, find a door or open one."""
    if "@" in text or _ANY_NUMBER.search(_PLAIN_NUMBER.sub(" ", text)):
        return True
    return any(form.search(text) for form in (_SPELLED, _MAIL_IN_WORDS, _SECRET))


# Find passwords, keys and tokens.
#
# A vendor's format is proof by itself; after a word such as "password" the value must also look like one,
# so that "the password is wrong" and "token: str" stay ordinary talk. Every quantifier is bounded: this
# runs on hostile text.

_EDGE = r"(?<![A-Za-z0-9_])"
_VENDOR = lazy(
    _EDGE
    + r"(?:"
    + "|".join(
        [
            r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",  # Amazon
            r"gh[pousr]_[A-Za-z0-9]{30,255}",  # GitHub
            r"github_pat_\w{30,255}",
            r"glpat-[\w-]{18,64}",  # GitLab
            r"sk-(?:ant|proj|svcacct|or|admin)-[\w-]{16,255}",  # Anthropic, OpenAI, OpenRouter
            r"sk-[A-Za-z0-9]{20,64}\b",
            r"xox[abeoprs]-[\w-]{10,255}",  # Slack
            r"xapp-\d-[\w-]{10,255}",
            r"AIza[\w-]{35}",  # Google
            r"ya29\.[\w-]{20,255}",
            r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255}",  # Stripe
            r"whsec_[A-Za-z0-9+/=]{16,128}",
            r"hf_[A-Za-z0-9]{30,64}",  # Hugging Face
            r"npm_[A-Za-z0-9]{30,64}",
            r"pypi-AgE[\w-]{40,255}",
            r"SG\.[\w-]{16,64}\.[\w-]{16,64}",  # SendGrid
            r"(?:AC|SK)[a-f0-9]{32}\b",  # Twilio
            r"dop_v1_[a-f0-9]{40,80}",  # DigitalOcean
            r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",  # Shopify
            r"\d{8,10}:AA[\w-]{30,40}",  # Telegram
            r"[MNO][A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}",  # Discord
            r"hv[sbr]\.[\w-]{20,255}",  # Vault
            r"(?:lin_api|ntn|secret|pscale_tkn|sbp|figd|r8|gsk|nfp|rnd|sntrys|gls?[ac]|fo1|ops)_[\w-]{20,255}",
            r"(?:pplx|xai|PMAK|NRAK|dckr_pat|sq0(?:atp|csp)|dp\.pt|sess|tvly|lsv2_pt)[-_.][\w-]{24,255}",
            r"dapi[a-f\d]{32}\b",  # Databricks
            r"AGE-SECRET-KEY-1[A-Z\d]{50,70}",
            r"pk\.eyJ[\w-]{20,255}\.[\w-]{10,128}",  # Mapbox
            r"pat[A-Za-z\d]{14}\.[a-f\d]{64}",  # Airtable
            r"[a-z][a-z0-9]{1,12}_(?:live|test|prod|secret)_[A-Za-z0-9]{12,255}",
            r"eyJ[\w-]{8,4096}\.eyJ[\w-]{4,4096}\.[\w-]{8,1024}",  # JSON web tokens
        ]
    )
    + r")"
)
_PEM = lazy(
    r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s:,-]{0,16384}?"
    r"(?:-----END (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z|(?=[^A-Za-z0-9+/=\s:,-]))"
)
"""The whole block, also one that was cut off."""
_URL_LOGIN = cued("://", r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,64}:([^\s/@]{2,128})@[\w\[.-]")
_HEADER = cued(
    "authorization",
    r"(?i)\bauthorization\b['\"]?\s{0,2}[:=]\s{0,2}['\"]?(?:basic|bearer|token)\s+([\w+/=.~-]{8,512})",
)
_CURL_USER = cued("curl", r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)\s{0,2}[\w.@-]{1,64}:(\S{3,128})")
_NUMBER_CODE = cued(
    "pin,code,geheimzahl,пин",
    r"(?i)\b(?:pin|pin[ -]?code|code pin|(?:door|gate|alarm|entry|access|lock|safe|unlock) "
    r"code|passcode|geheimzahl|пин-?код)"
    r"(?:\s(?:code|number|is|ist|es|est|lautet)|\s?[:=]){1,3}\s{0,2}(\d{4,8}[#*]?)(?![\w.,-]*\d)",
)

_NAMES_OF_PASSWORDS = (
    r"passwords?|passwd|pwd|passphrase|passcode|passwort|kennwort|passwörter|contraseña|clave secreta|senha|"
    r"mot de passe|wachtwoord|hasło|parola|пароль|密码|密碼|口令|パスワード|暗証番号|비밀번호|"
    r"jelszó|salasana(?: on)?|lösenordet|passordet|passord|adgangskoden?|heslo|"
    r"סיסמה|κωδικός|كلمة السر|كلمة المرور"
)
_CUES_OF_PASSWORDS = (
    "pass,pwd,kennwort,contraseña,senha,mot de passe,wachtwoord,hasło,parola,пароль,jelszó,salasana,lösen,"
    "adgangskode,heslo,סיסמה,κωδικός,كلمة"
)
_NAMES_OF_KEYS = (
    r"secret|token|api[_ -]?key|api[_ -]?token|access[_ -]?key|secret[_ -]?(?:access[_ -]?)"
    r"?key|client[_ -]?secret|"
    r"private[_ -]?key|signing[_ -]?key|encryption[_ -]?key|auth[_ -]?key|credentials?|"
    r"schlüssel|clave|ключ|密钥|トークン|토큰"
)
_CONNECTOR = (
    r"(?P<link>['\"]?\s{0,3}(?::=|=>|=|:|：)\s{0,3}|\s{0,2}(?:是|为|は|は、)\s{0,2}|"
    r"['’]s\s|\?\s{1,2}(?:it(?:['’]s|\sis)\s|try\s)?|"
    r"\s(?:(?:for|of|to|at|in|on)\s(?:[\w'’-]{1,20}\s){1,4})?"
    r"(?:is|was|ist|lautet|es|est|é|è|to|är|er|je|jest|היא|είναι|هي|reads|=)(?:\s|(?=[:=]))"
    r"(?:now\s|set to\s|still\s)?[:=]?\s{0,2}|(?P<comma>,)\s|\s)"
)
_ASSIGNED = cued(
    f"{_CUES_OF_PASSWORDS},clave,密码,密碼,口令,パスワード,暗証番号,비밀번호,"
    "secret,token,key,credential,schlüssel,ключ,密钥,トークン,토큰",
    rf"(?i)(?:(?P<password>{_NAMES_OF_PASSWORDS})|(?P<key>{_NAMES_OF_KEYS}))(?![A-Za-z]){_CONNECTOR}"
    r"(?P<value>\"[^\"\n]{3,256}\"|'[^'\n]{3,256}'|[^\s\"'，。、]{3,256})",
)
_FAR_NAME = cued(
    f"{_CUES_OF_PASSWORDS},şifre",
    rf"(?i)(?P<password>{_NAMES_OF_PASSWORDS}|şifre\w*|lösenord\w*)"
    r"(?:\s[\w'’-]{1,20}){1,8}?\s?(?P<link>[:=–—])\s{0,2}"
    r"(?P<value>\"[^\"\n]{3,256}\"|'[^'\n]{3,256}'|[^\s\"'，。、]{5,256})",
)
_PHRASE = cued(
    "phrase",
    r"(?i)(?<!\w)(?:pass[- ]?)?phrase\s?(?:[:=]|is)\s?[\"'“]?"
    r"(?P<value>[a-z]{3,12}(?:[ -][a-z]{2,12}){3,11})(?=[\"'”.,;!]|\s*$)",
)
_SHORT_NAME = cued(
    "pw,pass,key",
    r"(?i)(?<![A-Za-z])(?:(?P<password>(?:pw|pass)\s?[:=]\s?|with pass\s)|(?P<key>key\s?=\s?))"
    r"(?P<value>[^\s\"'，。、]{5,128})",
)
_CODES = cued(
    "code,combination,kombination",
    r"(?i)\b(?:(?:backup|recovery|one-time|2fa|verification) codes?(?: (?:is|are))?:?\s|"
    r"combination (?:of|for|to) (?:the |my |our )?"
    r"[\w ]{2,20} is )(?P<value>\d{1,8}(?:[ -]\d{1,8}){1,4}|\d{6,10})",
)
_PLACEHOLDER = lazy(
    r"(?i)[\s(]|^[$<{%\[]|\$\{|\*{3}|x{4}|\.{3}|…|your[-_ ]|example_|changeme|redacted|"
    r"placeholder|environ|getenv|"
    r"process\.env|^(?:https?|file)://|^[\w-]+(?:\.[\w-]+)*\.(?:py|md|json|ya?ml|toml|js|ts|txt|env)$"
)
_PLAIN_VALUES = lazy(
    r"(?i)\A(?:none|null|true|false|str|string|bytes|int|bool|optional|required|undefined|"
    r"missing|invalid|expired|wrong|"
    r"empty|unset|hidden|secret|password|token|value|field|input|text|default|policy|reset|manager)\Z"
)
_KEY_CHARACTERS = 12
_KEY_ENTROPY_BITS = 2.8
"""Bits per character of the value; hexadecimal keys of 16 characters and more lie above 3."""


def credentials(text: str) -> Iterator[tuple[int, int]]:
    """Yield where secrets stand: vendor formats, private keys, logins in URLs and assigned values."""
    yield from issued_credentials(text)
    lower = text.lower()
    for match in _NUMBER_CODE.matches(text, lower):
        yield match.span(1)
    for pattern in (_CODES, _PHRASE):
        for match in pattern.matches(text, lower):
            yield match.span("value")
    yield from assigned(text)


def issued_credentials(text: str) -> Iterator[tuple[int, int]]:
    """Yield those that their form proves: vendor formats, private keys, logins in URLs and headers."""
    for form in (_VENDOR, _PEM):
        for match in form.finditer(text):
            yield match.span()
    lower = text.lower()
    for pattern in (_URL_LOGIN, _HEADER, _CURL_USER):
        for match in pattern.matches(text, lower):
            if not is_placeholder(match[1]):
                yield match.span(1)


_PUBLIC_BLOCK = r"(?:[A-Z0-9]{2,12} ){0,3}(?:PUBLIC KEY(?: BLOCK)?|CERTIFICATE(?: REQUEST)?)-----"
_BREAK = r"(?:\s|\\[nr]){1,4}"
_BASE64 = "A-Za-z0-9+/"
_PUBLIC_FORMS = lazy(
    r"\b(?:ssh-rsa AAAAB3NzaC1yc2E|ssh-dss AAAAB3NzaC1kc3M|ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"
    r"|ecdsa-sha2-nistp\d{3} AAAAE2VjZHNh|sk-ssh-ed25519@openssh\.com AAAAGnNr"
    rf"|sk-ecdsa-sha2-nistp256@openssh\.com AAAAInNr)[{_BASE64}]{{20,4096}}={{0,2}}(?![\w{_BASE64}=])"
    rf"|-----BEGIN {_PUBLIC_BLOCK}(?:{_BREAK}(?:Version|Charset): [\w .()-]{{1,40}})?"
    rf"(?:{_BREAK}[{_BASE64}]{{48,8192}}={{0,2}}){{1,400}}"
    rf"(?:(?:{_BREAK}[{_BASE64}]{{1,76}}={{0,2}})?(?:{_BREAK}=[{_BASE64}]{{4}})?"
    rf"{_BREAK}-----END {_PUBLIC_BLOCK})?"
    r"|(?i:\b(?:md5[:=-][a-f\d]{32}|sha-?1[:=-][a-f\d]{40}|sha-?224[:=-][a-f\d]{56}|sha-?256[:=-][a-f\d]{64}"
    rf"|sha-?384[:=-][a-f\d]{{96}}|sha-?512[:=-][a-f\d]{{128}}))(?![\w{_BASE64}=-])"
    rf"|\b(?i:md5[:=-][{_BASE64}]{{22}}==|sha-?1[:=-][{_BASE64}]{{27}}=|sha-?224[:=-][{_BASE64}]{{38}}=="
    rf"|sha-?256[:=-][{_BASE64}]{{43}}=?|sha-?384[:=-][{_BASE64}]{{64}}|sha-?512[:=-][{_BASE64}]{{86}}==)"
    rf"(?![\w{_BASE64}=-])"
    r"|\bage1[a-z\d]{58}\b"
    r"|(?<![\w$])\$(?:[A-Z][A-Z\d]{1,30}(?:_[A-Z\d]{1,30}){1,4}(?!\w)|\{[A-Z][A-Z\d_]{2,40}\})"
)
"""Each to its own end: a key by its first bytes, a block by its last line, a checksum by its length, and the
name of a variable that holds the secret instead of it."""


def public_forms(text: str) -> Iterator[tuple[int, int]]:
    """Yield what looks like a secret and is public by its form: keys, certificates, checksums, variables."""
    for match in _PUBLIC_FORMS.finditer(text):
        yield match.span()


def assigned(text: str) -> Iterator[tuple[int, int]]:
    """Yield values that follow the name of a secret and can be one."""
    lower = text.lower()
    found = (pattern.matches(text, lower) for pattern in (_ASSIGNED, _FAR_NAME, _SHORT_NAME))
    for match in chain.from_iterable(found):
        value = match["value"].strip("\"'").rstrip(".,;!?)")
        if is_placeholder(value):
            continue
        if (
            _is_password(value, link=match.groupdict().get("link", "").strip())
            if match["password"]
            else _is_key(value)
        ):
            yield match.start("value"), match.start("value") + len(match["value"].rstrip(".,;!?)"))


def is_placeholder(value: str) -> bool:
    """Return whether a value only stands for a secret, or is a word of ordinary talk about one."""
    return bool(_PLACEHOLDER.search(value) or _PLAIN_VALUES.match(value))


def _is_password(value: str, *, link: str) -> bool:
    """Return whether a value after "password" can be one: words of ordinary talk cannot."""
    value = value.rstrip(":;!?.")
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    symbols = any(not character.isalnum() and character not in "-'’.,/" for character in value)
    words = [part for part in value.split("-") if part.isalpha()]
    if (
        (letters and digits and len(value) >= 5)
        or (symbols and letters and len(value) >= 6)
        or len(words) >= 3
    ):
        return True
    return (link == "=" and len(value) >= 6 and value.isalnum()) or (
        value.isdigit() and len(value) >= 4 and bool(link)
    )


def _is_key(value: str) -> bool:
    """Return whether a value after "token", "secret" or "key" is long and mixed enough to be one."""
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= _KEY_CHARACTERS and mixed and _entropy_bits(value) >= _KEY_ENTROPY_BITS


def _entropy_bits(value: str) -> float:
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


def without_credentials(text: str) -> str:
    """Return a text without keys and passwords, for a line about what was done: a shell is full of them."""
    for start, end in sorted(credentials(text), reverse=True):
        text = f"{text[:start]}…{text[end:]}"
    return text
