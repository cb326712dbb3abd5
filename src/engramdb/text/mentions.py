"""Find the people, places, projects and things that a text mentions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import LANGUAGES, any_pattern, word_set
from engramdb.text.name_runs import (
    CapitalizedRun,
    Placed,
    Word,
    capitals_prove_nothing,
    run_mention,
    runs,
    words_of,
)
from engramdb.text.names import fold, fold_name, name_lists
from engramdb.text.names_small import renamed_things, small_names, words_used_as_names
from engramdb.text.normalize import lazy
from engramdb.text.technologies import find_technologies, technology_class
from engramdb.values import EntityType, Mention

# Find people and places in Chinese, Japanese and Korean, where no capital and often no space marks a name.

_HAS_ANY = lazy("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_JAPANESE = lazy("(?P<name>[\u4e00-\u9fff々\u30a1-\u30f6ー]{1,6})(?:さん|様|くん|ちゃん|先生)")
_KOREAN = lazy("(?<![\uac00-\ud7af])(?P<name>[\uac00-\ud7af]{2,4}) ?씨(?=[는은가이를을의와과도 ,.]|\\Z)")


_NOT_PEOPLE = word_set("皆 客 母 父 兄 姉 祖母 祖父 叔父 叔母 奥 子 神 王 医者 店員 屋 各位 同")
_NOT_CHINESE = word_set(
    "高兴 高级 方法 方便 方面 马上 任何 任务 白天 文件 文化 常常 万一 金额 石头 江湖 龙虾 康复 易于 于是 "
    "余下 何时 何人 武器 史上 程序 程度 安全 周末 周一 周二 周三 周四 周五 周六 周日 黄色 白色 金色 张开 "
    "王国 田里 夏天 秦朝"
)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    lists = name_lists()
    family, given = f"[{lists.family_chinese}]", "[\u4e00-\u9fff]"
    acts = "住|说|是|在|喜欢|告诉|去|来|有|想|的|和|要|做|认为|觉得|负责|写|买|会|不|也|今|昨|明|，|。|,"
    person = re.compile(
        f"(?:叫|名叫|名字是)(?P<called>{family}{given}{{1,2}})(?=[。，,！!、\\s]|\\Z|和|的)"
        f"|(?:\\A|(?<=[。，、！？\\s,和跟给]))(?P<acting>{family}{given}{{1,2}}?)(?={acts})"
    )
    places = re.compile(f"(?:{_any_of(lists.places_unspaced)})(?![人语語字])")
    return person, places, re.compile(_any_of(lists.organisations_unspaced))


def _any_of(names: frozenset[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


def unspaced_mentions(text: str) -> list[tuple[int, int, Mention]]:
    """Return what the text names in these scripts, with where it stands."""
    return list(_find(text)) if _HAS_ANY.search(text) else []


def _find(text: str) -> Iterator[tuple[int, int, Mention]]:
    person, places, firms = _patterns()
    for pattern, kind in ((places, EntityType.LOCATION), (firms, EntityType.ORGANIZATION)):
        for match in pattern.finditer(text):
            yield match.start(), match.end(), Mention(text=match.group(), type=kind)
    for match in person.finditer(text):
        group = "called" if match["called"] else "acting"
        if match[group] not in _NOT_CHINESE:
            yield match.start(group), match.end(group), Mention(text=match[group], type=EntityType.PERSON)
    for match in _JAPANESE.finditer(text):
        if match["name"] not in _NOT_PEOPLE:
            yield match.start(), match.end(), Mention(text=match.group(), type=EntityType.PERSON)
    for match in _KOREAN.finditer(text):
        yield match.start("name"), match.end("name"), Mention(text=match["name"], type=EntityType.PERSON)


# Find what is named without capitals: files, handles, services in small letters, "my sister".
#
# Files and handles are cut out of the text here, and so are addresses, whose parts would look like names.

_MAX_PATH_CHARACTERS = 255
_CHUNK = lazy(r"[^\s,;()\[\]{}<>\"“”«»]+")
_EXTENSION = lazy(
    r"\.(?:py|pyi|ipynb|rs|go|js|jsx|ts|tsx|mjs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|ps1|sql|"
    r"html?|css|scss|json|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|parquet|xlsx?|docx?|pptx?|pdf|"
    r"png|jpe?g|svg|gif|zip|tar|gz|db|sqlite|tf|proto|vue|svelte|dart|lua|ex|exs|hs|ml|clj|r|jl)\Z",
    re.IGNORECASE,
)
_LIBRARY = lazy(r"(?:d3|three|chart|socket)\.(?:js|io)\Z", re.IGNORECASE)
"""Libraries that are called like files and are in no list of technologies."""
_PATH = lazy(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)+/?\Z")
_HANDLE = lazy(r"@[A-Za-z][\w.-]{0,38}\Z")

_IN_CODE = lazy(r"`* (?:decorator|annotation)\b")
_SERVICE = lazy(
    r"(?<![\w-])(?:(?:the|our|this) (?P<named>[a-z][a-z0-9_-]{1,30}) (?:micro)?service"
    r"|(?P<joined>[a-z][a-z0-9]{1,30}(?:[-_][a-z0-9]{1,30}){0,4}[-_](?:micro)?service))(?![\w-])",
    re.IGNORECASE,
)
_REPOSITORY = lazy(
    r"(?<![\w-])[a-z][a-z0-9]{0,30}(?:[-_][a-z0-9]{1,30}){1,4}"
    r" (?:repo|repository|project|app|library)(?![\w-])"
)
_OTHERS = """
partner spouse fiancé fiancée girlfriend boyfriend aunt uncle cousin niece nephew boss manager roommate
flatmate landlord landlady therapist dentist doctor neighbour neighbor colleague coworker co-worker teacher
mentor tutor supervisor assistant accountant lawyer coach trainer hairdresser stepmother stepfather stepson
stepdaughter stepsister stepbrother godmother godfather grandson granddaughter nanny babysitter vet
"""
_RELATIONS = {
    fold(word): noun for one in LANGUAGES.values() for noun, said in one.kin.items() for word in said.split()
} | {fold(word): word for word in _OTHERS.split()}
_MINE = any_pattern([one.names.mine for one in LANGUAGES.values()])
_RELATION = lazy(
    rf"(?<!\w)(?:(?P<mine>my|our|{_MINE})"
    r"|(?P<owner>[^\W\d_][\w-]{0,40}(?: [^\W\d_][\w-]{0,40})?)['’]s)"
    r"(?: (?:older|younger|elder|eldest|oldest|youngest|big|little|twin|late|ex|große|kleine|petite?))?"
    r" (?:ex-)?(?P<noun>best friend|[^\W\d_]+)(?P<law>-in-law)?(?!\w)",
    re.IGNORECASE,
)
_NAME_FOLLOWS = lazy(
    r"\A(?:,? [A-ZÀ-ÞА-Я]|['’]s|-|,? (?:is |was )?(?:called|named)| is [A-ZÀ-ÞА-Я]| heißt| s['’]appelle"
    r"| se llama| зовут)"
)


def set_apart(text: str) -> tuple[list[Placed], str]:
    """Return files and handles, and the text with them and all addresses blotted out at equal length."""
    found: list[Placed] = []
    pieces: list[str] = []
    done = 0
    for match in _CHUNK.finditer(text):
        chunk = match.group().rstrip(".:!?'’*`").lstrip("'‘*`")
        if "." not in chunk and "/" not in chunk and "@" not in chunk:
            continue
        start = match.start() + match.group().find(chunk)
        placed = _file_or_handle(chunk, start)
        if placed is not None and not _IN_CODE.match(text, start + len(chunk)):
            found.append(placed)
        if placed is not None or "://" in chunk or "@" in chunk or chunk.startswith("www."):
            pieces += [text[done:start], "·" * len(chunk)]
            done = start + len(chunk)
    return found, "".join([*pieces, text[done:]])


def _file_or_handle(chunk: str, start: int) -> Placed | None:
    if len(chunk) < 2 or len(chunk) > _MAX_PATH_CHARACTERS or "://" in chunk:
        return None
    end = start + len(chunk)
    if _HANDLE.match(chunk):
        return start, end, Mention(text=chunk, type=EntityType.PERSON)
    is_known = _LIBRARY.match(chunk) is not None or technology_class(chunk) is not None
    is_library = is_known or (chunk[0].isupper() and chunk.endswith(".js"))
    is_named_file = _EXTENSION.search(chunk) is not None and not is_library and "@" not in chunk
    if is_named_file or _PATH.match(chunk):
        return start, end, Mention(text=chunk, type=EntityType.FILE)
    return None


def lower_case_names(text: str) -> Iterator[Placed]:
    """Yield services and repositories that are named in small letters."""
    for match in _SERVICE.finditer(text):
        name = match["named"]
        if name is None:
            yield match.start("joined"), match.end(), Mention(text=match["joined"], type=EntityType.SERVICE)
        elif name.islower() and name not in name_lists().not_services:
            start = match.start("named")
            yield start, match.end(), Mention(text=text[start : match.end()], type=EntityType.SERVICE)
    for match in _REPOSITORY.finditer(text):
        yield match.start(), match.end(), Mention(text=match.group(), type=EntityType.PROJECT)


def relations(text: str, speaker: str | None) -> Iterator[Placed]:
    """Yield "Tom's sister" for "my sister" and for itself, unless her name stands there too."""
    for match in _RELATION.finditer(text):
        noun = _relation(match["noun"], is_by_marriage=match["law"] is not None)
        if noun is None or _NAME_FOLLOWS.match(text[match.end() : match.end() + 16]):
            continue
        whose = _whose(match["owner"], speaker)
        if whose:
            yield match.start(), match.end(), Mention(text=f"{whose}'s {noun}", type=EntityType.PERSON)


def _relation(written: str, *, is_by_marriage: bool) -> str | None:
    folded = fold(written)
    noun = folded if folded == "best friend" else _RELATIONS.get(folded)
    return f"{noun}-in-law" if noun and is_by_marriage else noun


def _whose(owner: str | None, speaker: str | None) -> str | None:
    """Return whose relation it is: the speaker's for "my" and "User's", else that of the name before it."""
    if owner is None or fold(owner) in ("user", "the user"):
        return speaker
    return owner if owner[0].isupper() else None


# Find the people, places, projects and things that a text names.
#
# Precision first: a capital letter alone proves little, so each type asks for a list, a suffix or a cue,
# and what stays unclear is `unknown` or nothing. Numbers: docs/lab/0009-entities.md.

MAX_MENTIONS = 50
"""A statement names a handful of things; a longer list is a document's."""

MAX_RUNS = 100
"""Capitalised names that are looked at: enough for fifty mentions, and a bound on the time of a bad text."""

MAX_CHARACTERS = 10_000
"""What lies behind is not looked at; a memory is shorter."""

_HOSTED = frozenset({"cloud", "code host", "work tool", "ci"})
"""Classes of technology that are used as a service."""


def mentions(text: str, *, speaker: str | None = None) -> tuple[Mention, ...]:
    """
    Return what the text names, in order, each thing once.

    "My sister" is a mention only when the speaker is known, and then as "Tom's sister"; with a name beside
    it ("my sister Ana"), the name is the mention.
    """
    apart, bare, words = _read(text[:MAX_CHARACTERS])
    found = _Spans([*apart, *relations(bare, speaker)])
    found.add_free(lower_case_names(bare))
    found.add_free(renamed_things(bare))
    found.add_free(_capitalised(bare, words, found))
    found.add_free(small_names(bare, words))
    every = [*found.placed, *unspaced_mentions(bare)]
    in_order = [mention for _, _, mention in sorted(every, key=lambda placed: placed[:2])]
    return _distinct(in_order)[:MAX_MENTIONS]


def possible_names(text: str) -> tuple[str, ...]:
    """
    Return words that may be names but prove nothing by themselves, for a look at what is known already.

    A capitalised first word that is on no list ("Microsft renewed"), or a given name in small letters.
    """
    _, bare, words = _read(text[:MAX_CHARACTERS])
    first = [bare[run.start : run.end] for run in runs(bare, words) if _may_be_name(run)]
    given = name_lists().given
    small = [bare[word.start : word.end] for word in words if not word.is_capital and word.folded in given]
    return tuple(dict.fromkeys([*first, *small]))[:MAX_MENTIONS]


def words_in_place_of_names(text: str) -> tuple[str, ...]:
    """Return small words, common ones too, that stand where only someone's name can: "shiv wants it"."""
    _, bare, words = _read(text[:MAX_CHARACTERS])
    return tuple(dict.fromkeys(words_used_as_names(bare, words)))[:MAX_MENTIONS]


@cached(64)  # a statement is asked what it names, and what it may name
def _read(text: str) -> tuple[list[Placed], str, list[Word]]:
    """Return what is set apart of a text, the rest, and its words."""
    apart, bare = set_apart(text)
    return apart, bare, words_of(bare)


def type_of(name: str) -> EntityType:
    """Return what a name by itself seems to be, as when an extractor gives only the name."""
    whole = [found.type for found in mentions(f"about {name}") if fold_name(found.text) == fold_name(name)]
    return whole[0] if whole else EntityType.UNKNOWN


def _distinct(found: list[Mention]) -> tuple[Mention, ...]:
    """Return each thing once; a name whose type is clear in one place is not unclear in another."""
    clear = {fold_name(mention.text) for mention in found if mention.type is not EntityType.UNKNOWN}
    distinct: dict[tuple[str, EntityType], Mention] = {}
    for mention in found:
        if mention.type is not EntityType.UNKNOWN or fold_name(mention.text) not in clear:
            distinct.setdefault((fold_name(mention.text, mention.type), mention.type), mention)
    return tuple(distinct.values())


def _may_be_name(run: CapitalizedRun) -> bool:
    lists = name_lists()
    first = run.words[0].folded
    is_plain = first in lists.starters or first in lists.not_names or run.words[-1].is_owner
    return run.starts_sentence and not is_plain


def _capitalised(text: str, words: list[Word], taken: _Spans) -> Iterator[Placed]:
    """Yield what runs of capitalised words name, and technologies in whatever case."""
    tools = _Spans([placed for placed in _tools(text) if taken.is_free(placed)])
    named = _Spans([])
    if any(map(str.islower, text)):  # a text in capitals throughout says nothing by its capitals
        is_german = capitals_prove_nothing(text)
        found = (
            run_mention(text, run, is_tool=tools.has(run.start, run.end), is_german=is_german)
            for run in runs(text, words)[:MAX_RUNS]
        )
        named.add_free(placed for placed in found if placed is not None)
    named.add_free(tools.placed)
    yield from named.placed


def _tools(text: str) -> Iterator[Placed]:
    for one in find_technologies(text):
        kind = EntityType.SERVICE if one.kind in _HOSTED else EntityType.TECHNOLOGY
        yield one.start, one.end, Mention(text=text[one.start : one.end], type=kind)


class _Spans:
    """Mentions that do not overlap, kept in order so that asking whether a place is free is quick."""

    def __init__(self, placed: Iterable[Placed]) -> None:
        self.placed: list[Placed] = []
        self._starts: list[int] = []
        self.add_free(placed)

    def add_free(self, others: Iterable[Placed]) -> None:
        """Keep those whose place is free."""
        for placed in list(others):
            if self.is_free(placed):
                at = bisect_right(self._starts, placed[0])
                self._starts.insert(at, placed[0])
                self.placed.insert(at, placed)

    def is_free(self, placed: Placed) -> bool:
        """Return whether nothing stands where this does."""
        return not self.has(placed[0], placed[1])

    def has(self, start: int, end: int) -> bool:
        """Return whether something stands between these places."""
        at = bisect_right(self._starts, start)
        is_before = at > 0 and self.placed[at - 1][1] > start
        return is_before or (at < len(self._starts) and self._starts[at] < end)
