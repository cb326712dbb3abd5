"""
Find people in text: mail addresses, and names with which someone is introduced.

Called by `pii.classify`; calls nothing but the word lists in `pii_places`. Without a model a name is found
only where someone is introduced ("my name is …", "my sister Anna").
A name that merely occurs in a sentence is left alone: every second memory has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.text.lazy import lazy
from engram.text.pii_cues import cued
from engram.text.pii_places import NOT_NAMES, PEOPLES, TECHNOLOGY

if TYPE_CHECKING:
    from collections.abc import Iterator

UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĘĚĞĢĪİĶĹĻŁŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽȘȚΑ-ΩΆΈΉΊΌΎΏЁА-Я"
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"

_EMAIL = lazy(
    r"(?<![A-Za-z0-9._%+'-])[A-Za-z0-9_%+'-][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.)"
    r"{1,6}[A-Za-z]{2,24}(?![\w-])"
)
_SPELLED_EMAIL = cued(
    "(at),( at ),[at],[ at ]",
    r"(?i)(?<![\w.])[\w.+-]{1,64} ?[\[(] ?at ?[\])] ?[\w-]{1,63}(?: ?(?:[\[(] ?dot ?[\])]|\.) "
    r"?[\w-]{2,63}){1,3}",
)


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield mail addresses, plain or with (at) and (dot); a repository's `git@host:path` is none."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            if not match[0].startswith("git@") and text[match.end() : match.end() + 2] not in {":~", ":/"}:
                yield match.span()
    for match in _SPELLED_EMAIL.matches(text, text.lower()):
        yield match.span()


_TITLE = r"(?:(?:Dr|Mr|Mrs|Ms|Mx|Prof|Sir|Herr|Frau|Doña|Don)\b\.? )?"
_FIRST = rf"[{UPPER}][\w'’-]{{0,30}}"
_NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Mx|Prof|Sir|Herr|Frau|Doña|Don)\b\.? )?"
    rf"(?:[{UPPER}][\w'’-]{{0,30}})(?: (?:(?:van|von|de|da|del|der|bin|al|la|di|dos)\b ?){{0,"
    rf"3}}[{UPPER}][\w'’.-]{{0,30}}){{0,3}}"
)
RELATION = (
    r"(?:wife|husband|spouse|partner|fianc[ée]e?|girlfriend|boyfriend|ex|son|daughter|baby|"
    r"child|kid|brother|sister|twin|mother|"
    r"father|mom|mum|dad|stepmother|stepfather|uncle|aunt|cousin|nephew|niece|grandmother|"
    r"grandfather|grandma|grandpa|"
    r"grandson|granddaughter|friend|roommate|flatmate|housemate|neighbou?r|boss|manager|"
    r"supervisor|colleague|coworker|"
    r"co-worker|teammate|cofounder|co-founder|assistant|mentor|coach|teacher|tutor|professor|"
    r"doctor|dentist|therapist|"
    r"psychiatrist|lawyer|landlord|landlady|nanny|babysitter|accountant|client|advisor|pediatrician|"
    r"in-laws)"
)
OWNER = r"(?:my|our|his|her|their|your|(?:the )?user['’]s|(?-i:[A-Z]\w{1,20})['’]s)"
_STATED_NAME = cued(
    "name,heiße,heisse,appelle,llamo,nombre,chiamo,nome,chamo,heet,naam,nazywam,imię,heter,"
    "hedder,зовут,имя,звати,adım",
    rf"\b(?i:(?:{OWNER} (?:(?:\w+ )?{RELATION}['’]s )?(?:full |first |last |middle |maiden |"
    rf"real |legal |sur|nick)?name(?:['’]s| is)|"
    r"ich heiße|ich heisse|mein name ist|je m['’]appelle|mon nom est|me llamo|mi nombre es|mi "
    r"chiamo|il mio nome è|"
    r"meu nome é|me chamo|ik heet|mijn naam is|nazywam się|mam na imię|jag heter|jeg heter|jeg hedder|"
    r"меня зовут|моё имя|мое имя|мене звати|benim adım|adım))"
    rf"[:,]? (?P<name>{_NAME}|[^\W\d_]{{2,20}})",
)
_WEAK_NAME = cued(
    "i'm,i’m,i am,call me,go by,address me,known as,ich bin,je suis,soy,sono,sou,это,я ",
    rf"\b(?i:i['’]m|i am|call me|i go by|address me as|known as|ich bin|je suis|soy|sono|sou|"
    rf"eu sou|это|я)\s(?P<name>{_NAME})"
    r"(?=[.,;:!?)\n]|\s(?i:and|from|by|at|here|und|aus|et|de|y|e|и|из)\b|\s*\Z)",
)
_ON_THE_LINE = cued(
    "this is,here is,it's,it’s,hier ist,c'est,c’est",
    rf"\b(?i:this is|here is|it['’]s|hier ist|c['’]est)\s(?P<name>{_NAME})\s(?i:from|speaking|"
    rf"calling|here|again|of)\b",
)
_GREETING = cued(
    "it's,it’s,signed,regards,sincerely,best,gruß,grüße",
    rf"\b(?i:(?:hey|hi|hello|yo),? it['’]s|signed,?|(?:kind |best |warm )?regards,?|sincerely,?|"
    rf"(?:viele |liebe |mit freundlichen )?grü(?:ße|ßen),?)\s{{1,3}}(?P<name>{_NAME})(?=[,.!\n]|\s*\Z)",
)
_RECORD = cued(
    "name:,patient,customer,candidate,applicant,employee,tenant,caller,suspect",
    rf"\b(?i:(?:the |our )?(?:patient|customer|candidate|applicant|employee|tenant|caller|"
    rf"suspect)(?:['’]s name)? (?:is|was)|"
    rf"(?:full |first |last |customer |patient |contact |client )?name:) "
    rf"(?P<name>{_TITLE}{_FIRST} {_FIRST}(?: {_FIRST})?)",
)
_TITLED_RELATION = cued(
    "herr,frau,dr.",
    rf"\b(?i:mein|meine|unser|unsere|ihr|sein) [^\W\d_]{{3,20}} (?i:ist|war|heißt) "
    rf"(?P<name>(?:Herr|Frau|Dr\.) {_FIRST})",
)
_RELATED_NAME = cued(
    "my ,our ,his ,her ,their ,your ,'s ,’s ",
    rf"\b(?i:{OWNER} (?:(?!name\b)[\w-]{{1,15}} ){{0,2}}?{RELATION})(?P<link>,? (?i:is "
    rf"(?:called|named)|called|named|is|was)|,)? (?P<name>{_NAME})",
)
_SOMEONE_NAMED = cued(
    "named,called",
    rf"\b(?i:someone|somebody|(?:man|woman|guy|girl|boy|lady|person|veteran|student|patient|"
    rf"customer|kid|child|nurse|lawyer|doctor)"
    rf"(?: who is| who's)?) (?i:named|called) (?P<name>{_NAME})",
)
_FOREIGN_RELATION = cued(
    "heißt,heisst,appelle,llama,chiama,chama,зовут,heet,heter",
    rf"\b(?i:(?:mein|meine|unser|unsere|sein|ihr|mon|ma|mi|mio|mia|meu|minha|мой|моя|mijn|min) "
    rf"[^\W\d_]{{3,20}} "
    rf"(?:heißt|heisst|s['’]appelle|se llama|si chiama|se chama|зовут|heet|heter)) (?P<name>{_NAME})",
)
_PETS = lazy(
    r"(?i)\b(?:hund|katze|kater|pferd|hamster|firma|projekt|chien|chat|perro|perra|gato|gata|"
    r"cane|gatto|gatta|собак\w|кот|кошк\w|cachorro|hond|kat|katt)\b"
)
_CJK_NAME = cued(
    "叫,名字,名前,이름,저는",
    r"(?:我(?:的名字)?(?:叫|是叫)|我的名字是|(?:他|她)(?:的名字)?叫|"
    r"我的?(?:老板|妈妈|爸爸|妻子|丈夫|老婆|老公|儿子|女儿|哥哥|弟弟|姐姐|妹妹|朋友|同事|老师|医生|经理)叫|"
    r"(?:私の)?名前は|제 이름은|내 이름은|저는)"
    rf"\s?(?P<name>[{CJK}\uac00-\ud7af]{{2,6}}?)(?=[，。,.！!、\s]|です|と申|といい|입니다|이에요|예요|\Z)",
)
_INTRODUCTIONS = (
    *(_STATED_NAME, _WEAK_NAME, _ON_THE_LINE, _GREETING, _RECORD),
    *(_RELATED_NAME, _SOMEONE_NAMED, _FOREIGN_RELATION, _TITLED_RELATION),
)
_POSSESSIVE = lazy(r"['’]s?\Z")
_CJK_NOT_NAMES = ("什么", "何", "他", "她", "你", "了", "车", "外卖")


def person_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield names with which someone is introduced; pets, projects, peoples and jobs are not names."""
    lower = text.lower()
    for pattern in _INTRODUCTIONS:
        for match in pattern.matches(text, lower):
            if _is_name(match["name"]) and not (pattern is _FOREIGN_RELATION and _PETS.search(match[0])):
                yield match.start("name"), match.start("name") + len(_POSSESSIVE.sub("", match["name"]))
    for match in _CJK_NAME.matches(text, lower):
        if not match["name"].startswith(_CJK_NOT_NAMES):
            yield match.span("name")


def _is_name(found: str) -> bool:
    words = found.lower().split()
    first = words[0].rstrip(".")
    return first not in NOT_NAMES and first not in PEOPLES and first not in TECHNOLOGY and "_" not in found
