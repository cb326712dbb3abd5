"""Find people, homes and postal addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engramdb.text.lexicons import registry, word_set
from engramdb.text.normalize import lazy
from engramdb.text.pii_patterns import cue, cued

_LISTS = {name: word_set(row) for name, row in registry("pii").items()}
PLACES, TECHNOLOGY, PEOPLES, NOT_NAMES = (
    _LISTS[name] for name in ("places", "technology", "peoples", "not_names")
)


# Find people in text: mail addresses, and names with which someone is introduced.
#
# Without a model a name is found only where someone is introduced ("my name is …", "my sister Anna"). A
# name that merely occurs in a sentence is left alone: every second memory has one.

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
    """Yield people's mail addresses, plain or with (at) and (dot); a repository's `git@host:path` is none."""
    if "@" in text:
        for match in _EMAIL.finditer(text):
            is_remote = text[match.end() : match.end() + 2] in {":~", ":/"}
            if not is_remote and not any(
                cue(one).search(match[0]) for one in ("office_mailbox", "mail_form")
            ):
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


# Find where someone lives: towns and countries that are called a home, and postal addresses.
#
# A visit, a meeting or a server's region is no home, and a street without a house number is no address.

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
    """Return whether this can be a place; `known_only` where the sentence may be about anything."""
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
_UK_POSTCODE = cued(
    "road,street,lane,cottage,house,avenue,close,drive,court,terrace,farm,flat,gardens,place,way,crescent,hill,mews,"
    "live,address,post",
    r"(?<![A-Za-z0-9])(?P<code>[A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2}|"
    r"[ABCEGHJ-NPRSTVXY]\d[A-Z] \d[A-Z]\d)(?![A-Za-z0-9])",
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
    for pattern in (_POSTCODE, _UK_POSTCODE):
        for match in pattern.matches(text, lower):
            yield match.span("code")
    for match in _CALLED_ADDRESS.matches(text, lower):
        yield match.span("address")
