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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOT_BEFORE = r"(?<![A-Za-z0-9_.+-])"
_NOT_AFTER = r"(?![A-Za-z0-9_]|[.-]\d)"
_CUE_CHARACTERS = 40
"""How far before a number a word that names it may stand."""

_SSN = re.compile(rf"{_NOT_BEFORE}(?!000|666|9\d\d)\d{{3}}([- ]?)(?!00)\d\d\1(?!0000)\d{{4}}{_NOT_AFTER}")
_SSN_CUE = re.compile(r"(?i)\bssn\b|social security|\bsocial\b|seguro social")
_OTHER_NUMBER = re.compile(
    r"(?i)\b(?:part|ticket|order|invoice|model|sku|serial|tracking|case|bug|build|version|isbn|imei|upc|ean|timestamp|"
    r"epoch|snowflake|message|commit)\b[\w .:#]{0,20}$"
)
_CARD = re.compile(rf"(?<![A-Za-z0-9_.-])(?<!\d[ -])\d(?:[ -]?\d){{12,18}}(?![ -]?\d){_NOT_AFTER}")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d(?: ?[A-Z0-9]){11,30}")
_ACCOUNT = re.compile(
    r"(?i)\bsort[ -]?code\W{1,3}(?:is )?(\d\d-\d\d-\d\d|\d{6})(?!\d)"
    r"|\b(?:bank |checking |savings )?account (?:number|no\.?|#)\W{0,3}(?:is )?(\d{7,17})(?!\d)"
    r"|\b(?:kontonummer|numéro de compte|número de cuenta|номер счета)\W{1,3}(\d[\d ]{6,20}\d)(?!\d)"
)
_ROUTING = re.compile(r"(?i)\b(?:routing|aba)(?: (?:number|no\.?|#))?\W{0,3}(?:is )?(\d{9})(?!\d)")


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
        length = pii_checks.IBAN_CHARACTERS.get(match[0][:2], 0)
        end = _end_of(text, match.start(), length)
        if length and end and pii_checks.is_iban(text[match.start() : end].replace(" ", "")):
            yield match.start(), end
    for match in _ACCOUNT.finditer(text):
        yield match.span()
    for match in _ROUTING.finditer(text):
        if pii_checks.is_routing_number(match[1]):
            yield match.span(1)


def _end_of(text: str, start: int, length: int) -> int | None:
    """Return the position after `length` characters that are not spaces, or None where they run out."""
    seen, position = 0, start
    while seen < length and position < len(text):
        seen += text[position] != " "
        position += 1
    alone = position >= len(text) or not text[position].isalnum()
    return position if seen == length and alone else None


# (what it looks like, which check it must pass, what must be said before it or None where the form is proof)
_GOVERNMENT: tuple[tuple[re.Pattern[str], Callable[[str], bool], re.Pattern[str] | None], ...] = tuple(
    (
        re.compile(rf"(?<![A-Za-z0-9]){form}(?![A-Za-z0-9])"),
        check,
        re.compile(rf"(?i){cue}") if cue else None,
    )
    for form, check, cue in (
        (r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]", pii_checks.is_uk_insurance, None),
        (r"[XYZ]-?\d{7}-?[A-Z]", pii_checks.is_spanish_id, None),
        (r"\d{8}-?[A-Za-z]", pii_checks.is_spanish_id, r"\bdni\b|\bnif\b|documento"),
        (r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", pii_checks.is_italian_code, None),
        (r"\d{3}\.\d{3}\.\d{3}-\d\d", pii_checks.is_brazilian_id, None),
        (r"\d{11}", pii_checks.is_brazilian_id, r"\bcpf\b"),
        (r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d{4}[\dXx]", pii_checks.is_chinese_id, None),
        (r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d", pii_checks.is_french_number, None),
        (r"\d\d ?\d{3} ?\d{3} ?\d{3}", pii_checks.is_german_tax_id, r"steuer|\bidnr|\btax id|\btin\b"),
        (r"\d{11}", pii_checks.is_polish_id, r"\bpesel\b"),
        (r"\d{3}[ -]?\d{3}[ -]?\d{3}", pii_checks.is_luhn, r"\bsin\b|social insurance"),
        (r"\d{3} ?\d{3} ?\d{2,3}", pii_checks.is_australian_tax_number, r"\btfn\b|tax file"),
        (r"(?:\d\d)?\d{6}[-+]?\d{4}", pii_checks.is_swedish_id, r"person(?:nummer|al identity)"),
        (r"\d{8,9}", pii_checks.is_dutch_id, r"\bbsn\b|burgerservice|sofi-?nummer"),
        (r"\d{4} ?\d{4} ?\d{4}", pii_checks.is_verhoeff, r"aadhaa?r|uidai"),
        (r"\d{4} ?\d{4} ?\d{4}", pii_checks.is_japanese_number, r"my ?number|マイナンバー|個人番号"),
        (r"\d{6}-?[1-8]\d{6}", lambda _: True, r"주민등록|resident registration"),
        (r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]", lambda _: True, r"\bpan\b"),
    )
)
_DOCUMENT = re.compile(
    r"(?i:\bpassport|\bdriv(?:er|ing)(?:['’]?s)? licen[sc]e|\bnational id(?:entity)?(?: card)?|\bgreen card|\bid card|\bidentity card|"
    r"\bvisa number|\bresidence permit|personalausweis|reisepass|führerschein|ausweisnummer|\bpasaporte|\bpasseport|\bpassaporto|"
    r"\bpassaporte|permis de conduire|carnet de conducir|carte d['’]identité|carta d['’]identità|паспорт|водительск\w{1,4} удостоверени\w|护照|身份证|パスポート|運転免許|여권)"
    r"(?:(?i:number|nummer|num|no|nr|is|was|ist|es|est|lautet|número|numéro|de|номер|番号|号码|号|は|是|번호)(?![a-z])|[\s.:#№'’sn°º-]){0,8}"
    r"(?P<number>\d{4} \d{6}|(?=[A-Z0-9]{0,8}\d)[A-Z0-9]{6,18})(?![A-Za-z0-9])"
)


def government_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield national numbers that pass their check, and what follows "passport", "licence" and the like."""
    for form, check, cue in _GOVERNMENT:
        if cue and not cue.search(text):
            continue
        for match in form.finditer(text):
            if (cue is None or cue.search(_before(text, match.start()))) and check(match[0]):
                yield match.span()
    for match in _DOCUMENT.finditer(text):
        yield match.span("number")


_PHONE = re.compile(r"(?<![A-Za-z0-9_.:/#+-])(?:\+|\(|00)?\(?\d[\d\u00a0 ().\-/]{4,22}\d(?!\w|[.:-]\d)")
_NORTH_AMERICAN = re.compile(r"(?:1[-. ])?(?:\(\d{3}\) ?\d{3}[-. ]\d{4}|\d{3}([-.])\d{3}\1\d{4})\Z")
_PHONE_CUE = re.compile(
    r"(?i)\b(?:phone|telephone|tel|cell|cellphone|mobile|landline|fax|call|calls|text|texts|sms|ring|dial|reach|whatsapp|signal|"
    r"telegram|viber|nummer|telefon|telefonnummer|handy|handynummer|mobilnummer|anrufen|numéro|téléphone|portable|"
    r"teléfono|móvil|número|celular|telefono|cellulare|telefone|telemóvel|телефон|номер|позвони\w{0,4}|звонить|"
    r"contact number|number is|number:)\b|手机|电话|手機|電話|携帯|番号|전화|핸드폰|휴대폰"
)
_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "RU", "CN", "JP", "IN", "BR", "NL", "PL", "KR", "AU")
_PHONES_CHECKED = 12
"""Candidates given to the library in one text; the tier needs one, and a page of digits must stay cheap."""


def phones(text: str) -> Iterator[tuple[int, int]]:
    """Yield telephone numbers: international ones, North American ones by form, others after a word."""
    for checked, match in enumerate(_PHONE.finditer(text)):
        if checked >= _PHONES_CHECKED:
            return
        before = _before(text, match.start())
        if _OTHER_NUMBER.search(before):
            continue
        if match[0].lstrip("(").startswith(("+", "00")):
            regions: tuple[str, ...] = ("ZZ",)
        elif _PHONE_CUE.search(before):
            regions = _REGIONS
        elif _NORTH_AMERICAN.match(match[0]):
            regions = ("US",)
        else:
            continue
        if _is_phone(match[0], regions=regions):
            yield match.span()


def _is_phone(number: str, *, regions: tuple[str, ...]) -> bool:
    import phonenumbers  # noqa: PLC0415 - its tables take a tenth of a second to load

    international = re.sub(r"\A\(?00", "+", number)
    for region in regions:
        try:
            parsed = phonenumbers.parse(international, None if region == "ZZ" else region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            return True
    return False


def _before(text: str, position: int) -> str:
    return text[max(0, position - _CUE_CHARACTERS) : position]
