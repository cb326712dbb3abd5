"""What identifies, unlocks or is nobody's business is found in natural talk; lookalikes are left alone."""

from __future__ import annotations

import time

import pytest

from engramdb.text.pii import CONFIDENTIAL, classify, conceal_secrets, is_withheld
from engramdb.values import SecurityTier
from engramdb.values.privacy import PiiKind

SECRETS = (
    "the puk is 12345678",
    "to get into the office you type 7731 and then hash",
    "The garage opens with 9-1-7-3",
    "the passcode for the gym locker is my birth year, 1988",
    "he told me how to open the safe, he said twenty-two left, nine right, forty left",
    "my login is ann / tulip99",
    "New code is 58310, Karolina already has it",
    "the hotel safe jammed, he had set it to 190466",
    "my password's hunter2canA",
    "login for the router: admin/canRouter9",
    "temporary password, Heifer-Jotun-55",
    "SMS says 482 913 don't share with anyone",
    "the spare phone unlocks with four eight one five",
    "our house alarm: seven seven two one then off",
    "Bitlocker recovery key 482913-003918-117392-550281-664829-118203-449201-772918",
    "totp secret for the vpn is JBSWY3DPEHPK3PXP",
    "eth private key 0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
    "wallet WIF 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ",
    "Server=tcp:db1,1433;User ID=sa;Password=Zeb!ra77;Encrypt=True",
    "mongodb+srv://app:kQ9-tree@cluster0.abcd.mongodb.net/prod",
    "AccountKey=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm8=",
    "https://store.blob.core.windows.net/c/f?sv=2022-11-02&sig=abcDEF123%2Fxyz456uvw789&se=2026",
    "my social is 123 45 6789",
    "her NRIC is S1234567D",
    "CURP: GOMC900514HDFRRL09",
    "el DNI de mi padre es 12345678Z",
    "mi cuenta: ES91 2100 0418 4502 0005 1332",
    "our Wise account is 8310 2984 77 and the routing 026073150",
    "the wlan key on the fridge says Kirschbaum-Regen-1987",
    "guest network: lindenhof / passwort Apfelkuchen12",
    "Das WLAN-Passwort lautet Sommerregen!24",
    "le code de l'immeuble c'est 47B92",
    "el pin de la tarjeta es 9034",
    "codice del cancello 4471",
    "mot de passe de la box : tournesol-78-vert",
    "the gym locker combo's 12-34-08",
    "garage keypad 0417",
    "put 3390 into the lockbox and take the key",
    "amex 3782 822463 10005 exp 04/27 cid 1234",
    "my visa card expires 12/27",
    "the visa expires 04/28 / 123",
    "my Medicare number is 1EG4-TE5-MK73",
    "steuer-id 86 095 742 719",
    "INE passport AB1234567 expires in May",
    "passport no. 533380006",
    "green card A123456789",
    "licence MORGA753116SM9IJ",
    "ANTHROPIC_API_KEY=sk-ant-api03-abcdefghijklmnop1234567890",
    'curl -H "X-Api-Key: 9f8a7b6c5d4e3f2a1b0c" https://api.foo.dev',
    "DISCORD_TOKEN=MTA1NzY4NzY0NTY3ODkwMTIz.GhJkLm.abcdefghijklmnopqrstuvwxyz012345",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "your login code: 77120",
    "root pw hunter2!",
    "pw for the printer is still Brother2019",
    "Netflix: mia@web.de / Tulpe#4455",
    "the answer to my security question is Bubbles",
    "numer karty to 4539 1488 0343 6467, ważna do 06/29, z tyłu 208",
    '{"pan":"5425233430109903","exp":"0828","cvc":"419"}',
    "they gave me these when two factor went on: 4f8a1-c27de, 90b3e-7715a, keep them",
    "on the old modem I used admin / Karpuz_1453* and it stopped working",
    "the trade fair portal is under tidemark and the pass is Bathr00m_Adjacent9",
    "the tax office login is now Damper.Tray.5ept and I'm off to bed",
    "Windows signing was easy, the pfx wants Bias.Osc_150k and that's it",
    "ngozi's known traveler number is TT81Z04QK for the booking",
    "旅券番号はTZ4187302です",
    "the DMV kiosk found no record for D7340918, did I mistype it?",
    "Is it fine to send the landlord my Aadhaar? He wants a photo on WhatsApp. Number is 2341 2341 2346 then",
)
PERSONAL = (
    "dr says my ferritin is 6",
    "my son's on keppra since the fit in March",
    "Mama nimmt jetzt Blutverdünner",
    "je suis séropositif depuis 2009",
    "tengo diabetes tipo 1",
    "我对青霉素过敏",
    "I had an abortion in 2019",
    "my therapist thinks it's cptsd",
    "we're doing IVF round three",
    "Leo's peanut allergy is back",
    "she's bipolar, please be gentle",
    "born 4/5/91 in Leeds",
    "my birthday is the 12th of March",
    "Geburtstag von Oma: 3.7.1939",
    "DOB 1990-02-30? no 1990-02-28",
    "née le 14 juillet 1988",
    "I earn 68k before tax",
    "mein Bruttogehalt ist 4.200 Euro",
    "they offered me a salary of 95,000 plus bonus",
    "call me on 07700 900123",
    "my cell: (415) 555-0132",
    "+49 151 23456789 is my new number",
    "live at 14 Rue Oberkampf, 75011 Paris",
    "ship it to Flat 3, 22 Albert Rd, Leeds LS6 1AB",
    "Hauptstraße 12, 10115 Berlin",
    "jana.k@posteo.de",
    "the warehouse bumped me to $23.85 an hour, nights included",
    "HR says my CTC is 18.4 LPA and half of it vanishes",
    "우리 할머니 생신은 1938년 10월 4일이에요",
)
ORDINARY = (
    "send applications to jobs@riversidefoodbank.org by the 30th",
    'placeholder="you@example.com" or placeholder="name@company.tld", which reads friendlier?',
    "the login page is admin/dashboard2 these days",
    "parking is $5 an hour near the station",
    "two factor is on for 12000 people, version 2024-10",
    "the portal is slow since Release_2.14.0",
    "my pass is valid until Friday",
    "the flight BA2490 lands 14:35",
    "the key metric is 4711 signups",
    "our house number is 4711",
    "type 2024 into the year field",
    "the promo code is SAVE2024",
    "port 5432 is taken",
    "the PIN header on the board has 40 pins",
    "use pin 12 for the LED",
    "error code 4041 again",
    "status code 5003",
    "the combination of 3 factors",
    "pick 4 of 12 candidates",
    "issue 48291 and PR 5512",
    "our zip code lookup takes 94107",
    "version 2024.10.1",
    "ISBN 978-3-16-148410-0",
    "order 112-3384756-9021",
    "commit 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a",
    "uuid 550e8400-e29b-41d4-a716-446655440000",
    "set the password policy to 12 characters",
    "rotate the API key every 90 days",
    "password hashing with bcrypt cost 12",
    "OTP library version 2.4.1",
    "the login endpoint returned 401 after 300 ms",
    "health check on port 8080 failed 3 times",
    "patch the server tonight",
    "depression over Iceland brings rain",
    "the heart of the problem",
    "Python was born in 1991",
    "birthday party at 7 on 12 March",
    "the account has 1500 followers",
    "salary bands are public",
    "we pay 49 euros for hosting a month",
    "average salary in Berlin is 52,000",
    "call the function 12 times",
    "flight LH 1234 seat 14A",
    "room 4021, gate B22",
    "model number SM-G991B",
    "meeting id 845 2210 9931",
    "passport photos cost 14.99",
    "driving licence renewal takes 3 weeks",
    "my license key expired",
    "My visa expires on 12/01/2027",
    "my visa expires on 05 / 12 / 2027",
    "the visa expires 12/24/2027",
    "the safe default is 4096",
    "door to door in 45 minutes",
    "lock timeout is 5000",
    "sort code by date",
    "The alarm went off at 0645",
    "account for 30% of the traffic",
    "use the token bucket with 1000 tokens",
    "bank holiday on 26 December",
    "member function 12 in class Foo",
    "tax is 19 percent",
    "verification took 120000 steps",
    "set the backup window to 120000",
    "security patch 2024-11",
    "security code review on 2024-05-06",
    "code 39 barcode",
    "address 0x7ffd9a3c",
    "10.0.0.12 is the gateway",
    "192.0.2.1 in the docs",
    "the stroke width is 2px",
    "surgery on the build scripts",
    "anxiety about the release",
    "the doctor in the series is great",
    "I'm sick of this bug",
    "the app crashed, total heart attack",
    "kill the process, it is a zombie",
    "baby steps",
    "the twins problem in physics",
)


@pytest.mark.parametrize("text", SECRETS)
def test_what_unlocks_or_identifies_is_confidential_and_can_be_masked(text: str) -> None:
    """A code, a key or an official number is found where it stands, so that the rest can be shown."""
    found = classify(text)
    assert found.tier is SecurityTier.CONFIDENTIAL
    assert any(span.kind in CONFIDENTIAL for span in found.spans)
    masked = conceal_secrets(text)
    assert all(text[span.start : span.end] not in masked for span in found.spans if span.kind in CONFIDENTIAL)


@pytest.mark.parametrize("end", ["\n-----END OPENSSH PRIVATE KEY-----", ""])
def test_a_private_key_is_masked_whole(end: str) -> None:
    """Not its first line alone, and also where the end was cut off."""
    body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz"
    masked = conceal_secrets(f"here it is:\n-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n{body}{end}")
    assert body not in masked
    assert "PRIVATE KEY" not in masked
    assert masked.startswith("here it is:")


@pytest.mark.parametrize("text", PERSONAL)
def test_what_is_nobodys_business_is_sensitive(text: str) -> None:
    """Health, birth dates, incomes, addresses and numbers to reach somebody are at least sensitive."""
    assert classify(text).tier is SecurityTier.SENSITIVE
    assert is_withheld(text, SecurityTier.SENSITIVE)


@pytest.mark.parametrize("text", ORDINARY)
def test_lookalikes_are_ordinary_talk(text: str) -> None:
    """Numbers, codes and words of medicine that are about nobody are left alone."""
    assert classify(text).tier is SecurityTier.CLEARTEXT


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mum's on warfarin since the clot", PiiKind.HEALTH),
        ("our daughter was born on 3 May 2019", PiiKind.BIRTH_DATE),
        ("I make $87,000 before bonus", PiiKind.INCOME),
    ],
)
def test_each_private_kind_has_a_name(text: str, kind: PiiKind) -> None:
    """A finding says what it is."""
    assert kind in classify(text).kinds


REPEATED = (
    "pin 1 ",
    "alarm code ",
    "born born ",
    "my pay ",
    "stage two ",
    "from a1 to ",
    "wifi key ",
    "4 4 ",
)


@pytest.mark.parametrize("unit", REPEATED)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    """Four times the text takes about four times as long, whatever is repeated."""

    def seconds(times: int) -> float:
        text = unit * times
        begun = time.process_time()
        classify(text)
        return time.process_time() - begun

    seconds(10)
    short = min(seconds(2_000) for _ in range(3))
    long = min(seconds(8_000) for _ in range(3))
    assert long <= 10 * short + 0.05


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Das Passwort lautet: Sommer22", "Sommer22"),
        ("A jelszó: cica2020", "cica2020"),
        ("Salasana on kissa99", "kissa99"),
        ("lösenordet är hund2021", "hund2021"),
        ("הסיסמה היא hatul22", "hatul22"),
        ("ο κωδικός είναι gata22", "gata22"),
        ("كلمة السر هي Jamal2020", "Jamal2020"),
    ],
)
def test_a_password_is_one_in_any_of_these_languages(text: str, secret: str) -> None:
    """The value is masked, and nothing else."""
    assert conceal_secrets(text) == text.replace(secret, "[confidential]")


def test_the_verb_before_a_value_is_no_secret() -> None:
    """The German verb used to be masked, and the value shown."""
    assert "lautet" in conceal_secrets("Das Passwort lautet: Sommerregen.")


@pytest.mark.parametrize(
    ("rule", "text", "secrets"),
    [
        ("bank_card", "at the cash machine she types 7 7 2 0, never anything else", ["7 7 2 0"]),
        ("card_code", "and the three digits on the back are 418", ["418"]),
        ("member", "Blue Cross has me under subscriber number XJH88201934", ["XJH88201934"]),
        ("tax", "HMRC wants my UTR, 4820193772", ["4820193772"]),
        ("short_national", "the IRD number they asked for: 481-920-337", ["481-920-337"]),
        ("short_national", "PPSN 4820193WA for the payroll form", ["4820193WA"]),
        ("_SENT", "they texted me 482 913 to confirm it's really me", ["482 913"]),
        ("_SIGNED", "the lobby door takes 4471#", ["4471#"]),
        ("_BELGIAN", "the commune has me as 85.07.30-033.28", ["85.07.30-033.28"]),
        (
            "_SWITCHED",
            "she changed her streaming one from gullwing71 to gullwing72",
            ["gullwing71", "gullwing72"],
        ),
        ("_on_the_command_line", "sshpass -p heronlake ssh ann@nas", ["heronlake"]),
        ("_on_the_command_line", "I run it as restic --password gullwing-lake backup", ["gullwing-lake"]),
        ("_on_the_command_line", "mysql -u shop -ptulip99 orders", ["tulip99"]),
        ("_on_the_command_line", "docker login -u ann -p gullwing71 ghcr.io", ["gullwing71"]),
        ("_CODES", "backup codes 4471 2290 1138", ["4471 2290 1138"]),
        ("_CODES", "the combination of the gun cabinet is 12 44 31 7 2", ["12 44 31 7 2"]),
        ("_PHRASE", "the pass phrase is velvet otter canyon thimble.", ["velvet otter canyon thimble"]),
    ],
)
def test_each_rule_finds_what_no_other_finds(rule: str, text: str, secrets: list[str]) -> None:
    """Without the rule of that name the sentence would be shown, or a part of the secret in it."""
    wanted = text
    for secret in secrets:
        wanted = wanted.replace(secret, "[confidential]")
    assert conceal_secrets(text) == wanted, rule
