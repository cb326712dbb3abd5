"""
Fit what the signs of a voice weigh: whose words a stretch of a message is (text/voice_chain.py).

    python -m training.voices [--messages 9000] [--out src/engramdb/text/data/voice_weights.toml]

A chain with three states (own, foreign, own again), fitted by gradient on messages of which it is known
whose words they are: some written by hand (training/voices, the open half of evals/pasted), most composed of
requests and texts: pieces written by hand, answers of assistants and output of tools from the dialogues, and
what the packages installed here say of themselves. Taking foreign words for own costs more than the reverse.
The weights begin at training/voices/prior.toml and keep the directions given there. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import torch
from msgspec import Struct

from engramdb.text.quotations import quotations
from engramdb.text.segments import chain, message_blocks
from engramdb.text.voice_chain import ONCE_MORE, StretchSigns, VoiceStretch, chain_signs

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "engramdb" / "text" / "data" / "voice_weights.toml"
TABLES = ("foreign", "enters", "leaves")
OWN_SHARE, COLON_SHARE, IN_LINE_SHARE = 0.36, 0.06, 0.08
HAND_SHARE = 0.5
"""Of the foreign texts; the others come from documents and dialogues."""
REAL_COPIES = 6
"""How often each message that was written whole counts beside a composed one."""
COST_OF_LOSING, COST_OF_LEAKING = 2.0, 4.0
PULL_TO_PRIOR = 0.01
EPOCHS, BATCH, RATE = 30, 256, 0.05
IMPOSSIBLE = -1e4
MAX_STRETCHES = 80

Span: TypeAlias = tuple[int, int, bool]
"""Where, and whether foreign."""


class LabelledMessage(Struct, frozen=True):
    """A message and whose words stand where in it."""

    text: str
    spans: list[Span]


class VoiceExample(Struct, frozen=True):
    """A message as a chain: its stretches, their signs, and what is known of each."""

    stretches: list[VoiceStretch]
    signs: list[StretchSigns | None]
    labels: list[int]
    """1 foreign, 0 own, -1 unknown."""


# The texts that messages are composed of.


class Pool(Struct, frozen=True):
    """Own and foreign texts."""

    pieces: list[str]
    others: list[str]
    talks: list[list[str]]
    """What one person said, turn by turn."""
    utterances: list[str]
    lines: Mapping[str, list[str]]


def read_pool(data: Path) -> Pool:
    """Return the texts of the training data, of the hand-written pieces and of the installed packages."""
    talks, others = _dialogues(data)
    utterances = [
        row["text"]
        for file in sorted(data.glob("*/utterances.jsonl"))
        for row in _rows(file)
        if row.get("by") == "user" and not re.search(r"\n|[{};=<]|: ?[\"'“]|Error|^[\"'“]", row["text"])
    ]
    pieces = [row["text"] for row in _rows(HERE / "voices" / "pieces.jsonl")]
    lines = json.loads((HERE / "voices" / "lines.json").read_text("utf-8"))
    return Pool(pieces, [*others, *_documents()], talks, utterances, lines)


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line]


def _dialogues(data: Path) -> tuple[list[list[str]], list[str]]:
    talks, others = [], []
    for file in sorted(data.glob("**/*.jsonl")):
        for row in _rows(file) if "dialogues" in str(file) else ():
            pasted = {one["turn"] for one in row.get("pasted", ())}
            said = [
                turn["text"]
                for place, turn in enumerate(row["turns"])
                if turn["by"] not in ("assistant", "tool")
                and place not in pasted
                and "\n" not in turn["text"]
            ]
            talks += [said] if said else []
            others += [turn["text"] for turn in row["turns"] if turn["by"] in ("assistant", "tool")]
    return talks, [text for text in others if len(text) > 80]


def _documents() -> Iterator[str]:
    """Yield stretches of what packages and this repository say of themselves, and of code."""
    texts = [(one.read_text("METADATA") or "").partition("\n\n")[2] for one in metadata.distributions()]
    texts += [file.read_text("utf-8") for file in sorted((HERE.parent / "docs").glob("**/*.md"))]
    texts += [file.read_text("utf-8") for file in sorted((HERE.parent / "src").glob("**/*.py"))[::3]]
    for text in texts:
        paragraphs = [one for one in re.split(r"\n\s*\n", text) if one.strip()]
        for _ in range(4 if len(paragraphs) > 3 else 0):
            start = random.randrange(len(paragraphs))
            chunk = "\n\n".join(paragraphs[start : start + random.randint(1, 4)]).strip("\n")
            if 80 <= len(chunk) <= 1500:
                yield chunk


# Composed messages.


def compose(pool: Pool) -> LabelledMessage:
    """Return a message made of own words alone, or of foreign ones with a request."""
    kind = random.random()
    if kind < OWN_SHARE:
        return _joined([(part, False, gap) for part, gap in _own(pool)])
    if kind < OWN_SHARE + COLON_SHARE:
        return _joined([(random.choice([one for one in pool.utterances if ": " in one]), False, "")])
    if kind < OWN_SHARE + COLON_SHARE + IN_LINE_SHARE:
        foreign = random.choice([one for one in pool.pieces if "\n" not in one])
        parts = [(random.choice(pool.lines["before_in_line"]), False, " "), (foreign, True, " ")]
        after = (random.choice(pool.lines["after_in_line"]), False, "")
        return _joined([*parts, after] if random.random() < 0.5 else parts)
    return _joined(_with_foreign(pool))


def _joined(parts: Sequence[tuple[str, bool, str]]) -> LabelledMessage:
    text, spans = "", []
    for part, is_foreign, gap in parts:
        spans.append((len(text), len(text) + len(part), is_foreign))
        text += part + gap
    return LabelledMessage(text, spans)


def _own(pool: Pool) -> list[tuple[str, str]]:
    if random.random() < 0.3:
        is_small = random.random() < 0.5
        alike = [one for one in pool.utterances if one[:1].islower() == is_small and "?" not in one]
        bullet = random.choice(["- ", "* ", "• ", ""])
        items = "\n".join(bullet + one for one in random.sample(alike, random.randint(2, 6)))
        return [(f"{random.choice(pool.lines['over_own_lists'])}\n{items}", "")]
    talk = random.choice(pool.talks)
    start = random.randrange(len(talk))
    turns = talk[start : start + random.randint(1, 4)]
    if len({turn[:1].islower() for turn in turns}) > 1:
        turns = turns[:1]  # nobody changes between small and capital letters inside a message
    gap = random.choice(["\n\n", "\n\n", "\n"])
    return [(turn, gap) for turn in turns]


def _with_foreign(pool: Pool) -> list[tuple[str, bool, str]]:
    foreign = random.choice(pool.pieces if random.random() < HAND_SHARE else pool.others)
    if random.random() < 0.18:
        opening, closing = random.choice(
            [("```\n", "\n```"), ("---\n", "\n---"), ("<text>\n", "\n</text>"), ('"""\n', '\n"""')]
        )
        foreign = f"{opening}{foreign}{closing}"
    above = (random.choice(pool.lines["above"]), False, random.choice(["\n\n", "\n\n", "\n"]))
    below = (random.choice(pool.lines["below"]), False, "")
    gap = random.choice(["\n\n"] * 4 + ["\n"])
    which = random.random()
    if which < 0.42:
        return [above, (foreign, True, "")]
    if which < 0.74:
        return [(foreign, True, gap), below]
    return [above, (foreign, True, "\n\n"), below]


def written(evals: Path) -> list[LabelledMessage]:
    """Return the messages that were written whole."""
    found = []
    for row in _rows(HERE / "voices" / "messages.jsonl"):
        inside = {place for start, end in row["foreign"] for place in range(start, end)}
        cuts = sorted({0, len(row["text"]), *(place for span in row["foreign"] for place in span)})
        spans = [(start, end, start in inside) for start, end in pairwise(cuts)]
        found.append(LabelledMessage(row["text"], spans))
    for row in _rows(evals / "pasted" / "open.jsonl"):
        spans = [
            (at.start(), at.end(), side == "foreign")
            for side in ("foreign", "own")
            for words in row[side]
            for at in re.finditer(re.escape(words), row["text"])
        ]
        found.append(LabelledMessage(row["text"], spans))
    return found


# Fit.


def example(message: LabelledMessage) -> VoiceExample:
    """Return a message as a chain; a stretch in which both voices speak is unknown."""
    blocks = message_blocks(message.text)
    stretches = chain(message.text, blocks)
    labels = []
    for block in blocks:
        known = [
            (max(0, min(block.end, end) - max(block.start, start)), is_foreign)
            for start, end, is_foreign in message.spans
        ]
        foreign = sum(length for length, is_foreign in known if is_foreign)
        own = sum(length for length, is_foreign in known if not is_foreign)
        is_mixed = own * 10 >= max(1, block.end - block.start)
        is_quoting = any(True for _ in quotations(message.text[block.start : block.end]))
        if foreign and not is_mixed and not is_quoting:
            labels.append(1)
        else:
            labels.append(0 if own and not foreign else -1)
    return VoiceExample(stretches, chain_signs(stretches), labels)


class Chain:
    """The weights, and how likely they make what is known."""

    def __init__(self, examples: Sequence[VoiceExample], prior: Mapping[str, Any]) -> None:
        """Begin at the prior, with every sign that occurs."""
        self.names = {
            table: sorted(
                {name for one in examples for shown in one.signs if shown for name in getattr(shown, table)}
                | set(prior["prior"][table])
                | ({ONCE_MORE} if table == "enters" else set())
            )
            for table in TABLES
        }
        self.places = {
            table: {name: n for n, name in enumerate(names)} for table, names in self.names.items()
        }
        self.start = {
            table: torch.tensor([float(prior["prior"][table].get(name, 0.0)) for name in names])
            for table, names in self.names.items()
        }
        self.weights = {table: start.clone().requires_grad_() for table, start in self.start.items()}
        self.bounds = {table: self._bounds(table, prior) for table in TABLES}

    def _bounds(self, table: str, prior: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        least, most = [], []
        for name in self.names[table]:
            begins = prior["prior"][table].get(name, 0.0) if name not in prior["free"] else 0.0
            least.append(prior["least"][table].get(name, 0.0 if begins > 0 else -8.0))
            most.append(0.0 if begins < 0 else 8.0)
        return torch.tensor(least), torch.tensor(most)

    def pack(self, examples: Sequence[VoiceExample]) -> dict[str, torch.Tensor]:
        """Return examples as tensors: message, stretch, sign."""
        size = (len(examples), max(len(one.stretches) for one in examples))
        packed = {table: torch.zeros(*size, len(self.names[table])) for table in TABLES}
        packed |= {name: torch.full(size, -1) for name in ("label", "forced")}
        packed["passed"] = torch.ones(size, dtype=torch.bool)
        for row, one in enumerate(examples):
            for column, (stretch, shown) in enumerate(zip(one.stretches, one.signs, strict=True)):
                settled = stretch.is_foreign is not None
                packed["passed"][row, column] = settled and stretch.is_passed
                if settled and not stretch.is_passed:
                    packed["forced"][row, column] = int(bool(stretch.is_foreign))
                elif not settled:
                    packed["label"][row, column] = one.labels[column]
                for table in TABLES if shown else ():
                    for name, strength in getattr(shown, table).items():
                        packed[table][row, column, self.places[table][name]] = strength
        return packed

    def log_sum(self, batch: Mapping[str, torch.Tensor], *, knows: bool) -> torch.Tensor:
        """Return the summed likelihood of all paths, or of those only that agree with what is known."""
        foreign, enters, leaves = (batch[table] @ self.weights[table] for table in TABLES)
        again = self.weights["enters"][self.places["enters"][ONCE_MORE]]
        count = foreign.shape[0]
        states = [torch.zeros(count), *(torch.full((count,), IMPOSSIBLE) for _ in range(2))]
        for at in range(foreign.shape[1]):
            own, other, later = states
            entered = torch.stack([own + enters[:, at], other, later + enters[:, at] + again])
            step = [
                own,
                torch.logsumexp(entered, 0) + foreign[:, at],
                torch.logaddexp(later, other + leaves[:, at]),
            ]
            step = self._judged(step, batch["label"][:, at], batch["forced"][:, at], knows=knows)
            states = [
                torch.where(batch["passed"][:, at], old, new) for old, new in zip(states, step, strict=True)
            ]
        return torch.logsumexp(torch.stack(states), 0)

    @staticmethod
    def _judged(
        step: list[torch.Tensor], label: torch.Tensor, forced: torch.Tensor, *, knows: bool
    ) -> list[torch.Tensor]:
        wrong = [label == 1, label == 0, label == 1]
        cost = [COST_OF_LEAKING, COST_OF_LOSING, COST_OF_LEAKING]
        if knows:
            step = [torch.where(bad, IMPOSSIBLE, one) for one, bad in zip(step, wrong, strict=True)]
        else:
            step = [one + price * bad for one, bad, price in zip(step, wrong, cost, strict=True)]
        allowed = [forced == -2, forced == 1, forced == 0]
        return [
            torch.where(forced >= 0, torch.where(here, 0.0, IMPOSSIBLE), one)
            for one, here in zip(step, allowed, strict=True)
        ]

    def fit(self, examples: Sequence[VoiceExample]) -> None:
        """Fit the weights; short messages are batched with short ones."""
        ordered = sorted(examples, key=lambda one: len(one.stretches))
        batches = [self.pack(ordered[at : at + BATCH]) for at in range(0, len(ordered), BATCH)]
        optimizer = torch.optim.Adam(self.weights.values(), lr=RATE)
        for epoch in range(EPOCHS):
            random.shuffle(batches)
            total = 0.0
            for batch in batches:
                loss = (self.log_sum(batch, knows=False) - self.log_sum(batch, knows=True)).mean()
                pulls = [((self.weights[table] - self.start[table]) ** 2).sum() for table in TABLES]
                loss = loss + PULL_TO_PRIOR * torch.stack(pulls).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += float(loss.detach())
                with torch.no_grad():
                    for table, (least, most) in self.bounds.items():
                        self.weights[table].clamp_(least, most)
            print(f"epoch {epoch + 1}: {total / len(batches):.3f}")

    def text(self) -> str:
        """Return the weights as they are stored, the weightiest last; what rounds to nothing is left out."""
        found = [
            "# What the signs of a voice weigh, fitted by training/voices.py. Positive weights speak for\n"
            "# foreign words, for their beginning and for their end.\n"
        ]
        for table in TABLES:
            weights = zip(self.names[table], self.weights[table].tolist(), strict=True)
            rounded = sorted((round(weight, 1), name) for name, weight in weights)
            rows = (f'"{name}" = {weight}' for weight, name in rounded if weight or name == ONCE_MORE)
            found.append(f"[{table}]\n" + "\n".join(rows) + "\n")
        return "\n".join(found)


def main() -> None:
    """Compose, fit and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m training.voices", description=__doc__.split("\n")[1])
    parser.add_argument("--messages", type=int, default=9000)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    random.seed(7)
    torch.manual_seed(0)
    pool = read_pool(HERE / "data")
    composed = [compose(pool) for _ in range(arguments.messages)]
    messages = [*composed, *written(HERE.parent / "evals") * REAL_COPIES]
    examples = [one for one in map(example, messages) if 0 < len(one.stretches) <= MAX_STRETCHES]
    prior = tomllib.loads((HERE / "voices" / "prior.toml").read_text("utf-8"))
    fitted = Chain(examples, prior)
    fitted.fit(examples)
    arguments.out.write_text(fitted.text(), "utf-8")


if __name__ == "__main__":
    main()
