"""
The commonest first-person facts in German, French, Spanish, Russian, Chinese and Japanese.

Used by the heuristic extractor for sentences that are not English. Only what name, home, work, taste, tools
and allergies look like is known; the words are kept as they were said, with the speaker as the subject,
because rewriting a person in six languages would invent more than it would help.
"""

from __future__ import annotations

import re

from msgspec import Struct

from engramdb.text.normalize import lazy


class Foreign(Struct, frozen=True):
    """A clause in another language, with what it says of the speaker."""

    text: str
    predicate: str
    object: str
    is_negated: bool = False

    @property
    def category(self) -> str:
        """Return the category, which the predicate decides."""
        return "preference" if self.predicate in ("likes", "dislikes", "prefers") else "fact"


_END = r"(?=[,.;!。！，、]|\s+(?:und|et|y|и|aber|mais|pero|но|seit|depuis|desde|als|comme|como)\b|\Z)"
_WORDS = rf"(?P<object>[^,.;!?。！？，、]{{1,60}}?){_END}"
_SPACED = (
    # German
    ("is_named", r"(?:ich heiße|ich heisse|mein name ist)\s+"),
    ("lives_in", r"ich (?:wohne|lebe)(?: jetzt| derzeit| seit \w+ \w+)? (?:in|bei)\s+"),
    ("works_at", r"(?:ich )?arbeite (?:bei|für)\s+"),
    ("works_as", r"(?:ich )?arbeite als\s+"),
    ("is_allergic_to", r"ich bin allergisch (?:gegen|auf)\s+"),
    ("prefers", r"ich bevorzuge\s+"),
    ("likes", r"ich (?:mag|liebe)\s+(?!nicht|kein)"),
    ("uses", r"ich (?:benutze|verwende|nutze)\s+(?:jeden tag |meistens |immer )?"),
    # French
    ("is_named", r"(?:je m['’]appelle|mon nom est)\s+"),
    ("lives_in", r"(?:j['’]habite|je vis)\s+(?:à|en|au|dans)\s+"),
    ("works_at", r"(?:je )?travaille (?:chez|pour|à)\s+"),
    ("works_as", r"(?:je )?travaille comme\s+"),
    ("is_allergic_to", r"je suis allergique (?:à|aux|au)\s+"),
    ("prefers", r"je préfère\s+"),
    ("likes", r"(?:j['’]aime|j['’]adore)\s+(?:bien |beaucoup )?"),
    ("uses", r"j['’]utilise\s+"),
    # Spanish
    ("is_named", r"(?:me llamo|mi nombre es)\s+"),
    ("lives_in", r"(?:yo )?vivo en\s+"),
    ("works_at", r"(?:yo )?trabajo (?:en|para)\s+"),
    ("works_as", r"(?:yo )?trabajo (?:como|de)\s+"),
    ("is_allergic_to", r"soy alérgic[oa] a(?:l)?\s+"),
    ("prefers", r"prefiero\s+"),
    ("likes", r"me (?:gustan?|encantan?)\s+(?:mucho )?"),
    ("uses", r"(?:yo )?uso\s+"),
    # Russian
    ("is_named", r"меня зовут\s+"),
    ("lives_in", r"(?:я )?живу в\s+"),
    ("works_at", r"(?:я )?работаю (?:в|на)\s+"),
    ("works_as", r"(?:я )?работаю\s+(?!в |на )"),
    ("is_allergic_to", r"у меня аллергия на\s+"),
    ("prefers", r"я предпочитаю\s+"),
    ("likes", r"я (?:люблю|обожаю)\s+"),
    ("uses", r"я (?:использую|пользуюсь)\s+"),
)
_UNSPACED = (
    # Chinese
    ("is_named", r"我(?:的名字)?(?:叫|是叫)(?P<object>[^，。！？、的]{1,12})"),
    ("lives_in", r"我(?:现在)?住在(?P<object>[^，。！？、]{1,20})"),
    ("works_at", r"我在(?P<object>[^，。！？、]{1,20}?)(?:工作|上班)"),
    ("is_allergic_to", r"我对(?P<object>[^，。！？、]{1,20}?)过敏"),
    ("dislikes", r"我不喜欢(?P<object>[^，。！？、]{1,20})"),
    ("likes", r"我(?:很|最|更)?喜欢(?P<object>[^，。！？、]{1,20})"),
    ("uses", r"我(?:一直|平时)?(?:使)?用(?P<object>[^，。！？、]{1,20})"),
    # Japanese
    ("is_named", r"(?:私|僕|俺)の名前は(?P<object>[^、。！？]{1,15}?)(?:です|だ|といいます)"),
    ("lives_in", r"(?:(?:私|僕|俺)は)?(?P<object>[^、。！？はが]{1,15}?)に住んで(?:います|いる)"),
    ("works_at", r"(?:(?:私|僕|俺)は)?(?P<object>[^、。！？はが]{1,20}?)で働いて(?:います|いる)"),
    ("is_allergic_to", r"(?:(?:私|僕|俺)は)?(?P<object>[^、。！？はが]{1,15}?)アレルギー(?:です|があります)"),
    ("likes", r"(?:(?:私|僕|俺)は)?(?P<object>[^、。！？は]{1,15}?)が(?:大)?好き(?:です|だ)"),
    ("uses", r"(?:(?:私|僕|俺)は)?(?P<object>[^、。！？はが]{1,20}?)を使って(?:います|いる)"),
)
_PATTERNS = tuple(
    [(name, lazy(rf"(?<!\w)(?P<head>{head}){_WORDS}", re.IGNORECASE)) for name, head in _SPACED]
    + [(name, lazy(pattern)) for name, pattern in _UNSPACED]
)
_MARKS = lazy(
    r"[^\x00-\x7f]|\b(?:ich|je|j['’]|mein|yo|vivo|trabajo|soy|me|mi|uso|prefiero|arbeite|travaille|mon)\b",
    re.IGNORECASE,
)
_ENGLISH = lazy(r"\b(?:I|I['’]m|the|is|and|my|you|of|that|with|are)\b")
_NOT = lazy(
    r"\b(?:nicht mehr|nicht|kein|keine|ne .{1,20} (?:pas|plus)|no|ya no|не|больше не)\b", re.IGNORECASE
)
_SEPARATE = lazy(r",?\s+(?:und|et|y|и|aber|mais|pero|но)\s+(?=\S)|[,;，；]\s*", re.IGNORECASE)


def read_foreign(sentence: str) -> list[Foreign]:
    """Return what a sentence in another language says of its speaker."""
    if not _MARKS.search(sentence) or _ENGLISH.search(sentence):
        return []
    pieces = _SEPARATE.split(sentence)
    found = [fact for piece in pieces if (fact := _read(piece.strip(" .!。！")))]
    return found if len(found) == len(pieces) or len(pieces) == 1 else _whole(sentence, found)


def _whole(sentence: str, found: list[Foreign]) -> list[Foreign]:
    """Keep the sentence together where a comma did not separate two facts."""
    if len(found) != 1:
        return found
    only = found[0]
    return [Foreign(sentence.strip(" .!。！"), only.predicate, only.object, only.is_negated)]


def _read(piece: str) -> Foreign | None:
    for predicate, pattern in _PATTERNS:
        if match := pattern.search(piece):
            return Foreign(piece, predicate, match["object"].strip(), bool(_NOT.search(piece)))
    return None
