"""
Find the people, places, projects and things that a text names.

Called by the entity registry for every admitted memory; calls the lists of `entity_names` and the technologies'
vocabulary. Precision first: a capital letter alone proves little, so each type asks for a list, a suffix or a cue
beside the name, and what stays unclear is `unknown` or nothing. No model: docs/lab/0009-entities.md has the numbers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text.entity_names import fold, fold_name, name_lists
from engram.text.name_runs import Run, runs, words_of
from engram.text.run_types import run_mention
from engram.text.technologies import find_technologies
from engram.text.unspaced_names import unspaced_mentions
from engram.values import EntityType, Mention

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MENTIONS = 50
"""A statement names a handful of things; a longer list is a document's."""

Placed = tuple[int, int, Mention]
"""Where a mention starts and ends, and what it is."""

_CHUNK = re.compile(r"[^\s,;()\[\]{}<>\"“”«»]+")
_EXTENSION = re.compile(
    r"\.(?:py|pyi|ipynb|rs|go|js|jsx|ts|tsx|mjs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|ps1|sql|html?|css"
    r"|scss|json|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|parquet|xlsx?|docx?|pptx?|pdf|png|jpe?g|svg|gif"
    r"|zip|tar|gz|db|sqlite|tf|proto|vue|svelte|dart|lua|ex|exs|hs|ml|clj|r|jl)\Z",
    re.IGNORECASE,
)
_NODE = re.compile(r"(?:node|next|vue|d3|three|express|nuxt)\.js\Z|asp\.net\Z", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)+/?\Z")
_HANDLE = re.compile(r"@[A-Za-z][\w.-]{0,38}\Z")
_SERVICE = re.compile(
    r"(?<![\w-])(?:(?:the|our|this) (?P<named>[a-z][a-z0-9_-]{1,30}) (?:micro)?service"
    r"|(?P<joined>[a-z][a-z0-9]{1,30}(?:[-_][a-z0-9]{1,30}){0,4}[-_](?:micro)?service))(?![\w-])",
    re.IGNORECASE,
)
_REPOSITORY = re.compile(
    r"(?<![\w-])(?P<name>[a-z][a-z0-9]{0,30}(?:[-_][a-z0-9]{1,30}){1,4} (?:repo|repository|project|app|library))(?![\w-])"
)
_PLAIN_SERVICES = frozenset(
    "customer public room self web full social civil secret postal military health emergency new old same whole free"
    " good bad best first same tax phone mobile cell table food bus train delivery support church funeral"
    " other entire wrong right daily local national".split()
)

_KIN = {
    "mother": "mother mum mom mummy mommy mutter mama mère mere madre mãe mae мама мать",
    "father": "father dad daddy vater papa père pere padre pai папа отец",
    "sister": "sister schwester sœur soeur hermana irmã irma sorella сестра",
    "brother": "brother bruder frère frere hermano irmão irmao fratello брат",
    "wife": "wife frau femme esposa mujer moglie жена",
    "husband": "husband mann mari esposo marido marito муж",
    "son": "son sohn fils hijo filho figlio сын",
    "daughter": "daughter tochter fille hija filha figlia дочь",
    "grandmother": "grandmother grandma granny oma grand-mère abuela avó nonna бабушка",
    "grandfather": "grandfather grandpa opa grand-père abuelo avô nonno дедушка",
}
_PLAIN_KIN = (
    "partner spouse fiancé fiancée fiance fiancee girlfriend boyfriend aunt uncle cousin niece nephew boss manager "
    "roommate flatmate landlord landlady therapist dentist doctor neighbour neighbor colleague coworker co-worker teacher "
    "mentor tutor supervisor assistant accountant lawyer coach trainer hairdresser stepmother stepfather stepson "
    "stepdaughter stepsister stepbrother godmother godfather grandson granddaughter twin nanny babysitter vet"
)
_RELATIONS = {fold(word): noun for noun, words in _KIN.items() for word in words.split()} | {
    fold(word): word for word in _PLAIN_KIN.split()
}
_RELATION = re.compile(
    r"(?<!\w)(?:(?P<mine>my|our|meine?[rnm]?|unsere?|mon|ma|mi|minha|meu|mia|mio|il mio|la mia|моя|мой|мою|моего)"
    r"|(?P<owner>[^\W\d_][\w-]{0,40}(?: [^\W\d_][\w-]{0,40})?)['’]s)"
    r"(?: (?:older|younger|elder|eldest|oldest|youngest|big|little|twin|late|best|new|ex|old|große|kleine|petite?|grande?))?"
    r" (?:ex-)?(?P<noun>best friend|[^\W\d_]+(?:-in-law)?)(?P<law>-in-law)?(?!\w)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\A(?:,? (?:is |was )?(?:called |named )?[A-ZÀ-ÞА-Я]|['’]s|-| (?:is|was|are) (?:called|named)| heißt| s['’]appelle"
    r"| se llama| зовут)"
)


def mentions(text: str, *, speaker: str | None = None) -> tuple[Mention, ...]:
    """
    Return what the text names, in order, each thing once.

    "My sister" is a mention only when the speaker is known, and then as "Tom's sister"; with a name beside
    it ("my sister Ana"), the name is the mention.
    """
    chunks, bare = _set_apart(text)
    found = [*chunks, *_relations(bare, speaker)]
    found += [placed for placed in _lower_case(bare) if not _overlaps(placed, found)]
    found += [placed for placed in _capitalised(bare, found) if not _overlaps(placed, found)]
    found += unspaced_mentions(bare)
    distinct: dict[tuple[str, EntityType], Mention] = {}
    for _, _, mention in sorted(found, key=lambda placed: placed[:2]):
        distinct.setdefault((fold_name(mention.text, mention.type), mention.type), mention)
    return tuple(distinct.values())[:MAX_MENTIONS]


def possible_names(text: str) -> tuple[str, ...]:
    """
    Return words that may be names but prove nothing by themselves, for a look at what is known already.

    A capitalised first word that is on no list, or a given name in small letters: "Microsft renewed", "ask anna".
    """
    _, bare = _set_apart(text)
    lists = name_lists()
    words = words_of(bare)
    starts = [bare[run.start : run.end] for run in runs(bare, words) if _is_doubtful(run)]
    small = [bare[w.start : w.end] for w in words if not w.is_capital and w.folded in lists.given]
    return tuple(dict.fromkeys([*starts, *small]))[:MAX_MENTIONS]


def _is_doubtful(run: Run) -> bool:
    first = run.words[0].folded
    lists = name_lists()
    return run.starts_sentence and first not in lists.starters and first not in lists.not_names


def _set_apart(text: str) -> tuple[list[Placed], str]:
    """Return files and handles, and the text with them and all addresses blotted out at equal length."""
    found: list[Placed] = []
    bare = text
    for match in _CHUNK.finditer(text):
        chunk = match.group().rstrip(".:!?'’*`").lstrip("'‘*`")
        start = match.start() + match.group().find(chunk)
        placed = _file_or_handle(chunk, start)
        if placed is not None:
            found.append(placed)
        if placed is not None or "://" in chunk or "@" in chunk or chunk.startswith("www."):
            bare = bare[:start] + "·" * len(chunk) + bare[start + len(chunk) :]
    return found, bare


def _file_or_handle(chunk: str, start: int) -> Placed | None:
    if len(chunk) < 2 or "://" in chunk or not ("." in chunk or "/" in chunk or "@" in chunk):
        return None
    if _HANDLE.match(chunk):
        return start, start + len(chunk), Mention(chunk, EntityType.PERSON)
    is_file = _EXTENSION.search(chunk) and not _NODE.match(chunk) and "@" not in chunk and len(chunk) < 256
    if is_file or (chunk[0] in "~./" and len(chunk) < 256 and _PATH.match(chunk)):
        return start, start + len(chunk), Mention(chunk, EntityType.FILE)
    return None


def _relations(text: str, speaker: str | None) -> Iterator[Placed]:
    """Yield "Tom's sister" for "my sister" and for itself, unless her name stands there too."""
    for match in _RELATION.finditer(text):
        noun = _relation_noun(match["noun"], match["law"])
        if noun is None or _NAMED.match(text[match.end() : match.end() + 16]):
            continue
        owner = match["owner"]
        if owner is not None and fold(owner) != "user" and not owner[0].isupper():
            continue
        whose = speaker if owner is None or fold(owner) == "user" else owner
        if whose:
            yield match.start(), match.end(), Mention(f"{whose}'s {noun}", EntityType.PERSON)


def _relation_noun(written: str, law: str | None) -> str | None:
    folded = fold(written).removesuffix("-in-law")
    noun = "best friend" if folded == "best friend" else _RELATIONS.get(folded)
    is_law = law or fold(written).endswith("-in-law")
    return f"{noun}-in-law" if noun and is_law else noun


def _lower_case(text: str) -> Iterator[Placed]:
    """Yield services and repositories that are named in small letters."""
    for match in _SERVICE.finditer(text):
        name = match["named"]
        if name is None:
            yield match.start("joined"), match.end(), Mention(match["joined"], EntityType.SERVICE)
        elif name.islower() and name not in _PLAIN_SERVICES:
            start = match.start("named")
            yield start, match.end(), Mention(text[start : match.end()], EntityType.SERVICE)
    for match in _REPOSITORY.finditer(text):
        yield match.start(), match.end(), Mention(match["name"], EntityType.PROJECT)


_HOSTED = frozenset({"cloud", "code host", "work tool", "ci"})


def _capitalised(text: str, taken: list[Placed]) -> Iterator[Placed]:
    """Yield what runs of capitalised words name, and technologies in whatever case."""
    tools: list[Placed] = [
        (
            one.start,
            one.end,
            Mention(
                text[one.start : one.end],
                EntityType.SERVICE if one.kind in _HOSTED else EntityType.TECHNOLOGY,
            ),
        )
        for one in find_technologies(text)
    ]
    tools = [tool for tool in tools if not _overlaps(tool, taken)]
    every = runs(text, words_of(text))
    is_shouting = not any(character.islower() for character in text)
    named = [] if is_shouting else [run_mention(text, run, tools) for run in every]
    placed = [one for one in named if one is not None]
    yield from placed
    yield from (tool for tool in tools if not _overlaps(tool, placed))


def _overlaps(placed: Placed, others: list[Placed]) -> bool:
    start, end, _ = placed
    return any(start < other_end and other_start < end for other_start, other_end, _ in others)
