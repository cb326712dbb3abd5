"""Choose the sentences of a text that say most of what is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from engramdb.text.normalize import lazy
from engramdb.text.sentences import sentences
from engramdb.text.terms import distinct_terms

MAX_CHARACTERS = 400
"""Of an excerpt: two or three sentences."""
FRAGMENT_CHARACTERS = 25
"""What is shorter says little by itself and is shown with what stands beside it."""
WINDOW_CHARACTERS = 4000
"""A longer text is cut into such windows, and only the best of them into sentences."""
QUESTION_SHARE = 0.5
"""What covering is worth to a question: it asks what is wanted and does not say it."""

_QUESTION = lazy(r"[?？][\"'”’)\]*_]*\Z")
_BREAK = lazy(r"\s")
_CUT = "…"


class Excerpt(Struct, frozen=True):
    """Sentences of a text, and the share of a question that they cover, from 0 to 1."""

    text: str
    covers: float


def best_excerpt(
    text: str, shares: Mapping[str, float], *, is_wanted: Callable[[str], bool] = lambda _sentence: True
) -> Excerpt | None:
    """
    Return the sentence that covers most of a question, and a neighbor that adds to it.

    `shares` says what each of the question's terms is worth; sentences that are not wanted are passed over.
    """
    whole = sentences(_best_window(text, shares))
    held = [frozenset(distinct_terms(sentence)) & shares.keys() for sentence in whole]
    covered = [_worth(sentence, terms, shares) for sentence, terms in zip(whole, held, strict=True)]
    ranked = sorted(range(len(whole)), key=lambda place: -covered[place])
    best = next((place for place in ranked if covered[place] > 0 and is_wanted(whole[place])), None)
    if best is None:
        return None
    chosen, terms = [best], held[best]
    for beside in (best + 1, best - 1):
        is_fragment = sum(len(whole[place]) for place in chosen) < FRAGMENT_CHARACTERS
        if not 0 <= beside < len(whole) or not (is_fragment or held[beside] - terms):
            continue
        if is_wanted(whole[beside]) and len(whole[best]) + len(whole[beside]) < MAX_CHARACTERS:
            chosen, terms = [*chosen, beside], terms | held[beside]
    together = " ".join(whole[place] for place in sorted(chosen))
    return Excerpt(_shortened(together, shares), max(covered[best], _worth(together, terms, shares)))


def _worth(text: str, terms: frozenset[str], shares: Mapping[str, float]) -> float:
    covered = min(1.0, sum(shares[term] for term in terms))
    return covered * QUESTION_SHARE if _QUESTION.search(text) else covered


def _best_window(text: str, shares: Mapping[str, float]) -> str:
    """Return the part of a long text that covers most of the question."""
    if len(text) <= WINDOW_CHARACTERS:
        return text
    return max(
        _windows(text),
        key=lambda window: sum(shares[term] for term in distinct_terms(window) if term in shares),
    )


def _windows(text: str) -> Iterator[str]:
    """Yield a text in pieces that end at a line's end, or at a space where a line is too long."""
    begin = 0
    while begin < len(text):
        end = begin + WINDOW_CHARACTERS
        if end < len(text):
            line = text.rfind("\n", begin + 1, end)
            space = text.rfind(" ", begin + 1, end)
            end = line if line > begin else space if space > begin else end
        yield text[begin:end]
        begin = end


def _shortened(text: str, shares: Mapping[str, float]) -> str:
    """Return a text as it is, or, of a long one, what stands around the first of the words that it holds."""
    if len(text) <= MAX_CHARACTERS:
        return text
    words = _spans(text)
    first = next((start for start, word in words if not shares.keys().isdisjoint(distinct_terms(word))), 0)
    begin = max(0, min(first - MAX_CHARACTERS // 4, len(text) - MAX_CHARACTERS))
    end = begin + MAX_CHARACTERS
    cut = text[begin:end].strip()
    return f"{_CUT if begin else ''}{cut}{_CUT if end < len(text) else ''}"


def _spans(text: str) -> Sequence[tuple[int, str]]:
    """Return the words of a text, each with where it begins."""
    found, begin = [], 0
    for word in text.split():
        begin = text.index(word, begin)
        found.append((begin, word))
        begin += len(word)
    return found
