"""
Find numbers that name a person, an account or a telephone.

Called by `pii.classify`; calls `pii_checks` for the check digits and `phonenumbers` for telephone plans.
A run of digits is nothing by itself: it needs a valid check digit, a format that nothing else has, or a word
beside it that says what it is. Order numbers, dates, hashes and IP addresses have none of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text import pii_checks
from engram.text.lazy import lazy
from engram.text.pii_cues import cued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DIGIT = lazy(r"\d")
_NOT_BEFORE = r"(?<![A-Za-z0-9_.+-])"
_NOT_AFTER = r"(?![A-Za-z0-9_]|[.-]\d)"
_CUE_CHARACTERS = 40
"""How far before a number a word that names it may stand."""

_SSN = lazy(rf"{_NOT_BEFORE}(?!000|666|9\d\d)\d{{3}}([- ]?)(?!00)\d\d\1(?!0000)\d{{4}}{_NOT_AFTER}")
_SSN_CUE = lazy(r"(?i)\bssn\b|social security|\bsocial\b|seguro social")
_OTHER_NUMBER = lazy(
    r"(?i)\b(?:part|ticket|order|invoice|model|sku|serial|tracking|case|bug|build|version|"
    r"isbn|imei|upc|ean|timestamp|"
    r"epoch|snowflake|message|commit)\b[\w .:#]{0,20}$"
)
_CARD = lazy(
    r"(?<![A-Za-z0-9_.-])(?<!\d[ -])(?:\d(?:[ -]?\d){12,18}(?![ -]?\d)|\d{4}(?:\.\d{4}){3})" + _NOT_AFTER
)
_IBAN = lazy(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d\d(?:[ -]?[A-Za-z0-9]){11,30}")
_IBAN_DIGITS = 10
"""Of one in small letters: with fewer, words that follow one another could pass the check by chance."""
_ACCOUNT = cued(
    "sort,acc,konto,compte,cuenta,счета,iban",
    r"(?i)\bsort[ -]?code\W{1,3}(?:is )?(\d\d-\d\d-\d\d|\d{6})(?!\d)"
    r"|\b(?:bank |checking |savings )?acc(?:oun)?t\.? (?:number|no\.?|#)\W{0,3}(?:is )?(\d{7,17})(?!\d)"
    r"|\bacc(?:oun)?t\.? (\d{8,17})(?!\d)"
    r"|\biban\b(?: (?:is|ist|number|est|es))?\W{0,3}([a-z]{2}\d\d(?:[ -]?\d){10,26})(?![a-z0-9])"
    r"|\b(?:kontonummer|numéro de compte|número de cuenta|номер счета)\W{1,3}(\d[\d ]{6,20}\d)(?!\d)",
)
_ROUTING = cued("routing,aba", r"(?i)\b(?:routing|aba)(?: (?:number|no\.?|#))?\W{0,3}(?:is )?(\d{9})(?!\d)")


def social_security_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield US social security numbers: dashed ones by their form, others where a word says so."""
    for match in _SSN.finditer(text):
        before = _before(text, match.start())
        if _SSN_CUE.search(before) or (match[1] == "-" and not _OTHER_NUMBER.search(before)):
            yield match.span()


def payment_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield card numbers: a known brand's prefix and length, and a valid Luhn digit."""
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if pii_checks.is_card(digits) and not _OTHER_NUMBER.search(_before(text, match.start())):
            yield match.span()


def bank_accounts(text: str) -> Iterator[tuple[int, int]]:
    """Yield IBANs that pass their check, and account, sort and routing numbers that are called so."""
    for match in _IBAN.finditer(text):
        length = pii_checks.IBAN_CHARACTERS.get(match[0][:2].upper(), 0)
        end = _end_of(text, match.start(), length)
        if length and end and _is_iban(text[match.start() : end].replace(" ", "").replace("-", "")):
            yield match.start(), end
    lower = text.lower()
    for match in _ACCOUNT.matches(text, lower):
        yield match.span()
    for match in _ROUTING.matches(text, lower):
        if pii_checks.is_routing_number(match[1]):
            yield match.span(1)


def _is_iban(bare: str) -> bool:
    is_plain = bare.isupper() or sum(map(str.isdigit, bare)) >= _IBAN_DIGITS
    return is_plain and pii_checks.is_iban(bare.upper())


def _end_of(text: str, start: int, length: int) -> int | None:
    """Return the position after `length` letters and digits in groups, or None where they run out."""
    seen, position = 0, start
    while seen < length and position < len(text):
        seen += text[position] not in " -"
        position += 1
    alone = position >= len(text) or not text[position].isalnum()
    return position if seen == length and alone else None


# (what it looks like, which check it must pass, what must be said before it or None where the form is proof,
# and its fewest digits: a statement seldom has as many, and need not be looked through then)
_GOVERNMENT: tuple[tuple[re.Pattern[str], Callable[[str], bool], re.Pattern[str] | None, int], ...] = tuple(
    (
        lazy(rf"(?<![A-Za-z0-9]){form}(?![A-Za-z0-9])"),
        check,
        lazy(rf"(?i){cue}") if cue else None,
        least,
    )
    for form, check, cue, least in (
        (
            r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]",
            pii_checks.is_uk_insurance,
            None,
            6,
        ),
        (r"[XYZ]-?\d{7}-?[A-Z]", pii_checks.is_spanish_id, None, 7),
        (r"\d{8}-?[A-Za-z]", pii_checks.is_spanish_id, r"\bdni\b|\bnif\b|documento", 8),
        (r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", pii_checks.is_italian_code, None, 7),
        (r"\d{3}\.\d{3}\.\d{3}-\d\d", pii_checks.is_brazilian_id, None, 11),
        (r"\d{11}", pii_checks.is_brazilian_id, r"\bcpf\b", 11),
        (r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d{4}[\dXx]", pii_checks.is_chinese_id, None, 17),
        (
            r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d",
            pii_checks.is_french_number,
            None,
            12,
        ),
        (r"\d\d ?\d{3} ?\d{3} ?\d{3}", pii_checks.is_german_tax_id, r"steuer|\bidnr|\btax id|\btin\b", 11),
        (r"\d{11}", pii_checks.is_polish_id, r"\bpesel\b", 11),
        (r"\d{3}[ -]?\d{3}[ -]?\d{3}", pii_checks.is_luhn, r"\bsin\b|social insurance", 9),
        (r"\d{3} ?\d{3} ?\d{2,3}", pii_checks.is_australian_tax_number, r"\btfn\b|tax file", 8),
        (r"(?:\d\d)?\d{6}[-+]?\d{4}", pii_checks.is_swedish_id, r"person(?:nummer|al identity)", 10),
        (r"\d{8,9}", pii_checks.is_dutch_id, r"\bbsn\b|burgerservice|sofi-?nummer", 8),
        (r"\d{4}[ -]?\d{4}[ -]?\d{4}", pii_checks.is_verhoeff, r"aadhaa?r|uidai", 12),
        (r"\d{4} ?\d{4} ?\d{4}", pii_checks.is_japanese_number, r"my ?number|マイナンバー|個人番号", 12),
        (r"\d{6}-?[1-8]\d{6}", lambda _: True, r"주민등록|resident registration", 13),
        (r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]", lambda _: True, r"\bpan\b", 4),
    )
)
_DOCUMENT = cued(
    "passport,licen,national id,green card,id card,identity card,visa number,permit,ausweis,"
    "reisepass,führerschein,pasaporte,"
    "passeport,passaport,permis,carnet,identité,identità,паспорт,удостоверен,护照,身份证,パスポート,運転免許,여권",
    r"(?i:\bpassport|\bdriv(?:er|ing)(?:['’]?s)? licen[sc]e|\bnational id(?:entity)?(?: card)"
    r"?|\bgreen card|\bid card|\bidentity card|"
    r"\bvisa number|\bresidence permit|personalausweis|reisepass|führerschein|ausweisnummer|"
    r"\bpasaporte|\bpasseport|\bpassaporto|"
    r"\bpassaporte|permis de conduire|carnet de conducir|carte d['’]identité|carta "
    r"d['’]identità|паспорт|водительск\w{1,4} удостоверени\w|护照|身份证|パスポート|運転免許|여권)"
    r"(?:(?i:number|nummer|num|no|nr|is|was|ist|es|est|lautet|número|numéro|de|номер|番号|号码|号|"
    r"は|是|번호)(?![a-z])|[\s.:#№'’sn°º-]){0,8}"
    r"(?P<number>\d{4} \d{6}|(?=(?:[A-Z-]{0,8}\d){3})[A-Z0-9](?:-?[A-Z0-9]){5,17})(?![A-Za-z0-9])",
)


def government_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield national numbers that pass their check, and what follows "passport", "licence" and the like."""
    digits = len(_DIGIT.findall(text))
    if not digits:
        return
    for form, check, cue, least in _GOVERNMENT:
        for match in form.finditer(text) if digits >= least else ():
            if (cue is None or cue.search(_before(text, match.start()))) and check(match[0]):
                yield match.span()
    for match in _DOCUMENT.matches(text, text.lower()):
        yield match.span("number")


_PHONE = lazy(r"(?<![A-Za-z0-9_.:/#+-])(?:\+|\(|00)?\(?\d[\d\u00a0 ().\-/]{4,22}\d(?!\w|[.:-]\d)")
_NORTH_AMERICAN = lazy(r"(?:1[-. ])?(?:\(\d{3}\) ?\d{3}[-. ]\d{4}|\d{3}([-.])\d{3}\1\d{4})\Z")
_DATE = lazy(r"(?:19|20)\d\d([-./])[01]?\d\1[0-3]?\d(?!\d)|[0-3]?\d([-./])[01]?\d\2(?:19|20)\d\d(?!\d)")
_PHONE_CUE = lazy(
    r"(?i)\b(?:phone|telephone|tel|cell|cellphone|mobile|landline|fax|call|calls|text|texts|"
    r"sms|ring|ping|ruf|rufe|appelle|appelez|chiama|chiamami|llama|llámame|liga|bel|dial|"
    r"reach|whatsapp|signal|"
    r"telegram|viber|nummer|telefon|telefonnummer|handy|handynummer|mobilnummer|anrufen|"
    r"numéro|téléphone|portable|"
    r"teléfono|móvil|número|celular|telefono|cellulare|telefone|telemóvel|телефон|номер|"
    r"позвони\w{0,4}|звонить|"
    r"contact number|number is|number:)\b|手机|电话|手機|電話|携帯|番号|전화|핸드폰|휴대폰"
)
_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "RU", "CN", "JP", "IN", "BR", "NL", "PL", "KR", "AU")
_PHONES_CHECKED = 12
"""Candidates given to the library in one text; the tier needs one, and a page of digits must stay cheap."""


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield telephone numbers: international ones, North American ones by form, others after a word."""
    asked = 0
    for match in _PHONE.finditer(text):
        regions = _regions(match[0], before=_before(text, match.start()))
        if regions and asked < _PHONES_CHECKED:
            asked += 1
            if any(_is_phone(match[0], region=region) for region in regions):
                yield match.span()


def _regions(number: str, *, before: str) -> tuple[str | None, ...]:
    """Return countries whose plan the number may follow: None where it names its own, nothing where none."""
    if _OTHER_NUMBER.search(before) or _DATE.match(number):
        return ()
    if number.lstrip("(").startswith(("+", "00")):
        return (None,)
    if _NORTH_AMERICAN.match(number):
        return ("US",)
    return _REGIONS if _PHONE_CUE.search(before) else ()


def _is_phone(number: str, *, region: str | None) -> bool:
    import phonenumbers  # noqa: PLC0415 - its tables take time to load, and few statements have a number

    try:
        parsed = phonenumbers.parse(re.sub(r"\A\(?00", "+", number), region)
    except phonenumbers.NumberParseException:
        return False
    # A country code or the American form says enough; otherwise the country must have given the number out.
    if number.startswith(("+", "(+")) or _NORTH_AMERICAN.match(number):
        return phonenumbers.is_possible_number(parsed)
    return phonenumbers.is_valid_number(parsed)


def _before(text: str, position: int) -> str:
    return text[max(0, position - _CUE_CHARACTERS) : position]
