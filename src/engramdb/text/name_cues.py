"""
What stands beside a name and gives away what it names.

Patterns named `OF_…` are searched in the few characters before a name and end at it, those named `…_ACT` are
matched right behind it. The windows are short, so no pattern can run away.
"""

from __future__ import annotations

import re

from engramdb.text.lexicons import LANGUAGES, any_pattern
from engramdb.text.normalize import lazy

_CUES = {
    name: any_pattern([getattr(one.names, name) for one in LANGUAGES.values()])
    for name in ("called", "works_at", "lives_in")
}
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

HUMAN_ACT = lazy(
    r" (?:also |still |just |really |always |never |already )?(?:says|said|told|tells|asked|asks|thinks|"
    r"thought|wants|likes|liked|loves|loved|hates|hated|prefers|lives|lived|believes|feels|felt|wrote|emailed|"
    r"mentioned|suggested|recommended|explained|promised|agreed|decided|joined|quit|resigned|married|studies|"
    r"studied|teaches|taught|cooks|cooked|speaks|spoke|forgot|remembers|complained|planted|retired|moved|hopes|"
    r"hoped|knows|drinks|ate|"
    r"(?:is|was) (?:taking over|moving|leaving|pregnant|allergic|afraid|born|married))\b"
)
"""What only people do, so that it makes a person of a name on no list."""

FIRM_ACT = lazy(
    r" (?:announced|delivered|acquired|hired|raised|released|launched|offered|accepted|rejected|sent|wants|"
    r"bought|sells|said|says|charged|refunded|reported|shipped|pays|paid|has|will|"
    r"is (?:hiring|a|an|the))\b|['’]s "
)

OF_SOMEONE_NAMED = lazy(
    rf"\b(?:(?:is|was|are|am|be|'s|’s) )?(?:called|named|name is|{_CUES['called']}) \Z",
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
    r"projet|proyecto|progetto)(?: is| was)?(?: called| named)?,? \Z"
    r"|\b(?:thing|system|script|dashboard|pipeline|module|codebase|prototype|rewrite)(?: is| was)?"
    r" (?:called|named) \Z",
    re.IGNORECASE,
)

OF_A_FIRM = lazy(
    r"\b(?:work(?:s|ed|ing)?|jobs?|intern(?:s|ed|ing|ship)?|employed|hired|role|position|interview(?:s|ed|ing)?|"
    r"contract(?:s|ed)?|engineer|developer|consult(?:s|ed|ant)?|career|deal|offer|salary|bank)"
    r"(?: \w+){0,2}? (?:at|for|by|with|from)(?: the)? \Z|\baccount (?:at|with)(?: the)? \Z"
    r"|\b(?:ceo|cto|cfo|coo|founder|co-founder|director|head|employee|owner|president|chairman)"
    r" (?:of|at)(?: the)? \Z"
    r"|\b(?:client|customer|employer|company|startup|supplier|vendor|competitor|firm)(?: is)?"
    r"(?: called| named)?,? \Z"
    r"|\b(?:joined|joining|join|left|quit) \Z"
    rf"|\b(?:{_CUES['works_at']}) \Z",
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
    rf"|\b(?:{_CUES['lives_in']}) \Z",
    re.IGNORECASE,
)
BEFORE_A_PLACE = lazy(
    r"\b(?:in|near|to|from|at|around|via|visit(?:ed|ing)?|leave|left|en|em|à|nach|aus|в|из)(?: the)? \Z",
    re.IGNORECASE,
)

TO_SOMEONE = lazy(
    r"\b(?:ask|asked|ping|pinged|met|meet|tell|texted|cc|remind|reminded|invite|invited|thanks to) \Z",
    re.IGNORECASE,
)
"""Before a person whom something is said to."""

MAY_SOMEONE = lazy(r"\b(?:should|did|does|can|could|would) \Z", re.IGNORECASE)
SOMEONE_DOES = lazy(
    r" (?:ask|look|come|go|know|want|need|join|say|think|take|call|send|write|review|help|finish|leave|move|"
    r"like)\b"
)
"""Behind a person in a question: should Leocadia look at it?"""

THEIRS = lazy(
    r"['’]s (?:(?:new|old|older|younger|big|little) )?(?:sister|brother|wife|husband|mother|father|mum|mom|"
    r"dad|son|daughter|kids?|team|desk|birthday|house|flat|phone|number|boss|car|idea|turn|wedding|office|"
    r"parents|job|dog|cat|partner|girlfriend|boyfriend|friend|calendar|laptop|email|mail|prs?|review|opinion|"
    r"feedback)\b"
)
"""Behind the owner of what people have."""

EFFORT_AFTER = lazy(
    r" (?:pilot|migration|rollout|launch|parser|rewrite|release|beta|demo|roadmap|backlog|milestone|refactor|"
    r"codebase|dashboard|pipeline|sprint|team|kickoff|spec|mvp|branch|deadline)\b"
)
"""Behind "the NAME": what is done for a project, or is a part of it."""

DEFINITE = lazy(r"(?:\b(?:the|our|my|this|his|her|their)|['’]s) \Z", re.IGNORECASE)
NOUN_AFTER = lazy(r" ([a-z]+)\b")
FOOD_AFTER = lazy(r" (?:sandwich|pie|soup|burger|stew|breast|dinner|curry|juice|salad|cake|wings?)\b")
