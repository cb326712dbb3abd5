"""
What stands beside a name and gives away what it names.

Used by `run_types`. Patterns named `OF_…` are searched in the few characters before a name and end at it,
those named `…_ACT` are matched right behind it. The windows are short, so no pattern can run away.
"""

from __future__ import annotations

import re

from engram.text.lazy import lazy

_PEOPLE_DO = (
    r"said|says|told|tells|asked|asks|thinks|thought|wants|wanted|likes|liked|loves|loved|hates|hated|prefers|"
    r"preferred|wrote|writes|sent|sends|lives|lived|works|worked|joined|joins|manages|managed|runs|owns|bought|"
    r"plays|played|met|moved|agreed|teaches|taught|went|came|gave|knows|believes|feels|felt|hopes|hoped|suggested|"
    r"recommended|explained|mentioned|promised|decided|presented|reported|reviewed|tested|fixed|pushed|signed|"
    r"cancelled|retired|called|calls|spoke|speaks|studies|studied|married|quit|left|owes|cooks|cooked|drinks|eats|"
    r"ate|brought|helped|helps|visited|visits|started|enjoys|needs|needed|got|has|had|made|makes|took|leads|led|"
    r"built|thanked|paid|won|share|argue|approved|asks|complained|forgot|remembers|organises|organised|organizes|"
    r"are (?:brothers|sisters|cousins|siblings|friends|married|colleagues)|"
    r"(?:is|was) (?:\w+ing|born|married|allergic|afraid|\w+ed|my|our|his|her|their|a|an)|"
    r"will \w+|can|could|would|should|did|does|doesn['’]t|didn['’]t|won['’]t|can['’]t"
)
PERSON_ACT = lazy(rf" (?:also |still |just |really |always |never |already )?(?:{_PEOPLE_DO})\b")

FIRM_ACT = lazy(
    r" (?:announced|delivered|acquired|hired|raised|released|launched|offered|accepted|rejected|sent|wants|"
    r"bought|sells|said|says|charged|refunded|reported|shipped|pays|paid|has|will|"
    r"is (?:hiring|a|an|the))\b|['’]s "
)

OF_SOMEONE_NAMED = lazy(
    r"\b(?:(?:is|was|are|am|be|'s|’s) )?(?:called|named|name is|heißt|heißen|[sm]['’]appelle|se llama|"
    r"me llamo|si chiama|se chama|зовут) \Z",
    re.IGNORECASE,
)

OF_SOMEONE = lazy(
    r"\b(?:wife|husband|partner|spouse|fianc[ée]e?|brother|sister|mother|father|son|daughter|cousin|uncle|aunt|niece|"
    r"nephew|friend|boyfriend|girlfriend|boss|manager|colleague|coworker|teammate|neighbou?r|teacher|roommate|"
    r"married to|engaged to|dating|talk(?:ed|ing)? (?:to|with)|sp(?:oke|eak|eaking) (?:to|with)|told|thanked|"
    r"emailed|met with|(?:lunch|dinner|coffee|breakfast|meeting) with|introduced (?:me|us) to),? \Z",
    re.IGNORECASE,
)

OF_A_THING = lazy(
    r"\b(?:cats?|dogs?|pets?|puppy|kitten|hamster|rabbit|parrot|horse|boat|car|robot|fish|shop|store|restaurant|café|"
    r"cafe|bar|pub|bakery|hotel|band|book|novel|film|movie|song|album|show|series|podcast|blog|course|product|brand|"
    r"device|feature|language|house|model|ai|bot|persona|mode)(?:['’]s name)?"
    r"(?:,| is| was| are)?(?: called| named)?,? \Z",
    re.IGNORECASE,
)

OF_A_PROJECT = lazy(
    r"\b(?:project|app|application|repo|repository|initiative|library|tool|game|startup idea|website|projekt|"
    r"projet|proyecto|progetto)(?: is| was)?(?: called| named)?,? \Z",
    re.IGNORECASE,
)

OF_A_FIRM = lazy(
    r"\b(?:work(?:s|ed|ing)?|jobs?|intern(?:s|ed|ing|ship)?|employed|hired|role|position|interview(?:s|ed|ing)?|"
    r"contract(?:s|ed)?|engineer|developer|consult(?:s|ed|ant)?|career|deal|offer|salary|account|bank)"
    r"(?: \w+){0,2}? (?:at|for|by|with|from)(?: the)? \Z"
    r"|\b(?:ceo|cto|cfo|coo|founder|co-founder|director|head|employee|owner|president|chairman)"
    r" (?:of|at)(?: the)? \Z"
    r"|\b(?:client|customer|employer|company|startup|supplier|vendor|competitor|firm)(?: is)?"
    r"(?: called| named)?,? \Z"
    r"|\b(?:joined|joining|join|left|quit) \Z"
    r"|\b(?:chez|arbeit\w* (?:bei|für)(?: der| dem)?|trabaj\w+ (?:en|para)|trabalh\w+ n[ao]|"
    r"lavor\w+ (?:per|alla?)|работа\w+ (?:в|на)) \Z",
    re.IGNORECASE,
)
OF_SOMEONE_FROM = lazy(r"(?:\A|[.!?,] |and |with )[A-ZÀ-Þ][a-zß-ÿ]+ (?:from|at) \Z")

OF_A_PLACE = lazy(
    r"\b(?:liv(?:e|es|ed|ing)|based|born|raised|gr[eo]w up|located|hosted|stay\w*|arriv\w*|hik\w+|holiday\w*|"
    r"vacation\w*|house|home|apartment|flat|office|wedding|conference|summer|winter|weekend|resid\w+|settled|"
    r"retired|studied|studies|study|met|work(?:s|ed|ing)?|school|family|parents|spent|honeymoon|is|was|are|were)\b"
    r"[^.!?;]{0,24}?\b(?:in|near|outside|around)(?: the)? \Z"
    r"|\b(?:mov(?:e|es|ed|ing)|fly|flew|flies|flying|flights?|travel\w*|trips?|went|going|goes|go|driv\w+|drove|"
    r"relocat\w*|return\w*|emigrat\w*|trains?|ferry|bus|commut\w*|back|way|came|come|comes|journey)\b"
    r"[^.!?;]{0,30}?\b(?:to|from|in|via)(?: the)? \Z"
    r"|\b(?:village|town|city|island|suburb|district|country|region)(?: called| named|,)? \Z"
    r"|\bvisit(?:s|ed|ing)? (?:the )?\Z|\b(?:capital|city|town|north|south|east|west) of \Z"
    r"|\b(?:viv\w+|mor[oae]\w*|habit\w+|abit\w+|wohn\w*|leb(?:t|e|en)|zieh\w*|nacid[oa]|née?|nat[oa]) "
    r"(?:en|em|à|a|in|nach) \Z"
    r"|(?:жив\w+|перееха\w+|родил\w+|уехал\w*) (?:в|из|на) \Z",
    re.IGNORECASE,
)
BEFORE_A_PLACE = lazy(
    r"\b(?:in|near|to|from|at|around|via|visit(?:ed|ing)?|leave|left|en|em|à|nach|aus|в|из)(?: the)? \Z",
    re.IGNORECASE,
)

DEFINITE = lazy(r"(?:\b(?:the|our|my|this|his|her|their)|['’]s) \Z", re.IGNORECASE)
NOUN_AFTER = lazy(r" ([a-z]+)\b")
FOOD_AFTER = lazy(r" (?:sandwich|pie|soup|burger|stew|breast|dinner|curry|juice|salad|cake|wings?)\b")

_WORD = lazy(r"\w+")
_SMALL_GERMAN = """
der die das den dem des und ist nicht ein eine einen ich wir mit auf mein meine hat haben habe im bei von zu
zum zur sich auch nach seit sind wird werden jede jeden mir dir uns mich dich noch nur schon sehr wie aber
oder wenn weil dass wo sie alle unser unsere
"""
_SMALL_ENGLISH = "the is are of to and my for with it was on at that has i a his her we"
_GERMAN_WORDS, _ENGLISH_WORDS = frozenset(_SMALL_GERMAN.split()), frozenset(_SMALL_ENGLISH.split())
_GERMAN = lazy(rf"\b(?:{'|'.join(_SMALL_GERMAN.split())}|für|über|kein\w*)\b", re.IGNORECASE)
_ENGLISH = lazy(rf"\b(?:{'|'.join(_SMALL_ENGLISH.split())})\b", re.IGNORECASE)


def capitals_prove_nothing(text: str) -> bool:
    """Say whether the text is German, where every noun has one: "die" and "hat" are English words too."""
    start = text[:400]
    if start.isascii():  # word by word: a fifth of the time, and the same where a letter has one small form
        words: list[str] = _WORD.findall(start.lower())
        german = sum([word in _GERMAN_WORDS or word.startswith("kein") for word in words])
        english = sum([word in _ENGLISH_WORDS for word in words])
        return german > english
    return len(_GERMAN.findall(start)) > len(_ENGLISH.findall(start))
