"""
Record what the reference tokenizer makes of the texts that our own is tested with.

Run by a maintainer after adding a text: `python scripts/record_token_ids.py`; rewrites
`tests/models/token_ids.json`. Needs the `tokenizers` library, which neither Engram nor its tests need.
"""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers  # type: ignore[import-not-found,unused-ignore]

ROOT = Path(__file__).parents[1]
VOCABULARY = ROOT / "src" / "engramdb" / "models" / "static_table" / "vocab.txt"
RECORD = ROOT / "tests" / "providers" / "token_ids.json"
UNKNOWN = "[UNK]"


def main() -> None:
    """Fill in the ids of every text of the record anew."""
    words = VOCABULARY.read_text(encoding="utf-8").rstrip("\n").split("\n")
    vocabulary = {word: number for number, word in enumerate(words)}
    reference = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    reference.normalizer = normalizers.BertNormalizer()
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rows = [
        {"text": row["text"], "ids": reference.encode(row["text"]).ids}
        for row in json.loads(RECORD.read_bytes())
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
