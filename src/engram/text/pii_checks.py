"""
Check digits: say whether a number can be what it looks like.

Called by `pii_numbers`; calls nothing. Each function takes the number with or without its separators and
returns False for whatever does not fit, so a caller needs no second test of the length.
The rules are published: by the card brands, in ISO 13616 and ISO 7064, by the offices that issue the numbers.
"""

from __future__ import annotations

import re

from engram.text.lazy import lazy

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
    """Say whether the last digit is right by the rule of cards: double every second, add the digits."""
    digits = _digits(number)[::-1]
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[1::2])
    return len(digits) > 1 and any(digits) and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def is_card(number: str) -> bool:
    """Say whether it is the number of a payment card: a brand, its length, Luhn."""
    return bool(_CARD_BRANDS.fullmatch(number)) and len(set(number)) > 1 and is_luhn(number)


def is_iban(number: str) -> bool:
    """Say whether an IBAN without spaces passes ISO 7064 mod 97."""
    if IBAN_CHARACTERS.get(number[:2]) != len(number) or not number.isascii() or not number.isalnum():
        return False
    return int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1


def is_routing_number(number: str) -> bool:
    """Say whether nine digits are a US bank's routing number."""
    digits = _digits(number)
    return len(digits) == 9 and any(digits) and _weighted(digits, (3, 7, 1) * 3) % 10 == 0


def is_uk_insurance(number: str) -> bool:
    """Say whether a National Insurance number has letters that are given out."""
    return number[:2] not in _UK_UNUSED


def is_spanish_id(number: str) -> bool:
    """Say whether the letter of a Spanish DNI or NIE fits."""
    bare = number.replace("-", "").upper()
    counted = "012"["XYZ".index(bare[0])] + bare[1:-1] if bare[0] in "XYZ" else bare[:-1]
    return _SPANISH_LETTERS[int(counted) % 23] == bare[-1]


def is_italian_code(number: str) -> bool:
    """Say whether the last letter of an Italian codice fiscale fits."""
    odd = sum(_ITALIAN_ODD[character] for character in number[:15:2])
    even = sum(int(character, 36) - 10 * character.isalpha() for character in number[1:15:2])
    return chr(ord("A") + (odd + even) % 26) == number[15]


def is_brazilian_id(number: str) -> bool:
    """Say whether both check digits of a Brazilian CPF fit."""
    digits = _digits(number)
    if len(digits) != 11 or len(set(digits)) == 1:
        return False
    first = _weighted(digits[:9], tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(digits[:10], tuple(range(11, 1, -1))) * 10 % 11 % 10
    return digits[9:] == [first, second]


def is_chinese_id(number: str) -> bool:
    """Say whether the last character of a Chinese resident number fits."""
    weights = tuple(2**power % 11 for power in range(17, 0, -1))
    return "10X98765432"[_weighted(_digits(number[:17]), weights) % 11] == number[17].upper()


def is_french_number(number: str) -> bool:
    """Say whether the two check digits of a French social security number fit; Corsica is 19 and 18."""
    bare = number.replace(" ", "").replace("2A", "19").replace("2B", "18")
    return len(bare) == 15 and bare.isdigit() and int(bare[13:]) == 97 - int(bare[:13]) % 97


def is_german_tax_id(number: str) -> bool:
    """Say whether the last digit of a German tax number fits by ISO 7064 mod 11, 10."""
    digits, product = _digits(number), 10
    if len(digits) != 11 or digits[0] == 0:
        return False
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[10]


def is_polish_id(number: str) -> bool:
    """Say whether the last digit of a Polish PESEL fits."""
    return _weighted(_digits(number), (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def is_australian_tax_number(number: str) -> bool:
    """Say whether an Australian tax file number fits."""
    digits = _digits(number)
    return len(digits) == 9 and _weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def is_swedish_id(number: str) -> bool:
    """Say whether the last ten digits of a Swedish personnummer pass Luhn."""
    digits = re.sub(r"\D", "", number)
    return len(digits) in {10, 12} and is_luhn(digits[-10:])


def is_dutch_id(number: str) -> bool:
    """Say whether a Dutch BSN passes the test of eleven."""
    digits = _digits(number.rjust(9, "0"))
    return any(digits) and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_japanese_number(number: str) -> bool:
    """Say whether the last digit of a Japanese individual number fits."""
    digits = _digits(number)
    rest = _weighted(digits[:11][::-1], (2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6)) % 11
    return len(digits) == 12 and digits[11] == (0 if rest <= 1 else 11 - rest)


def is_verhoeff(number: str) -> bool:
    """Say whether a number passes Verhoeff's check, as an Indian Aadhaar number must."""
    check = 0
    for position, digit in enumerate(reversed(_digits(number))):
        check = int(_VERHOEFF_TIMES[check][int(_VERHOEFF_TURNS[position % 8][digit])])
    return check == 0
