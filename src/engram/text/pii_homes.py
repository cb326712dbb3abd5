"""
Find where someone lives: towns and countries that are called a home, and postal addresses.

Called by `pii.classify`; calls nothing but the word lists in `pii_places`.
A visit, a meeting or a server's region is no home, and a street without a house number is no address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text.lazy import lazy
from engram.text.pii_cues import cued
from engram.text.pii_people import CJK, OWNER, RELATION, UPPER
from engram.text.pii_places import NOT_NAMES, PLACES, TECHNOLOGY

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHO = (
    rf"(?:i|we|he|she|they|who|(?:the )?user|{OWNER} (?:\w+ )?(?:{RELATION}s?|parents|family|"
    rf"children|kids|grandparents|in-laws))"
)
_PLACE = (
    rf"(?P<place>(?:the |(?:(?:a|an|the) (?:[a-z-]+ ){{1,4}}?(?:in|near|outside|of|called) ))"
    rf"?(?:St\. )?(?:[{UPPER}][\w'’-]{{1,30}})"
    rf"(?:,? [{UPPER}][\w'’-]{{1,30}}){{0,3}}|(?!(?:the|a|an|my|our|fear|hope)\b)[a-z]{{3,20}})"
)
_ADVERB = r"(?:currently |now |still |actually |just |recently |also |both |all |used to |originally )?"
_LIVES = cued(
    "liv,resid,based,settled,grew,grown,born,raised,rent,dwell",
    rf"\b(?:(?i:{_WHO})|[{UPPER}]\w{{1,20}})(?:['’](?:m|re|s|ve|d))? (?i:(?:am |are |is |was |"
    rf"were |have |has |had |been )?{_ADVERB}"
    r"(?:live[sd]?|living|resid(?:e[sd]?|ing)|based|settled(?: down)?|grew up|grown up|"
    r"born(?: and raised)?|raised|rent(?:s|ed|ing)?|dwell(?:s|ing)?)"
    r" (?:(?:with|together|alone|here|happily)(?: my \w+| her \w+)? )?(?:in|"
    r"near|outside|close to|just outside|around|at)) " + _PLACE,
)
_MOVED = cued(
    "moved,moving,relocat,emigrat",
    rf"\b(?i:{_WHO})(?:['’](?:m|re|s|ve|d))? (?i:(?:am |are |is |have |has |had )"
    rf"?{_ADVERB}(?P<verb>mov(?:ed|ing)|relocat(?:ed|ing)|emigrated)"
    rf" (?:back |away |permanently |over )?(?:from (?:\w+ ){{1,3}})?to) {_PLACE}",
)
_FROM = cued(
    "from",
    rf"\b(?i:i['’]m|i am|we['’]re|we are|she['’]s|he['’]s|user is|originally|i come|she comes|"
    rf"he comes) (?i:{_ADVERB}(?:originally )?from) {_PLACE}",
)
_HOUSE = cued(
    "house,home,flat,apartment,condo,place",
    r"\b(?i:(?:bought|buying|rent(?:ed|ing)?|own|owns|found|got) (?:a|an|our|my|the|her|his) "
    r"(?:[a-z-]+ ){0,2}?(?:house|home|flat|"
    r"apartment|condo|place)(?: together)? (?:in|near|outside)|(?:my|our|his|her|their) "
    r"(?:\w+ )?(?:house|home|flat|apartment|place)"
    rf"['’]s (?:in|near|outside)|home (?:for (?:me|us|him|her|them) )?is) {_PLACE}",
)
_HOME = cued(
    "home,town,city,birthplace,residence,house,flat,apartment,place,condo,cottage",
    r"\b(?i:(?:my|our|his|her|their|user['’]s|the user['’]s) (?:home ?town|home ?city|home "
    r"?country|birthplace|place of residence|city of residence|residence)"
    rf"(?: is| was|:|,)|(?:my|our|his|her|their|user['’]s) (?:\w+ )?(?:home|house|flat|"
    rf"apartment|place|condo|cottage)(?: is| was) (?:located )?(?:in|near|at|outside)) {_PLACE}",
)
_FOREIGN_HOME = cued(
    "wohn,leb,aufgewachsen,komme,stamme,habit,vivons,je vis,viv,resido,soy de,abit,mor,woon,"
    "wonen,mieszka,bor i,жив,из",
    rf"(?i:\b(?:wohn(?:e|en|t|te)|leb(?:e|en|t)|aufgewachsen)(?: \w+)? (?:in|bei|nahe)|"
    rf"\b(?:komme|stamme) aus|\b(?:j['’]habite|habitent?|habitons|vivons|je vis)(?: \w+)? (?:à|"
    rf"en|au|aux|dans)|"
    r"\b(?:vivo|vive|vivimos|viven|resido)(?: \w+)? (?:en|a|em|in)|\bsoy de|\b(?:abito|abita|"
    r"abitiamo)(?: \w+)? (?:a|in)|"
    r"\b(?:moro|mora|moramos)(?: \w+)? (?:em|no|na)|\b(?:woon|woont|wonen)(?: \w+)? in|"
    r"\b(?:mieszkam|mieszka) we?|\bbor i|"
    rf"\b(?:жив(?:у|ет|ёт|ем|ём|ут)|проживаю)(?: \w+)? во?|\bя из) (?:(?:der|den|la|le|il|o|a) "
    rf")?(?P<place>[{UPPER}][\w'’-]{{1,30}})(?![\w]*\.\w)",
)
_FOREIGN_MOVE = cued(
    "gezogen,umgezogen,ziehe,déménag,mud,traslad,trasfer,переех,verhuis,przeprowadz",
    rf"\b(?i:nach) (?P<place>[{UPPER}][\w'’-]{{1,30}}) (?i:gezogen|umgezogen)|"
    rf"\b(?i:(?:zieh(?:e|en)|ziehen wir) nach|déménag(?:é|e|eons|er) (?:à|en|au)|me mud(?:é|o|"
    rf"aré) (?:a|para)|nos mudamos a|"
    rf"trasferit[oaie] a|переехал[аи]? в|verhuisd naar|przeprowadził[ae]m się do) "
    rf"(?P<town>[{UPPER}][\w'’-]{{1,30}})",
)
_CJK_HOME = cued(
    "住,暮らし,살,거주,来自,家在,出身",
    rf"住在(?!这|那|一起|酒店|哪|隔壁)[{CJK}A-Za-z]{{2,12}}|[{CJK}A-Za-z]{{2,10}}に(?:住んで|住む|住み|暮らし)|"
    rf"[\uac00-\ud7af]{{2,10}}에서? (?:살|거주)|我(?:来自|家在)[{CJK}]{{2,8}}|[{CJK}]{{2,8}}出身",
)
_COORDINATES = cued(
    ".",
    r"(?i)\b(?:home|house|live|lives|wohne|address)\b[^\n]{0,30}?(-?\d{1,2}\.\d{3,}\s?,\s?-?\d{1,3}\.\d{3,})",
)


def locations(text: str) -> Iterator[tuple[int, int]]:
    """Yield where someone lives, lived or comes from; a visit or a server's region is not that."""
    lower = text.lower()
    for pattern in (_LIVES, _FROM, _HOME, _HOUSE):
        for match in pattern.matches(text, lower):
            if _is_place(match["place"], known_only=match["place"][0].islower()):
                yield match.span("place")
    for match in _MOVED.matches(text, lower):
        if _is_place(match["place"], known_only=match["verb"].lower().startswith("mov")):
            yield match.span("place")
    for match in _FOREIGN_HOME.matches(text, lower):
        if _is_place(match["place"], known_only=False):
            yield match.span("place")
    for match in _FOREIGN_MOVE.matches(text, lower):
        if _is_place(match["place"] or match["town"], known_only=False):
            yield match.span()
    for pattern in (_CJK_HOME, _COORDINATES):
        for match in pattern.matches(text, lower):
            yield match.span()


_ARTICLES = lazy(r"\A(?:the|a|an)\b.*?(?=[^a-z\s-])|\A(?:the|a|an)\s", re.DOTALL)


def _is_place(found: str, *, known_only: bool) -> bool:
    """Say whether this can be a place; `known_only` where the sentence may be about anything."""
    bare = _ARTICLES.sub("", found)
    if not bare:
        return False
    words = [word.strip(",.'’").lower() for word in bare.split()]
    if words[0] in TECHNOLOGY or words[0] in NOT_NAMES:
        return False
    return words[0] in PLACES or words[-1] in PLACES or (not known_only and bare[0].isupper())


_DIGIT = lazy(r"\d")
_STREETS = (
    r"Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Terrace|Way|Place|"
    r"Pl|Square|Sq|Highway|Hwy|"
    r"Parkway|Pkwy|Close|Crescent|Circle|Row|Mews|Gardens|Alley|Broadway"
)
_WORD = rf"[{UPPER}][\w'’.-]{{0,30}}"
_ADDRESSES = (
    cued(
        "street,st,avenue,ave,road,rd,lane,ln,drive,dr,boulevard,blvd,court,ct,terrace,way,place,"
        "pl,square,sq,hwy,pkwy,close,crescent,circle,row,mews,gardens,alley",
        rf"(?<![\w.])\d{{1,5}}[A-Za-z]?,? (?:[NSEW]\.? )?(?:(?:{_WORD}|\d{{1,3}}(?:st|nd|rd|th)) )"
        rf"{{1,4}}(?:{_STREETS})\b\.?",
    ),
    cued(
        "straße,strasse,str.,weg,platz,allee,gasse,damm,ufer,straat,laan,gracht,vägen,gatan,veien",
        rf"\b{_WORD}(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|damm|ufer|straat|laan|gracht|"
        rf"vägen|gatan|veien) \d{{1,4}} ?[a-z]?\b",
    ),
    cued(
        "straße,strasse,str.,allee,platz,weg,ring",
        rf"\b(?:[{UPPER}][\w'’.]{{0,30}}[ -]){{0,2}}(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring) "
        rf"\d{{1,4}}[a-z]?\b",
    ),
    cued(
        "rue,avenue,boulevard,place,chemin,impasse,allée,quai,route",
        rf"\b\d{{1,4}}(?: ?bis| ?ter)?,? (?:[Rr]ue|avenue|boulevard|place|chemin|impasse|allée|"
        rf"quai|route) (?:(?:de|du|des|la|le|les|d['’]|l['’]) ?){{0,3}}{_WORD}",
    ),
    cued(
        "calle,c/,avenida,avda,av.,plaza,paseo,rua,praça,travessa,viale,piazza,corso,carrer",
        r"\b(?:Calle|calle|C/|Avenida|avenida|Avda\.?|Av\.|Plaza|Paseo|Rua|rua|Praça|Travessa|Viale|"
        r"Piazza|Corso|Carrer) (?:[\w'’.-]{1,30} ){0,4}[\w'’.-]{1,30},? (?:n[ºo°.] ?)?\d{1,5}\b",
    ),
    cued("via ", rf"\b[Vv]ia (?:{_WORD} ){{1,3}}\d{{1,4}}[a-z]?, \d{{5}}\b"),
    cued(
        "0,1,2,3,4,5,6,7,8,9",
        rf"\b{_WORD}(?: {_WORD}){{0,2}} \d{{1,4}}[a-z]?, (?:[A-Z]{{1,2}}-)?\d{{3,5}}(?: \d{{2}})? {_WORD}",
    ),
    cued(
        "ул,пр,пер",
        rf"(?:\b[Уу]л\.|\bулица|\bпр\.|\bпроспект|\bпереулок|\bпер\.) ?{_WORD}(?: \w+)?,? ?(?:д\.|"
        rf"дом)? ?\d{{1,4}}",
    ),
    cued("号", rf"[{CJK}]{{1,8}}(?:路|街|大道|巷)\d{{1,5}}号"),
    cued(
        "〒,都,道,府,県",
        rf"〒 ?\d{{3}}-?\d{{4}}|[都道府県][{CJK}]{{1,8}}[区市町村][{CJK}]{{0,10}}"
        r"\d{1,4}(?:[-－丁目番地]{1,2}\d{1,4}){1,3}",
    ),
    cued("로,길", r"[\uac00-\ud7af]{2,10}(?:로|길) ?\d{1,4}(?:번길)?(?: ?\d{1,4})?(?=[\s,.]|\Z)"),
    cued(
        "box,postfach,apartado,postale",
        r"\b(?i:p\.? ?o\.? ?box|postfach|apartado(?: de correos)?|boîte postale) \d{1,6}\b",
    ),
    cued(
        " ",
        rf"\b{_WORD},? (?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|"
        rf"O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{{5}}(?:-\d{{4}})?\b",
    ),
)
_POSTCODE = cued(
    "zip,post,plz,code,código,cep,индекс,邮编,郵便",
    r"(?i:\bzip(?: ?code)?|\bpost(?:al)? ?code|\bplz|\bpostleitzahl|\bcode postal|\bcódigo "
    r"postal|\bcep|\bиндекс|邮编|郵便番号)"
    r"(?: (?:is|ist|es|est)|は|是)?[:\s]{1,3}(?P<code>[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4,"
    r"6}(?:-\d{3,4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{3}-\d{4})\b",
)
_CALLED_ADDRESS = cued(
    "at ,address,ship,deliver",
    r"(?i)\b(?:(?:live|lives|lived|living|reside|resides|staying) at|(?:home|street|mailing|"
    r"postal|shipping|my|her|his|our) address(?: is|:)?|ship(?:ped)?(?: it)? to|deliver(?:ed)"
    r"?(?: it)? to)"
    r" (?P<address>\d{1,5}[a-z]?,? [^\W\d_]{3,30}(?: [^\W\d_]{2,30}){0,3})",
)


def postal_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield streets with a house number, boxes, and postcodes that are called so."""
    lower = text.lower()
    if not _DIGIT.search(text):
        return
    for pattern in _ADDRESSES:
        for match in pattern.matches(text, lower):
            yield match.span()
    for match in _POSTCODE.matches(text, lower):
        yield match.span("code")
    for match in _CALLED_ADDRESS.matches(text, lower):
        yield match.span("address")
