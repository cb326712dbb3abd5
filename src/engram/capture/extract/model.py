"""
Read statements out of turns by asking a chat model.

Used by `capture.pipeline` when a model is configured; asks through `providers.chat` with the words of
`prompts.extract` and keeps what `believe` lets pass. When the model fails, the fallback reads the same turns
and the failure is reported: nothing is lost, nothing is hidden, and what nobody said is dropped and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engram.capture.extract.believe import believe
from engram.capture.extract.grounding import Said
from engram.errors import ChatError, ChatUnavailable
from engram.providers.chat import Usage, ask
from engram.providers.prompts import extract as prompt
from engram.providers.prompts.extract import Record
from engram.text.normal import normalise
from engram.text.passage import long_date
from engram.values import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engram.capture.extract.extracted import Extracted, Extractor
    from engram.providers.chat import CallLog, ChatModel
    from engram.values import Turn

TOKEN_BUDGET: Final = 2500
"""For the turns of one call: with the prompt and the reply it fits the 8,192 tokens of small local models."""
BYTES_PER_TOKEN: Final = 3
"""Low on purpose: English has four to five, Chinese three, code fewer."""
MOST_PARTS: Final = 4
"""A turn that would take more calls than this is a pasted document; it is read by the fallback."""
CONTEXT_TURNS: Final = 6
CONTEXT_CHARACTERS: Final = 400
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class ModelExtractor:
    """An extractor that asks a model, and leaves to another extractor what the model fails on."""

    def __init__(
        self,
        chat: ChatModel,
        fallback: Extractor,
        on_failure: Callable[[ChatError], None],
        *,
        log: CallLog,
        token_budget: int = TOKEN_BUDGET,
        max_memory_bytes: int = 8 * 1024,
    ) -> None:
        self._chat = chat
        self._fallback = fallback
        self._on_failure = on_failure
        self._log = log
        self._room = token_budget * BYTES_PER_TOKEN
        self._max_memory_bytes = max_memory_bytes

    @property
    def name(self) -> str:
        """The version of the prompt and the name of the model."""
        return f"model-extract-{prompt.VERSION} ({self._chat.name})"

    def extract(self, turns: Sequence[Turn], *, context: Sequence[Turn]) -> list[Extracted]:
        """
        Return what the turns state, in order; turns that the model fails on are read by the fallback.

        A model that cannot be reached is not asked for the rest either: each try may cost a whole time-out.
        """
        found: list[Extracted] = []
        heard = list(context)
        is_reachable = True
        for group in _groups(turns, self._room):
            if is_reachable and _size(group) <= MOST_PARTS * self._room:
                try:
                    found += self._ask(group, heard)
                except ChatError as exc:
                    is_reachable = not isinstance(exc, ChatUnavailable)
                    self._on_failure(exc)
                    found += self._fallback.extract(group, context=heard)
            else:
                found += self._fallback.extract(group, context=heard)
            heard += group
        return found

    def _ask(self, group: Sequence[Turn], heard: Sequence[Turn]) -> list[Extracted]:
        """Return what the model reads in the group, each statement once, in the order of the turns."""
        earlier = [_record(turn, turn.content[:CONTEXT_CHARACTERS]) for turn in heard[-CONTEXT_TURNS:]]
        said = _said(group, earlier)
        found: dict[str, tuple[int, Extracted]] = {}
        for texts in _batches(group, self._room):
            records = [_record(turn, text) for turn, text in zip(group, texts, strict=True)]
            reply = ask(self._chat, prompt.question(records, earlier=earlier), log=self._log).value
            dropped = reply.unusable
            for one in reply.usable:
                extracted = believe(one, group[one.turn], said, max_bytes=self._max_memory_bytes)
                if extracted is None:
                    dropped += 1
                else:
                    found.setdefault(normalise(extracted.content), (one.turn, extracted))
            self._log.note(prompt.PURPOSE, Usage(dropped=dropped))
        return [extracted for _, extracted in sorted(found.values(), key=lambda pair: pair[0])]


def _groups(turns: Sequence[Turn], room: int) -> Iterator[list[Turn]]:
    """Yield neighbouring turns that fit into one call together; a turn that is too long stands alone."""
    group: list[Turn] = []
    for turn in turns:
        if group and _size([*group, turn]) > room:
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _batches(group: Sequence[Turn], room: int) -> Iterator[list[str]]:
    """Yield the texts of each call: one call for a group that fits, one per piece of a turn that does not."""
    if len(group) > 1 or _size(group) <= room:
        yield [turn.content for turn in group]
        return
    rest = group[0].content
    while rest:
        piece = _first_piece(rest, room)
        yield [piece]
        rest = rest[len(piece) :]


def _first_piece(text: str, room: int) -> str:
    """Return the beginning of a text that fits, up to a line's, a sentence's or at least a word's end."""
    piece = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    if len(piece) == len(text):
        return piece
    for end in ("\n", ". ", "。", " "):
        place = piece.rfind(end)
        if place > len(piece) // 2:
            return piece[: place + len(end)]
    return piece


def _size(turns: Sequence[Turn]) -> int:
    return sum(len(turn.content.encode("utf-8", "replace")) for turn in turns)


def _record(turn: Turn, text: str) -> Record:
    return Record(
        speaker=_speaker(turn),
        role=turn.role.value,
        date=f"{WEEKDAYS[turn.occurred_at.weekday()]}, {long_date(turn.occurred_at)}",
        text=text,
    )


def _speaker(turn: Turn) -> str:
    """Return who spoke: the name, or what a statement calls someone without one."""
    return turn.speaker or ("User" if turn.role is Role.USER else turn.role.value.capitalize())


def _said(group: Sequence[Turn], earlier: Sequence[Record]) -> Said:
    """Return what may be stated; the speakers' names count as heard before, since every statement has one."""
    names = [_speaker(turn) for turn in group]
    heard = [text for record in earlier for text in (record.speaker, record.text)]
    days = [turn.occurred_at for turn in group]
    return Said.of([turn.content for turn in group], earlier=[*names, *heard], days=days)
