"""Find numbers that identify a person, an account or a telephone, with their check digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice

from engramdb.text.normalize import lazy
from engramdb.text.pii_patterns import cued

# Check digits: whether a number can be what it looks like.
#
# Each function takes the number with or without its separators and returns False for whatever does not fit,
# so a caller needs no second test of the length. The rules are published: by the card brands, in ISO 13616
# and ISO 7064, by the offices that issue the numbers.

IBAN_CHARACTERS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "NL"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "LT", "LU", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "DE", "GB", "GE", "IE", "ME", "RS"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("PT",), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("FR", "GR", "IT", "MC", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "CY", "DO", "GT", "HU", "LB", "PL"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
}
"""How long an IBAN of each country is."""

_CARD_BRANDS = lazy(
    r"4\d{12}(?:\d{3}){0,2}"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}(?:\d{3})?"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners
    r"|62\d{14}(?:\d{3})?"  # UnionPay
    r"|(?:50|5[6-9]|6[037])\d{14}"  # Maestro
    r"|220[0-4]\d{12}"  # Mir
)
_SPANISH_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_UK_UNUSED = {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}
_ITALIAN_ODD = dict(
    zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", (
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21,
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
    ), strict=True)
)  # fmt: skip
_VERHOEFF_TIMES = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_TURNS = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415",
    "7046913258",
)  # fmt: skip


def _digits(number: str) -> list[int]:
    return [int(character) for character in number if character in "0123456789"]


def _weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def is_luhn(number: str) -> bool:
    """Return whether the last digit is right by the rule of cards: double every second, add the digits."""
    digits = _digits(number)[::-1]
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def is_card(number: str) -> bool:
    """Return whether it is the number of a payment card: a brand, its length, Luhn."""
    return bool(_CARD_BRANDS.fullmatch(number)) and len(set(number)) > 1 and is_luhn(number)


def is_iban(number: str) -> bool:
    """Return whether an IBAN without spaces passes ISO 7064 mod 97."""
    if IBAN_CHARACTERS.get(number[:2]) != len(number) or not number.isascii() or not number.isalnum():
        return False
    return int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1


def is_routing_number(number: str) -> bool:
    """Return whether nine digits are a US bank's routing number."""
    digits = _digits(number)
    return len(digits) == 9 and any(digits) and _weighted(digits, (3, 7, 1) * 3) % 10 == 0


def is_uk_insurance(number: str) -> bool:
    """Return whether a National Insurance number has letters that are given out."""
    return number[:2] not in _UK_UNUSED


def is_spanish_id(number: str) -> bool:
    """Return whether the letter of a Spanish DNI or NIE fits."""
    bare = number.replace("-", "").upper()
    counted = "012"["XYZ".index(bare[0])] + bare[1:-1] if bare[0] in "XYZ" else bare[:-1]
    return _SPANISH_LETTERS[int(counted) % 23] == bare[-1]


def is_italian_code(number: str) -> bool:
    """Return whether the last letter of an Italian codice fiscale fits."""
    odd = sum(_ITALIAN_ODD[character] for character in number[:15:2])
    even = sum(int(character, 36) - 10 * character.isalpha() for character in number[1:15:2])
    return chr(ord("A") + (odd + even) % 26) == number[15]


def is_brazilian_id(number: str) -> bool:
    """Return whether both check digits of a Brazilian CPF fit."""
    digits = _digits(number)
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    first = _weighted(digits[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(digits[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    return digits[9:] == [first, second]


def is_chinese_id(number: str) -> bool:
    """Return whether the last character of a Chinese resident number fits."""
    weights = tuple(2**power % 11 for power in range(17, 0, -1))
    return "10X98765432"[_weighted(_digits(number[:17]), weights) % 11] == number[17].upper()


def is_french_number(number: str) -> bool:
    """Return whether the two check digits of a French social security number fit; Corsica is 19 and 18."""
    bare = number.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return len(bare) == 15 and bare.isdigit() and int(bare[13:]) == 97 - int(bare[:13]) % 97


def is_german_tax_id(number: str) -> bool:
    """Return whether the last digit of a German tax number fits by ISO 7064 mod 11, 10."""
    digits, product = _digits(number), 10
    if len(digits) != 11 or digits[0] == 0:
        return False
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[10]


def is_polish_id(number: str) -> bool:
    """Return whether the last digit of a Polish PESEL fits."""
    return _weighted(_digits(number), (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def is_australian_tax_number(number: str) -> bool:
    """Return whether an Australian tax file number fits."""
    digits = _digits(number)
    return len(digits) == 9 and _weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def is_swedish_id(number: str) -> bool:
    """Return whether the last ten digits of a Swedish personnummer pass Luhn."""
    digits = re.sub(r"\D", "", number)
    return len(digits) in {10, 12} and is_luhn(digits[-10:])


def is_dutch_id(number: str) -> bool:
    """Return whether a Dutch BSN passes the test of eleven."""
    digits = _digits(number.rjust(9, "0"))
    return any(digits) and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_japanese_number(number: str) -> bool:
    """Return whether the last digit of a Japanese individual number fits."""
    digits = _digits(number)
    rest = _weighted(digits[:11][::-1], (2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6)) % 11
    return len(digits) == 12 and digits[11] == (0 if rest <= 1 else 11 - rest)


def is_verhoeff(number: str) -> bool:
    """Return whether a number passes Verhoeff's check, as an Indian Aadhaar number must."""
    check = 0
    for position, digit in enumerate(reversed(_digits(number))):
        check = int(_VERHOEFF_TIMES[check][int(_VERHOEFF_TURNS[position % 8][digit])])
    return check == 0


# Find numbers that name a person, an account or a telephone.
#
# A run of digits is nothing by itself: it needs a valid check digit, a format that nothing else has, or a
# word beside it that says what it is. Order numbers, dates, hashes and IP addresses have none of these.

_DIGIT = lazy(r"\d")
_NOT_BEFORE = r"(?<![A-Za-z0-9_.+-])"
_NOT_AFTER = r"(?![A-Za-z0-9_]|[.-]\d)"
_CUE_CHARACTERS = 40
"""How far before a number a word that names it may stand;"""
_CHECKED_CUE_CHARACTERS = 120
"""and where the number passes a check of its own: "my Aadhaar? The landlord wants it. Number is …"."""

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
        if is_card(digits) and not _OTHER_NUMBER.search(_before(text, match.start())):
            yield match.span()


_TEST_CARDS = frozenset(
    {
        *("4242424242424242", "4111111111111111", "4012888888881881", "4000056655665556"),
        *("5555555555554444", "5105105105105100", "2223003122003222", "378282246310005"),
        *("371449635398431", "6011111111111117", "6011000990139424", "30569309025904", "3530111333300000"),
    }
)
"""Numbers that payment companies publish for tests: they pass the check and pay for nothing."""


_EXAMPLE_IBANS = frozenset(
    {
        *("GB82WEST12345698765432", "GB29NWBK60161331926819", "GB33BUKB20201555555555"),
        *("DE89370400440532013000", "DE91100000000123456789", "FR1420041010050500013M02606"),
        *("FR7630006000011234567890189", "NL91ABNA0417164300", "CH9300762011623852957"),
        *("ES9121000418450200051332", "IT60X0542811101000000123456", "BE68539007547034"),
        *("AT611904300234573201", "IE29AIBK93115212345678", "PL61109010140000071219812874"),
        *("PT50000201231234567890154", "SE4550000000058398257466", "NO9386011117947"),
    }
)
"""Of the registry, of encyclopedias and of payment companies."""
_CARD_CODE = lazy(r"(?<![\w./,:$€£#-])(?<!\d )\d{3,4}(?![\w/%-]|[.,]\d| \d)")
_CARD_CODE_WITHIN = 90
"""Characters behind a card's number."""


def card_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands behind the number of a card like the digits on its back, whatever it is called."""
    yield from _codes_behind(payment_cards(text), text)


def issued_card_codes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the same behind the cards that a bank may have given out."""
    yield from _codes_behind(issued_cards(text), text)


def _codes_behind(cards: Iterator[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    for _, end in cards:
        found = _CARD_CODE.finditer(text, end, min(len(text), end + _CARD_CODE_WITHIN))
        codes = (match.span() for match in found if not re.fullmatch(r"(?:19|20)\d\d", match[0]))
        yield from islice(codes, 2)  # it may be valid until "0828"


def published_examples(text: str) -> Iterator[tuple[int, int]]:
    """Yield numbers that everybody knows from documentation: they pass their check and are nobody's."""
    for start, end in payment_cards(text):
        if re.sub(r"\D", "", text[start:end]) in _TEST_CARDS:
            yield start, end
    for start, end in ibans(text):
        if _is_example_iban(text[start:end]):
            yield start, end


_PARCEL = lazy(r"(?<![A-Za-z0-9])1Z(?: ?[A-Z0-9]){15} ?\d(?![A-Za-z0-9])")
_WALLET = lazy(r"(?<![A-Za-z0-9])[13][1-9A-HJ-NP-Za-km-z]{25,33}(?![A-Za-z0-9])")
_BASE_58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def public_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield what anybody may know, and is proven by its check digits: parcels and addresses of wallets."""
    for match in _PARCEL.finditer(text):
        if _is_parcel(match[0].replace(" ", "")):
            yield match.span()
    for match in _WALLET.finditer(text):
        if _is_wallet(match[0]):
            yield match.span()


def _is_parcel(number: str) -> bool:
    """Return whether the last digit is the one that UPS puts behind the others."""
    values = [int(one) if one.isdigit() else (ord(one) - 63) % 10 for one in number[2:17]]
    return (-sum(value * (1 + place % 2) for place, value in enumerate(values))) % 10 == int(number[17])


def _is_wallet(address: str) -> bool:
    """Return whether the end of a Bitcoin address is the checksum of the rest."""
    number = 0
    for one in address:
        number = number * 58 + _BASE_58.index(one)
    if number.bit_length() > 200:
        return False
    content = number.to_bytes(25, "big")
    return sha256(sha256(content[:-4]).digest()).digest()[:4] == content[-4:]


def issued_ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the IBANs that a bank may have given out."""
    yield from ((start, end) for start, end in ibans(text) if not _is_example_iban(text[start:end]))


def _is_example_iban(number: str) -> bool:
    return re.sub(r"[^A-Z\d]", "", number.upper()) in _EXAMPLE_IBANS


def issued_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield the card numbers that a bank may have given out: none that is published for tests."""
    for start, end in payment_cards(text):
        if re.sub(r"\D", "", text[start:end]) not in _TEST_CARDS:
            yield start, end


def ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield IBANs that pass their check."""
    for match in _IBAN.finditer(text):
        length = IBAN_CHARACTERS.get(match[0][:2].upper(), 0)
        end = _end_of(text, match.start(), length)
        if length and end and _is_iban(text[match.start() : end].replace(" ", "").replace("-", "")):
            yield match.start(), end


def bank_accounts(text: str) -> Iterator[tuple[int, int]]:
    """Yield IBANs that pass their check, and account, sort and routing numbers that are called so."""
    yield from ibans(text)
    lower = text.lower()
    for match in _ACCOUNT.matches(text, lower):
        yield match.span()
    for match in _ROUTING.matches(text, lower):
        if is_routing_number(match[1]):
            yield match.span(1)


def _is_iban(bare: str) -> bool:
    is_plain = bare.isupper() or sum(map(str.isdigit, bare)) >= _IBAN_DIGITS
    return is_plain and is_iban(bare.upper())


def _end_of(text: str, start: int, length: int) -> int | None:
    """Return the position after `length` letters and digits in groups, or None where they run out."""
    seen, position = 0, start
    while seen < length and position < len(text):
        seen += text[position] not in " -"
        position += 1
    alone = position >= len(text) or not text[position].isalnum()
    return position if seen == length and alone else None


def _is_unchecked(_number: str) -> bool:
    """Stand for the check of a number that has no check digit."""
    return True


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
            is_uk_insurance,
            None,
            6,
        ),
        (r"[XYZ]-?\d{7}-?[A-Z]", is_spanish_id, None, 7),
        (r"\d{8}-?[A-Za-z]", is_spanish_id, r"\bdni\b|\bnif\b|documento", 8),
        (r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", is_italian_code, None, 7),
        (r"\d{3}\.\d{3}\.\d{3}-\d\d", is_brazilian_id, None, 11),
        (r"\d{11}", is_brazilian_id, r"\bcpf\b", 11),
        (r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d{4}[\dXx]", is_chinese_id, None, 17),
        (
            r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d",
            is_french_number,
            None,
            12,
        ),
        (r"\d\d ?\d{3} ?\d{3} ?\d{3}", is_german_tax_id, r"steuer|\bidnr|\btax id|\btin\b", 11),
        (r"\d{11}", is_polish_id, r"\bpesel\b", 11),
        (r"\d{3}[ -]?\d{3}[ -]?\d{3}", is_luhn, r"\bsin\b|social insurance", 9),
        (r"\d{3} ?\d{3} ?\d{2,3}", is_australian_tax_number, r"\btfn\b|tax file", 8),
        (r"(?:\d\d)?\d{6}[-+]?\d{4}", is_swedish_id, r"person(?:nummer|al identity)", 10),
        (r"\d{8,9}", is_dutch_id, r"\bbsn\b|burgerservice|sofi-?nummer", 8),
        (r"\d{4}[ -]?\d{4}[ -]?\d{4}", is_verhoeff, r"aadhaa?r|uidai", 12),
        (r"\d{4} ?\d{4} ?\d{4}", is_japanese_number, r"my ?number|マイナンバー|個人番号", 12),
        (r"\d{6}-?[1-8]\d{6}", _is_unchecked, r"주민등록|resident registration", 13),
        (r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]", _is_unchecked, r"\bpan\b", 4),
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


def checked_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield national numbers with a check digit that fits."""
    yield from _national_ids(text, is_proof=True)


def _national_ids(text: str, *, is_proof: bool) -> Iterator[tuple[int, int]]:
    digits = len(_DIGIT.findall(text))
    for form, check, cue, least in _GOVERNMENT:
        if digits < least or (is_proof and check is _is_unchecked):
            continue
        for match in form.finditer(text):
            before = text[max(0, match.start() - _CHECKED_CUE_CHARACTERS) : match.start()]
            if (cue is None or cue.search(before)) and check(match[0]):
                yield match.span()


def government_ids(text: str) -> Iterator[tuple[int, int]]:
    """Yield national numbers that pass their check, and what follows "passport", "licence" and the like."""
    if not _DIGIT.search(text):
        return
    yield from _national_ids(text, is_proof=False)
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
    r"contact number|number is|number:|numara\w{0,5}|telefon\w{0,4}|gsm|cep|nr tel|"
    r"numer\w{0,3}|komórk\w{1,3}|mobiel|tlf|puhelin\w{0,4}|nummeret|τηλ\w{0,8}|số điện thoại)\b|"
    r"手机|电话|手機|電話|携帯|番号|전화|핸드폰|휴대폰"
)
_REGIONS = (
    "US",
    "GB",
    "DE",
    "FR",
    "ES",
    "IT",
    "RU",
    "CN",
    "JP",
    "IN",
    "BR",
    "NL",
    "PL",
    "KR",
    "AU",
    "TR",
    "SE",
    "NO",
    "DK",
    "FI",
    "PT",
    "MX",
    "AR",
    "CA",
    "IE",
    "AT",
    "CH",
    "BE",
    "CZ",
    "ZA",
    "NZ",
    "GR",
    "UA",
    "IL",
)
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
