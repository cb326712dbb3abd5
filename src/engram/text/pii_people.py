"""
Find people in text: mail addresses, names, where someone lives, postal addresses.

Called by `pii.classify`; calls nothing but the word lists in `pii_places`. Without a model a name is found only
where someone is introduced ("my name is …", "my sister Anna"), and a place only where someone lives there.
A name that merely occurs in a sentence is left alone: every second memory has one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text.pii_places import NOT_NAMES, PEOPLES, PLACES, TECHNOLOGY

if TYPE_CHECKING:
    from collections.abc import Iterator

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĘĚĞĢĪİĶĹĻŁŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽȘȚΑ-ΩΆΈΉΊΌΎΏЁА-Я"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"

_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+'-])[A-Za-z0-9_%+'-][A-Za-z0-9._%+'-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![\w-])"
)
_SPELLED_EMAIL = re.compile(
    r"(?i)(?<![\w.])[\w.+-]{1,64} ?[\[(] ?at ?[\])] ?[\w-]{1,63}(?: ?(?:[\[(] ?dot ?[\])]|\.) ?[\w-]{2,63}){1,3}"
)


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Yield mail addresses, plain or with (at) and (dot); a repository's `git@host:path` is none."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            is_repository = match[0].startswith("git@") or text[match.end() : match.end() + 2].strip(" ") in {":~", ":/"}
            if not is_repository:
                yield match.span()
    if "at" in text or "AT" in text:
        for match in _SPELLED_EMAIL.finditer(text):
            yield match.span()


_NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Mx|Prof|Sir|Herr|Frau|Doña|Don)\b\.? )?"
    rf"(?:[{_UPPER}][\w'’-]{{0,30}})(?: (?:(?:van|von|de|da|del|der|bin|al|la|di|dos)\b ?){{0,3}}[{_UPPER}][\w'’.-]{{0,30}}){{0,3}}"
)
_RELATION = (
    r"(?:wife|husband|spouse|partner|fianc[ée]e?|girlfriend|boyfriend|ex|son|daughter|baby|child|kid|brother|sister|twin|mother|"
    r"father|mom|mum|dad|stepmother|stepfather|uncle|aunt|cousin|nephew|niece|grandmother|grandfather|grandma|grandpa|"
    r"grandson|granddaughter|friend|roommate|flatmate|housemate|neighbou?r|boss|manager|supervisor|colleague|coworker|"
    r"co-worker|teammate|cofounder|co-founder|assistant|mentor|coach|teacher|tutor|professor|doctor|dentist|therapist|"
    r"psychiatrist|lawyer|landlord|landlady|nanny|babysitter|accountant|client|advisor|pediatrician)"
)
_OWNER = r"(?:my|our|his|her|their|your|(?:the )?user['’]s|(?-i:[A-Z]\w{1,20})['’]s)"
_STATED_NAME = re.compile(
    rf"\b(?i:(?:{_OWNER} (?:(?:\w+ )?{_RELATION}['’]s )?(?:full |first |last |middle |maiden |real |legal |sur|nick)?name(?:['’]s| is)|"
    r"ich heiße|ich heisse|mein name ist|je m['’]appelle|mon nom est|me llamo|mi nombre es|mi chiamo|il mio nome è|"
    r"meu nome é|me chamo|ik heet|mijn naam is|nazywam się|mam na imię|jag heter|jeg heter|jeg hedder|"
    r"меня зовут|моё имя|мое имя|мене звати|benim adım|adım))"
    rf"[:,]? (?P<name>{_NAME}|[^\W\d_]{{2,20}})"
)
_WEAK_NAME = re.compile(
    rf"\b(?i:i['’]m|i am|call me|i go by|address me as|known as|ich bin|je suis|soy|sono|sou|eu sou|это|я)\s(?P<name>{_NAME})"
    r"(?=[.,;:!?)\n]|\s(?i:and|from|by|at|here|und|aus|et|de|y|e|и|из)\b|\s*\Z)"
)
_ON_THE_LINE = re.compile(rf"\b(?i:this is|here is|it['’]s|hier ist|c['’]est)\s(?P<name>{_NAME})\s(?i:from|speaking|calling|here|again|of)\b")
_RELATED_NAME = re.compile(
    rf"\b(?i:{_OWNER} (?:(?!name\b)[\w-]{{1,15}} ){{0,2}}?{_RELATION})(?P<link>,? (?i:is (?:called|named)|called|named|is|was)|,)? (?P<name>{_NAME})"
)
_FOREIGN_RELATION = re.compile(
    rf"\b(?i:(?:mein|meine|unser|unsere|sein|ihr|mon|ma|mi|mio|mia|meu|minha|мой|моя|mijn|min) [^\W\d_]{{3,20}} "
    rf"(?:heißt|heisst|s['’]appelle|se llama|si chiama|se chama|зовут|heet|heter)) (?P<name>{_NAME})"
)
_PETS = re.compile(r"(?i)\b(?:hund|katze|kater|pferd|hamster|firma|projekt|chien|chat|perro|perra|gato|gata|cane|gatto|gatta|собак\w|кот|кошк\w|cachorro|hond|kat|katt)\b")
_CJK_NAME = re.compile(
    rf"(?:我(?:的名字)?(?:叫|是叫)|我的名字是|(?:他|她)(?:的名字)?叫|(?:私の)?名前は|제 이름은|내 이름은|저는)\s?(?P<name>[{_CJK}\uac00-\ud7af]{{2,6}}?)(?=[，。,.！!、\s]|です|と申|といい|입니다|이에요|예요|\Z)"
)
_CJK_NOT_NAMES = ("什么", "何", "他", "她", "你", "了", "车", "外卖")


def person_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield names with which someone is introduced; pets, projects, peoples and jobs are not names."""
    for pattern in (_STATED_NAME, _WEAK_NAME, _ON_THE_LINE, _RELATED_NAME, _FOREIGN_RELATION):
        for match in pattern.finditer(text):
            if _is_name(match["name"]) and not (pattern is _FOREIGN_RELATION and _PETS.search(match[0])):
                yield match.span("name")
    for match in _CJK_NAME.finditer(text):
        if not match["name"].startswith(_CJK_NOT_NAMES):
            yield match.span("name")


def _is_name(found: str) -> bool:
    words = found.lower().split()
    first = words[0].rstrip(".")
    return first not in NOT_NAMES and first not in PEOPLES and first not in TECHNOLOGY and "_" not in found


_WHO = rf"(?:i|we|he|she|they|who|(?:the )?user|{_OWNER} (?:\w+ )?(?:{_RELATION}s?|parents|family|children|kids|grandparents|in-laws))"
_PLACE = (
    rf"(?P<place>(?:the |(?:(?:a|an|the) (?:[a-z-]+ ){{1,4}}?(?:in|near|outside|of|called) ))?(?:[{_UPPER}][\w'’.-]{{1,30}})"
    rf"(?:,? [{_UPPER}][\w'’.-]{{1,30}}){{0,3}}|(?!(?:the|a|an|my|our|fear|hope)\b)[a-z]{{3,20}})"
)
_ADVERB = r"(?:currently |now |still |actually |just |recently |also |both |all |used to |originally )?"
_LIVES = re.compile(
    rf"\b(?:(?i:{_WHO})|[{_UPPER}]\w{{1,20}})(?:['’](?:m|re|s|ve|d))? (?i:(?:am |are |is |was |were |have |has |had |been )?{_ADVERB}"
    r"(?:live[sd]?|living|resid(?:e[sd]?|ing)|based|settled|grew up|grown up|stay(?:s|ed|ing)?|born(?: and raised)?|raised|rent(?:s|ed|ing)?|"
    r"dwell(?:s|ing)?) (?:(?:with|together|alone|here|happily)(?: my \w+| her \w+)? )?(?:in|near|outside|close to|just outside|around|at)) "
    + _PLACE
)
_MOVED = re.compile(
    rf"\b(?i:{_WHO})(?:['’](?:m|re|s|ve|d))? (?i:(?:am |are |is |have |has |had )?{_ADVERB}(?P<verb>mov(?:ed|ing)|relocat(?:ed|ing)|emigrated)"
    rf" (?:back |away |permanently |over )?(?:from (?:\w+ ){{1,3}})?to) {_PLACE}"
)
_FROM = re.compile(rf"\b(?i:i['’]m|i am|we['’]re|we are|she['’]s|he['’]s|user is|originally|i come|she comes|he comes) (?i:{_ADVERB}(?:originally )?from) {_PLACE}")
_HOME = re.compile(
    r"\b(?i:(?:my|our|his|her|their|user['’]s|the user['’]s) (?:home ?town|home ?city|birthplace|place of residence|city of residence|residence)"
    rf"(?: is| was|:)|(?:my|our|his|her|their|user['’]s) (?:\w+ )?(?:home|house|flat|apartment|place|condo|cottage)(?: is| was) (?:located )?(?:in|near|at|outside)) {_PLACE}"
)
_FOREIGN_HOME = re.compile(
    rf"(?i:\b(?:wohn(?:e|en|t|te)|leb(?:e|en|t)|aufgewachsen)(?: \w+)? (?:in|bei|nahe)|\b(?:komme|stamme) aus|\b(?:j['’]habite|habitent?|habitons|vivons|je vis)(?: \w+)? (?:à|en|au|aux|dans)|"
    r"\b(?:vivo|vive|vivimos|viven|resido)(?: \w+)? (?:en|a|em|in)|\bsoy de|\b(?:abito|abita|abitiamo)(?: \w+)? (?:a|in)|"
    r"\b(?:moro|mora|moramos)(?: \w+)? (?:em|no|na)|\b(?:woon|woont|wonen)(?: \w+)? in|\b(?:mieszkam|mieszka) we?|\bbor i|"
    rf"\b(?:жив(?:у|ет|ёт|ем|ём|ут)|проживаю)(?: \w+)? во?|\bя из) (?:(?:der|den|la|le|il|o|a) )?(?P<place>[{_UPPER}][\w'’-]{{1,30}})(?![\w]*\.\w)"
)
_CJK_HOME = re.compile(
    rf"住在(?!这|那|一起|酒店|哪|隔壁)[{_CJK}A-Za-z]{{2,12}}|[{_CJK}A-Za-z]{{2,10}}に(?:住んで|住む|住み|暮らし)|[\uac00-\ud7af]{{2,10}}에서? (?:살|거주)|我(?:来自|家在)[{_CJK}]{{2,8}}|[{_CJK}]{{2,8}}出身"
)
_COORDINATES = re.compile(r"(?i)\b(?:home|house|live|lives|wohne|address)\b[^\n]{0,30}?(-?\d{1,2}\.\d{3,}\s?,\s?-?\d{1,3}\.\d{3,})")


def locations(text: str) -> Iterator[tuple[int, int]]:
    """Yield where someone lives, lived or comes from; a visit or a server's region is not that."""
    for pattern in (_LIVES, _FROM, _HOME):
        for match in pattern.finditer(text):
            if _is_place(match["place"], known_only=match["place"][0].islower()):
                yield match.span("place")
    for match in _MOVED.finditer(text):
        if _is_place(match["place"], known_only=match["verb"].lower().startswith("mov")):
            yield match.span("place")
    for match in _FOREIGN_HOME.finditer(text):
        if _is_place(match["place"], known_only=False):
            yield match.span("place")
    for pattern in (_CJK_HOME, _COORDINATES):
        for match in pattern.finditer(text):
            yield match.span()


_ARTICLES = re.compile(r"\A(?:the|a|an)\b.*?(?=[^a-z\s-])|\A(?:the|a|an)\s", re.DOTALL)


def _is_place(found: str, *, known_only: bool) -> bool:
    """Say whether this can be a place; `known_only` where the sentence may as well be about something else."""
    bare = _ARTICLES.sub("", found)
    if not bare:
        return False
    words = [word.strip(",.'’").lower() for word in bare.split()]
    if words[0] in TECHNOLOGY or words[0] in NOT_NAMES:
        return False
    return words[0] in PLACES or words[-1] in PLACES or (not known_only and bare[0].isupper())


_STREETS = (
    r"Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Terrace|Way|Place|Pl|Square|Sq|Highway|Hwy|"
    r"Parkway|Pkwy|Close|Crescent|Circle|Row|Mews|Gardens|Alley|Broadway"
)
_WORD = rf"[{_UPPER}][\w'’.-]{{0,30}}"
_ADDRESSES = re.compile(
    "|".join(
        [
            rf"(?<![\w.])\d{{1,5}}[A-Za-z]?,? (?:[NSEW]\.? )?(?:(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th)) ){{1,4}}(?:{_STREETS})\b\.?",
            rf"\b{_WORD}(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|damm|ufer|straat|laan|gracht|vägen|gatan|veien) \d{{1,4}} ?[a-z]?\b",
            rf"\b(?:{_WORD}[ -]){{0,2}}(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring) \d{{1,4}}[a-z]?\b",
            rf"\b\d{{1,4}}(?: ?bis| ?ter)?,? (?i:rue|avenue|boulevard|place|chemin|impasse|allée|quai|route) (?:(?:de|du|des|la|le|les|d['’]|l['’]) ?){{0,3}}{_WORD}",
            rf"\b(?:Calle|calle|C/|Avenida|avenida|Avda\.?|Plaza|Paseo|Rua|rua|Praça|Travessa|Viale|Piazza|Corso|Carrer) (?:[\w'’.-]{{1,30}} ?){{1,5}},? (?:n[ºo°.] ?)?\d{{1,5}}\b",
            rf"\b[Vv]ia (?:{_WORD} ){{1,3}}\d{{1,4}}[a-z]?, \d{{5}}\b",
            rf"\b{_WORD}(?: {_WORD}){{0,2}} \d{{1,4}}[a-z]?, (?:[A-Z]{{1,2}}-)?\d{{3,5}}(?: \d{{2}})? {_WORD}",
            rf"(?:\b[Уу]л\.|\bулица|\bпр\.|\bпроспект|\bпереулок|\bпер\.) ?{_WORD}(?: \w+)?,? ?(?:д\.|дом)? ?\d{{1,4}}",
            rf"[{_CJK}]{{1,8}}(?:路|街|大道|巷)\d{{1,5}}号",
            rf"〒 ?\d{{3}}-?\d{{4}}|[都道府県][{_CJK}]{{1,8}}[区市町村][{_CJK}]{{0,10}}\d{{1,4}}(?:[-－丁目番地]{{1,2}}\d{{1,4}}){{1,3}}",
            r"[\uac00-\ud7af]{2,10}(?:로|길) ?\d{1,4}(?:번길)?(?: ?\d{1,4})?(?=[\s,.]|\Z)",
            r"\b(?i:p\.? ?o\.? ?box|postfach|apartado(?: de correos)?|boîte postale) \d{1,6}\b",
            rf"\b{_WORD},? (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{{5}}(?:-\d{{4}})?\b",
        ]
    )
)
_POSTCODE = re.compile(
    r"(?i:\bzip(?: ?code)?|\bpost(?:al)? ?code|\bplz|\bpostleitzahl|\bcode postal|\bcódigo postal|\bcep|\bиндекс|邮编|郵便番号)"
    r"(?: (?:is|ist|es|est)|は|是)?[:\s]{1,3}(?P<code>[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4,6}(?:-\d{3,4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{3}-\d{4})\b"
)
_CALLED_ADDRESS = re.compile(
    r"(?i)\b(?:(?:live|lives|lived|living|reside|resides|staying) at|(?:home|street|mailing|postal|shipping|my|her|his|our) address(?: is|:)?|ship(?:ped)?(?: it)? to|deliver(?:ed)?(?: it)? to)"
    r" (?P<address>\d{1,5}[a-z]?,? [^\W\d_]{3,30}(?: [^\W\d_]{2,30}){0,3})"
)


def postal_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield streets with a house number, boxes, and postcodes that are called so."""
    for match in _ADDRESSES.finditer(text):
        yield match.span()
    for match in _POSTCODE.finditer(text):
        yield match.span("code")
    for match in _CALLED_ADDRESS.finditer(text):
        yield match.span("address")
