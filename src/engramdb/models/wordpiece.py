"""WordPiece tokenization of the BERT vocabulary."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import Final

from engramdb.erasable_cache import ErasableTable

VOCABULARY_PATH: Final = Path(__file__).parent / "static_table" / "vocab.txt"

MAX_WORD_CHARACTERS: Final = 100  # characters; longer words are unknown, as in the reference
MAX_CACHED_WORDS: Final = 50_000  # about 10 MB; then the cache starts again
MAX_CACHED_CHARACTERS: Final = 20_000  # more than any living text needs, far less than Unicode holds

# The blocks that the reference sets apart character by character. Kana and Hangul are not among them.
CJK_BLOCKS: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
ASCII_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class WordPieces:
    """
    A vocabulary, and the greedy longest match over it.

    Safe to share between threads: the caches only ever gain entries that every thread would compute alike.
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        *,
        most_words: int = MAX_CACHED_WORDS,
        most_characters: int = MAX_CACHED_CHARACTERS,
    ) -> None:
        self._ids = vocabulary
        self._longest_piece = max(map(len, vocabulary))
        self._known: ErasableTable[tuple[int, ...]] = ErasableTable()
        self._most_words = most_words
        self._characters = _Characters(most_characters)
        self.unknown = vocabulary["[UNK]"]
        self.start = vocabulary["[CLS]"]
        self.end = vocabulary["[SEP]"]

    def words(self, text: str) -> list[str]:
        """
        Return the lower-case words and single punctuation marks of a text.

        Accents, control characters and lone surrogates are gone; every CJK ideograph is a word.
        """
        plain = text if text.isascii() else unicodedata.normalize("NFD", text)
        return plain.translate(self._characters).split()

    def pieces(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word as `words` gives it; one unknown id when it cannot be spelled."""
        ids = self._known.get(word)
        if ids is None:
            ids = self._match(word)
            if len(self._known) >= self._most_words:
                self._known.clear()
            self._known[word] = ids
        return ids

    def encode(self, text: str, *, most_tokens: int) -> list[int]:
        """Return the ids of a text between the start and end marks, cut to `most_tokens` in all."""
        room = most_tokens - 2
        ids = [self.start]
        for word in self.words(text):
            ids.extend(self.pieces(word))
            if len(ids) > room:
                del ids[room + 1 :]
                break
        ids.append(self.end)
        return ids

    def _match(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_CHARACTERS:
            return (self.unknown,)
        ids: list[int] = []
        begin = 0
        while begin < len(word):
            found = self._longest_from(word, begin)
            if found is None:
                return (self.unknown,)
            begin, piece = found
            ids.append(piece)
        return tuple(ids)

    def _longest_from(self, word: str, begin: int) -> tuple[int, int] | None:
        prefix = "##" if begin else ""
        for end in range(min(len(word), begin + self._longest_piece), begin, -1):
            piece = self._ids.get(prefix + word[begin:end])
            if piece is not None:
                return end, piece
        return None


class _Characters(dict[int, str]):
    """
    What each character becomes, worked out when it is first seen: `str.translate` does the rest in C.

    Expects canonically decomposed text, so that an accent is a character of its own.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, code: int) -> str:
        becomes = _rewrite(chr(code))
        if len(self) < self._most:
            self[code] = becomes
        return becomes


def _rewrite(character: str) -> str:
    """
    Return nothing, a space, the character set apart by spaces, or its lower case.

    A code point that this Python's Unicode does not know yet is kept: a newer one may call it a letter.
    """
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in {"Zs", "Zl", "Zp"}:
        return " "
    if category in {"Cc", "Cf", "Co", "Cs", "Mn"} or character == "\ufffd":
        return ""
    if category[0] == "P" or character in ASCII_PUNCTUATION or _is_ideograph(ord(character)):
        return f" {character} "
    return character.lower()


def _is_ideograph(code: int) -> bool:
    return any(first <= code <= last for first, last in CJK_BLOCKS)


@cache
def bert_uncased() -> WordPieces:
    """Return the shared tokenizer over the vocabulary that ships with the package, read on first use."""
    lines = VOCABULARY_PATH.read_text(encoding="utf-8").split("\n")
    return WordPieces({piece: number for number, piece in enumerate(lines) if piece})
