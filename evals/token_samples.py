"""
Texts of many kinds to count tokens in.

Used by `tokens`. Everything comes from this repository and from Python's standard library, except the chat,
a file of LoCoMo's form that is read and never copied, and the messages of programs in a hundred languages,
gettext catalogues that most Linux systems have. A text belongs to one half by its hash, as everywhere.
"""

from __future__ import annotations

import base64
import gettext
import json
import random
import sysconfig
import uuid
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

EVALS = Path(__file__).parent
ROOT = EVALS.parent
LIBRARY = Path(sysconfig.get_paths()["stdlib"])
LIBRARY_PARTS = {"test", "tests", "idlelib", "encodings", "site-packages", "pydoc_data"}
"""Of the standard library that are left out: tests are as large as the rest, tables are no code."""
MOST = 1_000
"""Samples of a kind."""
RARE = "messages, rarer languages"
"""Counted for the costs and reported, but not what the bound is made for: it would be half as high again."""
MESSAGES_A_LANGUAGE = 120
SPOKEN = """
ar bg bn ca cs da de el es et fa fi fr he hi hr hu id it ja ka ko lt lv ms nb nl pl pt pt_BR ro ru sk sl sr
sv ta th tr uk vi zh_CN zh_TW
"""
"""The languages of the messages that most people speak; the others are counted apart."""


def samples(*, chat: Path | None, messages: Path | None) -> dict[str, list[str]]:
    """Return the texts by kind; those without a file are missing."""
    statements = list(_statements())
    kinds = {
        "chat": _chat(chat) if chat else [],
        "statements": [text for text in statements if text.isascii()],
        "statements, not English": [text for text in statements if not text.isascii()],
        "32 languages": _languages(),
        "our code": _chunks(sorted((ROOT / "src").rglob("*.py")), lines=(4, 40)),
        "standard library": _chunks(_library(), lines=(4, 40)),
        "manual": [part for page in topics.values() for part in page.split("\n\n") if len(part) > 60],
        "Markdown": _chunks([*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], lines=(3, 12)),
        "JSON": _chunks(sorted(EVALS.rglob("data/*.json")), lines=(4, 24)),
        "HTML and CSS": _chunks(_markup(), lines=(4, 24)),
        "keys and hashes": _keys(random.Random(7)),
    }
    if messages:
        catalogues = dict(_catalogues(messages))
        kinds["messages, 43 languages"] = [one for name in SPOKEN.split() for one in catalogues.pop(name, [])]
        kinds[RARE] = [one for name in sorted(catalogues) for one in catalogues[name]]
    return {kind: found for kind, texts in kinds.items() if (found := _some(texts, kind))}


def _some(texts: Iterable[str], kind: str) -> list[str]:
    """Return up to so many of the texts, evenly taken; lone surrogates are no text for a tokenizer."""
    usable = [text for text in texts if text.strip() and text.isascii() | (text == _whole(text))]
    most = 6 * MOST if kind.startswith("messages") else MOST
    few = min(most, len(usable))
    return [usable[place * len(usable) // few] for place in range(few)]


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _chat(path: Path) -> Iterator[str]:
    for talk in json.loads(path.read_text("utf-8")):
        for session in talk["conversation"].values():
            if isinstance(session, list):
                yield from (turn["text"] for turn in session)


def _statements() -> Iterator[str]:
    """Yield what the other evals have people say and ask."""
    for path in sorted([*(EVALS / "capture/data").glob("*.json"), *(EVALS / "queries/data").glob("*.json")]):
        cases: Any = json.loads(path.read_text("utf-8"))
        if isinstance(cases, list):
            yield from (case["text"] for case in cases)


def _languages() -> Iterator[str]:
    for texts in json.loads((EVALS / "tokens.json").read_text("utf-8")).values():
        yield from texts
    yield from (case["memory"] for case in json.loads((EVALS / "languages.json").read_text("utf-8")))


def _library() -> list[Path]:
    return [path for path in sorted(LIBRARY.rglob("*.py")) if not LIBRARY_PARTS & set(path.parts)]


def _markup() -> list[Path]:
    ours = [path for ending in ("html", "css", "svg") for path in sorted((ROOT / "src").rglob(f"*.{ending}"))]
    return [*ours, *sorted(LIBRARY.rglob("*.html"))]


def _chunks(paths: Iterable[Path], *, lines: tuple[int, int]) -> Iterator[str]:
    """Yield pieces of the files, of as many lines as the dice say."""
    dice = random.Random(1)
    for path in paths:
        rest = iter(path.read_text("utf-8", errors="replace").splitlines(keepends=True))
        while chunk := "".join(islice(rest, dice.randint(*lines))):
            yield chunk.strip("\n")


def _keys(dice: random.Random) -> Iterator[str]:
    """Yield sentences around identifiers, digests and keys, as notes about programs have them."""
    for _ in range(60):
        made = uuid.UUID(int=dice.getrandbits(128), version=4)
        secret = base64.b64encode(dice.randbytes(30)).decode()
        yield f"The job {made} failed on the second node."
        yield f"Fixed in commit {dice.randbytes(20).hex()}, released a day later."
        yield f"digest: {dice.randbytes(32).hex()}\nsignature: {secret}"
        yield f"https://example.org/{dice.randbytes(6).hex()}?token={secret[:24]}&page={dice.randint(1, 999)}"


def _catalogues(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each language of a gettext folder with some of its longer messages."""
    for language in sorted(folder.iterdir()):
        texts: list[str] = []
        for path in sorted((language / "LC_MESSAGES").glob("*.mo")):
            texts += _messages(path)
        if len(texts) >= 100 and not language.name.startswith("en"):
            random.Random(language.name).shuffle(texts)
            yield language.name, texts[:MESSAGES_A_LANGUAGE]


def _messages(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            catalogue: Any = gettext.GNUTranslations(file)
    except (OSError, ValueError, IndexError):  # a few catalogues are malformed
        return []
    listed = vars(catalogue)["_catalog"].items()
    return [text for key, text in listed if isinstance(key, str) and key and len(text) > 30 and text != key]
