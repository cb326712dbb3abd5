"""Estimate how many tokens a text costs in several tokenizers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Final

from engramdb.erasable_cache import cached
from engramdb.text.token_pieces import Piece, cut, kinds, margin_class

# What each kind of piece costs in the tokens of several tokenizers: measured, not chosen.
#
# Read by `tokens`; written by `python -m evals.tokens --fit` from texts of many kinds, the half that is not
# reported. A row is a kind of piece as `token_pieces` counts it, a column a tokenizer. `MARGINS` say by class
# how far above the estimate a passage may go. How they were found: docs/lab/0019-tokens.md.

TOKENIZERS: Final = (
    *("o200k", "cl100k", "llama3", "llama4", "qwen", "deepseek", "tekken", "mistral", "claude3", "claude5"),
)

COSTS: Final = {
    "accent": (0.397, 0.834, 0.410, 0.367, 0.613, 0.722, 0.332, 0.892, 0.688, 0.201),
    "apostrophe": (0.327, 0.898, 0.985, 0.381, 0.980, 0.996, 0.878, 1.362, 1.085, 1.381),
    "arabic": (0.024, 1.029, 0.000, 0.002, 0.701, 0.371, 0.220, 2.175, 1.042, 1.001),
    "armenian": (0.601, 3.026, 3.273, 2.076, 1.983, 2.064, 0.788, 2.445, 2.125, 2.070),
    "bengali": (0.486, 2.486, 2.429, 1.344, 2.004, 1.361, 1.372, 2.581, 1.050, 1.044),
    "blank before digits": (0.690, 0.616, 0.628, 0.722, 0.559, 0.720, 0.624, 0.834, 1.330, 1.317),
    "burmese": (1.485, 2.679, 2.721, 2.171, 1.455, 3.171, 1.744, 0.880, 1.439, 1.451),
    "capital": (0.143, 0.210, 0.222, 0.174, 0.221, 0.192, 0.154, 0.257, 0.380, 1.110),
    "common han": (0.621, 0.885, 0.680, 0.620, 0.577, 0.515, 0.720, 1.040, 1.098, 1.009),
    "contraction": (0.000, 0.110, 0.011, 0.000, 0.010, 0.000, 0.127, 0.473, 0.000, 0.000),
    "cyrillic": (0.684, 1.440, 0.770, 0.491, 0.546, 0.768, 0.612, 0.647, 1.133, 1.131),
    "devanagari": (0.449, 2.039, 0.751, 0.662, 1.754, 1.466, 0.639, 2.205, 1.189, 1.176),
    "digit": (0.000, 0.000, 0.000, 0.000, 0.868, 0.000, 0.890, 0.961, 0.000, 0.001),
    "emoji": (1.605, 2.654, 2.714, 2.030, 1.230, 1.579, 4.047, 2.213, 4.149, 4.016),
    "english": (0.957, 0.949, 0.947, 0.950, 0.948, 0.929, 0.939, 0.888, 0.893, 0.909),
    "english glued": (0.803, 0.776, 0.773, 0.810, 0.753, 0.926, 0.814, 1.165, 1.058, 1.127),
    "english over 12": (0.028, 0.008, 0.013, 0.024, 0.062, 0.126, 0.061, 0.150, 0.322, 0.248),
    "english over 3": (0.033, 0.041, 0.041, 0.038, 0.039, 0.053, 0.052, 0.089, 0.068, 0.270),
    "english over 5": (0.013, 0.005, 0.007, 0.020, 0.007, 0.007, 0.027, 0.020, 0.014, 0.069),
    "english over 8": (0.075, 0.069, 0.068, 0.068, 0.063, 0.045, 0.038, 0.004, 0.018, 0.000),
    "far": (0.881, 1.184, 0.698, 0.775, 0.635, 1.228, 0.840, 1.358, 1.340, 1.703),
    "far accent": (0.577, 1.100, 0.387, 0.344, 0.574, 1.049, 0.617, 1.159, 0.963, 0.612),
    "far glued": (0.776, 0.674, 0.636, 0.807, 0.528, 0.752, 0.811, 0.998, 1.049, 1.060),
    "far over 12": (0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000),
    "far over 3": (0.299, 0.384, 0.473, 0.351, 0.581, 0.287, 0.394, 0.380, 0.248, 0.485),
    "far over 5": (0.108, 0.027, 0.136, 0.034, 0.000, 0.096, 0.027, 0.037, 0.118, 0.021),
    "far over 8": (0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000),
    "gap": (1.323, 1.300, 1.309, 1.205, 1.385, 1.173, 1.084, 1.049, 1.013, 0.697),
    "georgian": (0.940, 2.687, 2.684, 1.253, 1.768, 2.150, 1.230, 1.793, 2.249, 2.459),
    "greek": (1.008, 0.917, 0.605, 1.314, 0.906, 0.846, 1.110, 1.990, 1.231, 1.246),
    "gujarati": (0.665, 2.005, 1.998, 0.895, 2.473, 1.189, 1.125, 4.286, 1.262, 1.151),
    "gurmukhi": (0.369, 1.939, 1.973, 0.568, 2.353, 0.968, 0.518, 3.503, 4.025, 3.912),
    "hangul": (1.566, 2.521, 1.442, 1.188, 1.687, 1.977, 1.710, 2.338, 2.252, 2.532),
    "hebrew": (0.618, 1.211, 1.209, 0.658, 0.431, 0.746, 0.579, 1.922, 1.535, 1.515),
    "hump": (1.162, 1.086, 0.980, 1.080, 0.791, 1.026, 1.098, 0.991, 1.603, 1.030),
    "indent": (0.515, 0.532, 0.521, 0.758, 0.517, 0.717, 0.690, 0.739, 0.962, 0.981),
    "kana": (1.004, 1.119, 0.870, 1.032, 1.159, 1.156, 0.650, 1.613, 1.084, 0.865),
    "kannada": (1.089, 1.991, 2.004, 1.746, 2.157, 1.525, 1.468, 2.485, 3.487, 3.508),
    "khmer": (0.008, 1.779, 1.996, 0.455, 1.296, 1.657, 2.895, 1.258, 2.159, 2.027),
    "line": (0.936, 0.823, 0.855, 0.780, 0.906, 1.070, 0.875, 0.993, 0.890, 0.281),
    "line after mark": (0.082, 0.082, 0.078, 0.013, 0.070, 0.004, 0.006, 0.908, 0.628, 0.444),
    "malayalam": (0.574, 2.665, 2.403, 1.971, 2.736, 1.960, 1.793, 4.261, 2.703, 2.705),
    "mark": (0.736, 0.739, 0.743, 0.715, 0.754, 0.801, 0.791, 0.938, 0.951, 0.986),
    "mark after blank": (1.183, 1.165, 1.167, 1.087, 1.180, 1.068, 1.098, 1.084, 1.101, 1.130),
    "mark again": (0.020, 0.019, 0.019, 0.019, 0.019, 0.021, 0.064, 0.103, 0.061, 0.109),
    "more arabic": (0.491, 0.800, 0.552, 0.549, 0.449, 0.490, 0.416, 0.825, 0.730, 0.744),
    "more armenian": (0.321, 1.976, 1.603, 0.818, 0.980, 0.385, 0.327, 1.041, 0.498, 0.506),
    "more bengali": (0.405, 1.197, 1.198, 0.315, 1.047, 0.310, 0.338, 1.044, 1.030, 1.032),
    "more burmese": (0.458, 2.023, 2.018, 0.429, 1.651, 0.716, 0.498, 1.727, 1.155, 1.152),
    "more cyrillic": (0.265, 0.355, 0.305, 0.258, 0.395, 0.315, 0.308, 0.422, 0.318, 0.322),
    "more devanagari": (0.400, 0.997, 0.623, 0.375, 0.955, 0.518, 0.459, 1.001, 0.826, 0.830),
    "more georgian": (0.276, 2.020, 2.020, 0.334, 1.009, 0.599, 0.415, 1.027, 0.528, 0.503),
    "more greek": (0.294, 1.079, 0.408, 0.220, 1.034, 0.486, 0.302, 0.999, 0.696, 0.695),
    "more gujarati": (0.401, 2.003, 2.004, 0.581, 1.576, 0.970, 0.611, 2.048, 1.092, 1.126),
    "more gurmukhi": (0.737, 2.019, 2.002, 0.846, 1.706, 1.224, 0.854, 2.763, 2.021, 2.061),
    "more hangul": (0.275, 0.463, 0.358, 0.329, 0.398, 0.234, 0.141, 0.919, 0.932, 0.734),
    "more hebrew": (0.405, 1.187, 1.188, 0.499, 0.445, 0.505, 0.539, 1.027, 0.663, 0.662),
    "more humps": (0.023, 0.549, 0.603, 0.144, 0.895, 0.305, 0.584, 0.665, 0.000, 0.090),
    "more kana": (0.470, 0.699, 0.471, 0.277, 0.329, 0.416, 0.471, 0.887, 0.665, 0.679),
    "more kannada": (0.349, 2.006, 2.005, 0.366, 1.483, 0.682, 0.382, 1.390, 1.804, 1.801),
    "more khmer": (0.547, 1.580, 1.569, 0.538, 1.195, 1.114, 3.034, 1.202, 1.053, 1.053),
    "more lines": (0.044, 0.016, 0.009, 0.014, 0.004, 0.002, 0.000, 1.042, 0.123, 0.460),
    "more malayalam": (0.352, 1.650, 1.654, 0.342, 1.304, 0.737, 0.372, 2.086, 1.083, 1.072),
    "more marks": (0.256, 0.256, 0.256, 0.269, 0.256, 0.235, 0.256, 0.059, 0.086, 0.377),
    "more other cyrillic": (0.251, 0.644, 0.294, 0.257, 0.434, 0.399, 0.333, 0.458, 0.450, 0.461),
    "more russian": (0.078, 0.462, 0.246, 0.079, 0.286, 0.249, 0.255, 0.501, 0.406, 0.441),
    "more sinhala": (0.700, 2.043, 2.065, 0.720, 1.617, 1.147, 3.081, 1.822, 0.907, 0.877),
    "more tamil": (0.295, 1.318, 1.319, 0.628, 1.010, 0.382, 0.290, 0.994, 0.862, 0.860),
    "more telugu": (0.528, 2.014, 2.018, 0.660, 1.732, 0.730, 0.546, 1.817, 0.811, 0.802),
    "more thai": (0.419, 0.969, 0.463, 0.331, 0.585, 0.408, 0.569, 1.017, 0.915, 0.918),
    "near": (0.808, 0.897, 0.924, 0.868, 0.828, 0.889, 0.858, 0.993, 0.946, 1.276),
    "near glued": (0.795, 0.638, 0.606, 0.840, 0.540, 0.878, 0.803, 0.847, 0.732, 0.955),
    "near over 12": (0.000, 0.000, 0.000, 0.003, 0.000, 0.000, 0.000, 0.000, 0.117, 0.101),
    "near over 3": (0.117, 0.226, 0.243, 0.104, 0.276, 0.202, 0.159, 0.329, 0.332, 0.493),
    "near over 5": (0.152, 0.111, 0.114, 0.115, 0.086, 0.112, 0.130, 0.000, 0.000, 0.000),
    "near over 8": (0.003, 0.000, 0.000, 0.040, 0.000, 0.000, 0.005, 0.000, 0.000, 0.000),
    "other cyrillic": (1.217, 0.982, 1.520, 1.060, 1.497, 1.201, 0.912, 0.873, 0.637, 0.567),
    "other han": (0.842, 1.579, 0.907, 0.636, 0.536, 0.556, 1.271, 1.325, 1.471, 1.389),
    "punctuation": (1.149, 1.402, 1.194, 1.093, 1.141, 1.081, 0.954, 1.177, 0.942, 1.109),
    "rare byte": (0.436, 0.748, 0.748, 0.409, 0.536, 0.407, 0.892, 0.548, 0.522, 0.522),
    "russian": (1.081, 0.691, 0.777, 0.933, 0.807, 0.632, 0.723, 0.334, 0.863, 0.715),
    "sign": (2.070, 2.350, 2.391, 2.154, 1.192, 2.341, 2.977, 2.486, 3.293, 3.273),
    "sign again": (0.000, 0.942, 0.000, 0.082, 0.000, 0.087, 0.000, 1.904, 1.994, 2.160),
    "sinhala": (0.408, 2.710, 2.574, 0.350, 2.260, 1.174, 3.595, 3.292, 2.150, 2.239),
    "small sign": (1.179, 1.126, 1.202, 1.095, 1.351, 1.287, 1.201, 1.154, 1.608, 1.315),
    "tab": (0.124, 0.625, 0.675, 0.167, 0.658, 0.436, 0.629, 1.249, 0.691, 0.859),
    "tamil": (0.917, 3.031, 3.025, 1.481, 2.799, 2.039, 1.373, 3.042, 1.433, 1.434),
    "telugu": (0.243, 1.929, 1.899, 0.952, 1.686, 1.581, 0.622, 2.445, 1.967, 2.055),
    "thai": (0.887, 0.654, 0.952, 0.701, 0.000, 0.405, 0.411, 1.664, 2.068, 1.992),
    "three digits": (1.267, 1.296, 1.301, 1.261, 0.576, 1.197, 0.488, 0.149, 1.134, 1.138),
    "traditional han": (1.241, 2.039, 0.916, 0.718, 1.202, 1.042, 1.504, 1.238, 1.173, 1.220),
    "two accents": (0.000, 0.896, 0.000, 0.000, 0.000, 0.406, 0.000, 1.677, 1.108, 0.973),
    "upper": (0.091, 0.054, 0.052, 0.077, 0.063, 0.174, 0.181, 0.204, 0.121, 0.378),
    "wide blank": (0.111, 0.003, 0.006, 0.054, 0.010, 0.107, 0.112, 0.537, 0.526, 0.763),
}

MARGINS: Final = {
    "plain": (1.26, 1.36, 1.36, 1.28, 1.34, 1.28, 1.30, 1.40, 1.30, 1.34),
    "near": (1.38, 1.37, 1.29, 1.34, 1.32, 1.33, 1.34, 1.43, 1.34, 1.30),
    "far": (1.25, 1.41, 1.55, 1.34, 1.52, 1.33, 1.24, 1.51, 1.27, 1.30),
    "script": (1.38, 1.27, 1.29, 1.35, 1.39, 1.33, 1.25, 1.54, 1.27, 1.24),
}


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
