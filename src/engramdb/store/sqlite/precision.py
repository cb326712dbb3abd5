"""
How a vector is laid out in its blob: 32, 8, 4, 2 or 1 bits a number, told apart by length alone.

Called by `vectors`; calls nothing. Eight bits are the rule, fewer are for memories that have grown cold. A
vector that is to lose most of its bits is first turned by a fixed rotation, after which its numbers look
like draws from a bell curve whatever the embedder was, and each goes to the nearest of the levels that
lose least on such a curve (Lloyd-Max). The scale in front undoes the bias that rounding brings, so that
rows of every precision can be ranked in one list; their noise stays. What that is worth, and why no
policy asks for it by default: docs/lab/0011-temperature.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engramdb.errors import StoreCorrupt
from engramdb.store.contract import QuantizedVectors

PRECISIONS: Final = (32, 8, 4, 2, 1)
MIN_DIMENSION: Final = 8
"""Vectors with fewer numbers keep eight bits: their blobs could not be told apart."""
MAX_SCALE: Final = 2.0**127
"""What is as large, or no number, is no scale; `doctor` counts the same by the last byte."""
_SCALE_BYTES = 4
_ROTATION_STEPS = 2  # so that every number is mixed; three and four find no more
_BLOCK_ROWS = 512  # a block of floats stays in the processor's cache while it is turned


class _Levels(Struct, frozen=True):
    """What the codes of a precision stand for, rising, and how large a standard deviation is there."""

    numbers: NDArray[np.int8]
    deviation: float

    @property
    def edges(self) -> NDArray[np.float32]:
        """Where one level ends and the next begins: halfway."""
        numbers = self.numbers.astype(np.float32)
        return np.asarray((numbers[1:] + numbers[:-1]) / 2, np.float32)


# The levels of least squared error for a normal distribution, stretched so that the outermost is 127: those
# above zero, which stand below it as well, and the standard deviation there.
_LEVELS = {
    4: ((6, 18, 31, 44, 58, 75, 96, 127), 46.477),
    2: ((38, 127), 84.083),
    1: ((127,), 159.170),
}


@cache
def _levels(bits: int) -> _Levels:
    upper, deviation = _LEVELS[bits]
    return _Levels(np.array([-number for number in reversed(upper)] + list(upper), np.int8), deviation)


def row_bytes(dimension: int, bits: int) -> int:
    """Return how long the blob of one vector is; 32 bits need no scale."""
    return 4 * dimension if bits == 32 else _SCALE_BYTES + -(-dimension * bits // 8)


def bits_of(blob_bytes: int, dimension: int) -> int:
    """Return the precision of a blob of this length; raises `StoreCorrupt` where there is none."""
    known = PRECISIONS if dimension >= MIN_DIMENSION else PRECISIONS[:2]
    for bits in known:
        if row_bytes(dimension, bits) == blob_bytes:
            return bits
    raise StoreCorrupt("a stored vector has the wrong length", hint="Run `engram doctor --fix`.")


def quantize(vectors: NDArray[np.float32]) -> QuantizedVectors:
    """Return the vectors with eight bits a number, each row stretched to the full range."""
    scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
    scales[scales == 0] = 1
    numbers = np.rint(vectors / scales[:, None]).astype(np.int8)
    return QuantizedVectors(numbers, scales.astype(np.float32))


def encode(vectors: NDArray[np.float32], *, bits: int) -> list[bytes]:
    """Return a blob per row."""
    if bits == 32:
        return [row.tobytes() for row in vectors.astype("<f4")]
    if bits == 8:
        rounded = quantize(vectors)
        return _join_scales(rounded.scales, rounded.numbers.view(np.uint8))
    blobs: list[bytes] = []
    for start in range(0, len(vectors), _BLOCK_ROWS):
        blobs += _encode_few(vectors[start : start + _BLOCK_ROWS], bits)
    return blobs


def decode(blobs: Sequence[bytes], *, dimension: int) -> NDArray[np.float32]:
    """Return the vectors of blobs of any precisions, as near to what they were as can be."""
    vectors = np.empty((len(blobs), dimension), np.float32)
    for bits, rows in _by_precision(blobs, dimension).items():
        vectors[rows] = _decode_alike([blobs[row] for row in rows], dimension, bits)
    return vectors


def decode_quantized(blobs: Sequence[bytes], *, dimension: int) -> QuantizedVectors:
    """Return the vectors of blobs of any precisions with eight bits a number; eight stay as they are."""
    if {len(blob) for blob in blobs} == {row_bytes(dimension, 8)}:
        return _split_scales(blobs, dimension)
    vectors = QuantizedVectors(np.zeros((len(blobs), dimension), np.int8), np.zeros(len(blobs), np.float32))
    for bits, rows in _by_precision(blobs, dimension).items():
        alike = [blobs[row] for row in rows]
        part = (
            _split_scales(alike, dimension) if bits == 8 else quantize(_decode_alike(alike, dimension, bits))
        )
        vectors.numbers[rows], vectors.scales[rows] = part.numbers, part.scales
    return vectors


def without_damaged(
    blobs: Sequence[bytes | None], *, dimension: int
) -> tuple[list[bytes], NDArray[np.bool_]]:
    """
    Return the blobs, with zeros in place of what is no vector, and which of them are one.

    A blob of a wrong length, or whose numbers cannot be multiplied, would spoil every answer that it is
    compared in; without it, its memory is found by words until `doctor --fix` embeds it again.
    """
    empty, lengths = bytes(row_bytes(dimension, 8)), {row_bytes(dimension, bits) for bits in PRECISIONS}
    whole = [blob if blob is not None and len(blob) in lengths else None for blob in blobs]
    is_there = np.array([blob is not None for blob in whole], np.bool_)
    kept = [empty if blob is None else blob for blob in whole]
    heads = np.frombuffer(b"".join(blob[:_SCALE_BYTES] for blob in kept), "<f4")
    is_there &= np.abs(heads) < MAX_SCALE  # no number is not below
    return [
        blob if is_good else empty for blob, is_good in zip(kept, is_there.tolist(), strict=True)
    ], is_there


def _by_precision(blobs: Sequence[bytes], dimension: int) -> dict[int, NDArray[np.intp]]:
    lengths = np.fromiter(map(len, blobs), np.int64, len(blobs))
    return {bits_of(int(n), dimension): np.flatnonzero(lengths == n) for n in np.unique(lengths)}


def _decode_alike(blobs: Sequence[bytes], dimension: int, bits: int) -> NDArray[np.float32]:
    if bits == 32:
        floats = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimension)
        return np.asarray(floats, np.float32)
    if bits == 8:
        rows = _split_scales(blobs, dimension)
        return np.asarray(rows.numbers * rows.scales[:, None], np.float32)
    vectors = np.empty((len(blobs), dimension), np.float32)
    for start in range(0, len(blobs), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        vectors[block] = _decode_few(blobs[block], dimension, bits)
    return vectors


def _encode_few(vectors: NDArray[np.float32], bits: int) -> list[bytes]:
    """
    Return blobs of four bits a number or fewer.

    With the scale `<x, x> / <x, levels>` a stored row's product with its own vector is what it should be, and
    with a vector that lies anywhere else it is right on average. The scale of least error would shrink every
    product, more so the fewer the bits, and no cold memory would ever be ranked above a warm one.
    """
    levels, turned = _levels(bits), rotate(vectors)
    squares = np.einsum("ij,ij->i", turned, turned, dtype=np.float64)
    deviations = np.sqrt(squares / vectors.shape[1])
    stretch = levels.deviation / np.where(deviations > 0, deviations, 1)
    codes = np.searchsorted(levels.edges, turned * stretch[:, None].astype(np.float32)).astype(np.uint8)
    products = np.einsum("ij,ij->i", turned, levels.numbers[codes], dtype=np.float64)
    scales = np.divide(squares, products, out=np.zeros_like(squares), where=products > 0)
    return _join_scales(scales.astype(np.float32), _pack_codes(codes, bits))


def _decode_few(blobs: Sequence[bytes], dimension: int, bits: int) -> NDArray[np.float32]:
    rows = np.frombuffer(b"".join(blobs), np.uint8).reshape(len(blobs), -1)
    scales = np.ascontiguousarray(rows[:, :_SCALE_BYTES]).view("<f4")
    numbers = _levels_by_byte(bits)[rows[:, _SCALE_BYTES:]].view(np.int8)[:, :dimension]
    return rotate_back(numbers * scales)


def _join_scales(scales: NDArray[np.float32], codes: NDArray[np.uint8]) -> list[bytes]:
    rows = np.concatenate([scales.astype("<f4")[:, None].view(np.uint8), codes], axis=1)
    return [row.tobytes() for row in rows]


def _split_scales(blobs: Sequence[bytes], dimension: int) -> QuantizedVectors:
    rows = np.frombuffer(b"".join(blobs), np.int8).reshape(len(blobs), _SCALE_BYTES + dimension)
    scales = np.ascontiguousarray(rows[:, :_SCALE_BYTES]).view("<f4")
    return QuantizedVectors(rows[:, _SCALE_BYTES:], scales.reshape(len(blobs)).astype(np.float32))


def _pack_codes(codes: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Return several codes to a byte, the first in the highest bits; zeros fill up the last byte."""
    count, dimension = codes.shape
    shifts = _shifts(bits)
    padded = np.zeros((count, -(-dimension // len(shifts)), len(shifts)), np.uint8)
    padded.reshape(count, -1)[:, :dimension] = codes
    return np.asarray(np.bitwise_or.reduce(padded << shifts, axis=2), np.uint8)


@cache
def _levels_by_byte(bits: int) -> NDArray[np.unsignedinteger]:
    """Return the levels that each of the 256 bytes stands for, as one number: quicker to look up."""
    codes = (np.arange(256, dtype=np.uint8)[:, None] >> _shifts(bits)) & (2**bits - 1)
    levels: NDArray[np.unsignedinteger] = _levels(bits).numbers[codes].view(f"u{8 // bits}")
    return levels.reshape(256)


def _shifts(bits: int) -> NDArray[np.uint8]:
    return np.arange(8 - bits, -1, -bits, dtype=np.uint8)


def rotate(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows turned by the rotation of their dimension: no length and no angle changes."""
    columns = np.array(rows.T, np.float32, order="C")
    for signs, window in _rotation(len(columns)):
        columns *= signs
        _mix(columns[window])
    return columns.T


def rotate_back(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return turned rows as they were."""
    columns = np.array(rows.T, np.float32, order="C")
    for signs, window in reversed(_rotation(len(columns))):
        _mix(columns[window])
        columns *= signs
    return columns.T


@cache
def _rotation(dimension: int) -> list[tuple[NDArray[np.float32], slice]]:
    """
    Return the steps of a rotation: signs to multiply with, and which stretch of numbers to mix then.

    Part of the file format, so the signs are hashed: a library's random numbers may change.
    """
    width = 1 << (dimension.bit_length() - 1)
    windows = [slice(0, width), slice(dimension - width, dimension)]
    steps = []
    for step in range(_ROTATION_STEPS):
        digest = hashlib.shake_128(f"engram rotation {dimension} {step}".encode()).digest(-(-dimension // 8))
        bits = np.unpackbits(np.frombuffer(digest, np.uint8), count=dimension)
        steps.append((bits.astype(np.float32)[:, None] * 2 - 1, windows[step % 2]))
    return steps


def _mix(columns: NDArray[np.float32]) -> None:
    """Replace the columns by their Walsh-Hadamard transform, which is its own inverse."""
    width, count = columns.shape
    step = 1
    while step < width:
        pairs = columns.reshape(-1, 2, step, count)
        sums = pairs[:, 0] + pairs[:, 1]
        np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
        pairs[:, 0] = sums
        step *= 2
    columns *= np.float32(width**-0.5)
