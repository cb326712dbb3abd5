"""Estimate how many tokens a text costs in several tokenizers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Final

from engramdb.erasable_cache import cached
from engramdb.text.lexicons import rows
from engramdb.text.token_pieces import Piece, cut, kinds, margin_class

_MARGIN = "margin "
(_, *_named), *_rows = rows("token_costs")
TOKENIZERS: Final = tuple(_named)
COSTS: Final = {kind: tuple(map(float, costs)) for kind, *costs in _rows if not kind.startswith(_MARGIN)}
"""What each kind of piece costs, in the order of the tokenizers."""
MARGINS: Final = {
    kind.removeprefix(_MARGIN): tuple(map(float, costs)) for kind, *costs in _rows if kind.startswith(_MARGIN)
}
"""By class of piece, how far above the estimate a passage may go."""

# Estimate how many tokens a text costs, for each of several tokenizers.
#
# Called by `detail` on every write, by recall, and by `providers.tokenizers` wherever no exact counter can be
# had; calls `token_pieces` for what a text is made of. Knows no vocabulary and loads nothing: each kind of
# piece costs what it cost on average (`token_ratios`), so a longer text never costs less than its beginning.
# How far off that is, by kind of text and by tokenizer: docs/lab/0019-tokens.md.

USUAL: Final = "o200k"
"""Whose tokens are meant where no tokenizer is named; levels of detail are counted in these."""

LONGEST_KEPT: Final = 40
"""Characters of a piece whose cost is remembered; longer ones are rarely seen twice, and fill the memory."""

MOST_COUNTED: Final = 16_384
"""Texts whose count is remembered, at 140 bytes each; all of them go when there are more."""


@cached(64)  # one write counts the same few texts again and again
def count_tokens(text: str, tokenizer: str = USUAL) -> int:
    """Return about how many tokens a text costs; 0 for nothing, at least 1 for something."""
    return min(_bytes(text), max(1, round(sum([_price(piece, tokenizer)[0] for piece in cut(text)]))))


def most_tokens(text: str, tokenizer: str = USUAL) -> int:
    """
    Return a number of tokens that a text hardly ever exceeds, for a budget that must hold.

    Made for texts of 50 tokens and more: of 2,216 held out, one was above it; of messages in 43 languages one
    in 165, in rarer ones one in 16. Each class of piece has a margin of its own. Bytes are the limit: a
    vocabulary has each of them, and some add one token in front.
    """
    if not text:
        return 0
    mark = (tokenizer, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    known = _counted.get(mark)
    if known is None:
        priced = sum([_price(piece, tokenizer)[1] for piece in cut(text)])
        known = 1 + min(_bytes(text), math.ceil(priced))
        if len(_counted) >= MOST_COUNTED:
            _counted.clear()
        _counted[mark] = known
    return known


_counted: dict[tuple[str, bytes], int] = {}
"""Counts by tokenizer and mark of the text: a window shows much of what the last one showed. No words."""


def forget_counts() -> None:
    """Forget every remembered count; whoever measures begins with this."""
    _counted.clear()


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _price(piece: Piece, tokenizer: str) -> tuple[float, float]:
    """Return what a piece costs, and the most that it may."""
    return (_kept_price if len(piece[1]) <= LONGEST_KEPT else _reckon)(piece, tokenizer)


def _reckon(piece: Piece, tokenizer: str) -> tuple[float, float]:
    usual, most = _costs(tokenizer), _most_costs(tokenizer)
    counted = list(kinds(piece))
    return sum([usual[kind] * n for kind, n in counted]), sum([most[kind] * n for kind, n in counted])


_kept_price = cached(8192)(_reckon)
"""By piece and not by text: most words of a text were counted before."""


@cache
def _costs(tokenizer: str) -> Mapping[str, float]:
    column = TOKENIZERS.index(tokenizer)
    return {kind: row[column] for kind, row in COSTS.items()}


@cache
def _most_costs(tokenizer: str) -> Mapping[str, float]:
    column = TOKENIZERS.index(tokenizer)
    most = {kind: row[column] * MARGINS[margin_class(kind)][column] for kind, row in COSTS.items()}
    return most | {"rare byte": 1.0}
