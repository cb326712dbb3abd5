"""
Find what is named without capitals: files, handles, services in small letters, "my sister".

Called by `mentions` before it looks at capitalised words. Files and handles are cut out of the text here, and
so are addresses, whose parts would look like names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engram.text.entity_names import fold, name_lists
from engram.text.lazy import lazy
from engram.values import EntityType, Mention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.text.run_types import Placed

_MAX_PATH_CHARACTERS = 255
_CHUNK = lazy(r"[^\s,;()\[\]{}<>\"“”«»]+")
_EXTENSION = lazy(
    r"\.(?:py|pyi|ipynb|rs|go|js|jsx|ts|tsx|mjs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|ps1|sql|"
    r"html?|css|scss|json|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|parquet|xlsx?|docx?|pptx?|pdf|"
    r"png|jpe?g|svg|gif|zip|tar|gz|db|sqlite|tf|proto|vue|svelte|dart|lua|ex|exs|hs|ml|clj|r|jl)\Z",
    re.IGNORECASE,
)
_LIBRARY = lazy(r"(?:node|next|vue|d3|three|express|nuxt|chart|socket)\.(?:js|io)\Z", re.IGNORECASE)
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
_KIN = {
    "mother": "mother mum mom mummy mommy mutter mama mère madre mãe мама мать",
    "father": "father dad daddy vater papa père padre pai папа отец",
    "sister": "sister schwester sœur hermana irmã sorella сестра",
    "brother": "brother bruder frère hermano irmão fratello брат",
    "wife": "wife frau femme esposa mujer moglie жена",
    "husband": "husband mann mari esposo marido marito муж",
    "son": "son sohn fils hijo filho figlio сын",
    "daughter": "daughter tochter fille hija filha figlia дочь",
    "grandmother": "grandmother grandma granny oma grand-mère abuela avó nonna бабушка",
    "grandfather": "grandfather grandpa opa grand-père abuelo avô nonno дедушка",
}
_OTHERS = """
partner spouse fiancé fiancée girlfriend boyfriend aunt uncle cousin niece nephew boss manager roommate
flatmate landlord landlady therapist dentist doctor neighbour neighbor colleague coworker co-worker teacher
mentor tutor supervisor assistant accountant lawyer coach trainer hairdresser stepmother stepfather stepson
stepdaughter stepsister stepbrother godmother godfather grandson granddaughter nanny babysitter vet
"""
_RELATIONS = {fold(word): noun for noun, words in _KIN.items() for word in words.split()} | {
    fold(word): word for word in _OTHERS.split()
}
_RELATION = lazy(
    r"(?<!\w)(?:(?P<mine>my|our|meine?[rnm]?|unsere?|mon|ma|mi|minha|meu|mia|mio|моя|мой|мою|моего)"
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
        return start, end, Mention(chunk, EntityType.PERSON)
    is_library = _LIBRARY.match(chunk) is not None or (chunk[0].isupper() and chunk.endswith(".js"))
    is_named_file = _EXTENSION.search(chunk) is not None and not is_library and "@" not in chunk
    if is_named_file or _PATH.match(chunk):
        return start, end, Mention(chunk, EntityType.FILE)
    return None


def lower_case_names(text: str) -> Iterator[Placed]:
    """Yield services and repositories that are named in small letters."""
    for match in _SERVICE.finditer(text):
        name = match["named"]
        if name is None:
            yield match.start("joined"), match.end(), Mention(match["joined"], EntityType.SERVICE)
        elif name.islower() and name not in name_lists().not_services:
            start = match.start("named")
            yield start, match.end(), Mention(text[start : match.end()], EntityType.SERVICE)
    for match in _REPOSITORY.finditer(text):
        yield match.start(), match.end(), Mention(match.group(), EntityType.PROJECT)


def relations(text: str, speaker: str | None) -> Iterator[Placed]:
    """Yield "Tom's sister" for "my sister" and for itself, unless her name stands there too."""
    for match in _RELATION.finditer(text):
        noun = _relation(match["noun"], is_by_marriage=match["law"] is not None)
        if noun is None or _NAME_FOLLOWS.match(text[match.end() : match.end() + 16]):
            continue
        whose = _whose(match["owner"], speaker)
        if whose:
            yield match.start(), match.end(), Mention(f"{whose}'s {noun}", EntityType.PERSON)


def _relation(written: str, *, is_by_marriage: bool) -> str | None:
    folded = fold(written)
    noun = folded if folded == "best friend" else _RELATIONS.get(folded)
    return f"{noun}-in-law" if noun and is_by_marriage else noun


def _whose(owner: str | None, speaker: str | None) -> str | None:
    """Return whose relation it is: the speaker's for "my" and "User's", else that of the name before it."""
    if owner is None or fold(owner) in ("user", "the user"):
        return speaker
    return owner if owner[0].isupper() else None
