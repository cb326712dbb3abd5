"""
What attention is worth: momentum, topic shifts and anticipation on LoCoMo's conversations.

    python -m evals.attention --data FILE [--embedder e5-small] [--home FOLDER] [--only conv-26 …]

*Follow-ups*: a question after another one that was asked and answered, on the same stretch of talk
(answered by turns nearby, never by the same turn) or on quite another; put as it is, without its names,
and with all but one telling word taken away. *Talk*: what somebody says next after a turn that answers a
question together with turns of earlier sessions; do those come up? *Anticipation*: is what was prepared
after one message what the next one finds? *Shifts*: is a new session noticed as another topic, and a
topic left alone within one? The numbers of the policy were looked at on three conversations; the others
are reported apart.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from engramdb import Engram, Filters, Settings
from engramdb.context.attention import (
    AnticipatedAnswer,
    blend_with_momentum,
    is_usable_for,
    is_vague,
    momentum_center,
    update_momentum,
)
from engramdb.context.working_memory import (
    AttendedMessage,
    AttentionState,
    TurnExperience,
    attend_to,
    settle_turn,
)
from engramdb.engine.parts import Own, assemble
from engramdb.models.registry import open_embedder
from engramdb.policy.context import AttentionPolicy
from engramdb.recall.pipeline import recall
from engramdb.testing import ManualClock
from engramdb.text.terms import query_terms
from engramdb.text.traits import tells
from engramdb.values import Query, TopicShift
from evals.locomo import TUNED_ON, RememberingEmbedder, read
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from engramdb.context.attention import Momentum
    from engramdb.engine.parts import Parts
    from engramdb.models.embedder import Embedder
    from engramdb.values import Recall
    from evals.locomo import Conversation, Question

    Vector = NDArray[np.float32]

CUTS = (5, 10)
SOON = 3
"""A new session may be noticed by any of so many telling turns."""
NEARBY = 3
"""Questions whose answers lie so many turns apart are of one stretch of talk."""
MODES = {
    "without": AttentionPolicy(uses_momentum=False),
    "always, by confidence": AttentionPolicy(uses_momentum=True, leans_only_when_vague=False, vague_terms=0),
    "only when vague": AttentionPolicy(uses_momentum=True, leans_only_when_vague=True),
}
SHIFT_LINES = ((0.7, 0.4), (0.6, 0.4), (0.5, 0.4), (0.5, 0.35), (0.5, 0.3))
FORMS = ("as asked", "without names", "one telling word")


@dataclass(frozen=True, slots=True)
class Score:
    """How well one question found its evidence."""

    place: str
    mode: str
    is_held_out: bool
    is_vague: bool
    recalls: dict[int, float]
    reciprocal_rank: float


class Asker:
    """A stored conversation that can be asked with any vector."""

    def __init__(self, conversation: Conversation, parts: Parts, turn_of: dict[str, set[str]]) -> None:
        self.conversation = conversation
        self._parts = parts
        self._turn_of = turn_of
        self._vectors: dict[str, Vector] = {}
        self._answers: dict[tuple[str, bytes, object], Recall] = {}
        self.is_held_out = conversation.name not in TUNED_ON
        self.measure = parts.embedder.calibration

    def vector(self, text: str) -> Vector:
        """Return a message's vector."""
        if text not in self._vectors:
            (self._vectors[text],) = self._parts.embedder.embed_queries([text])
        return self._vectors[text]

    def ask(self, text: str, vector: Vector, *, until: datetime | None = None, limit: int = 20) -> Recall:
        """Return the answer to a text by this vector, from what was said before a moment."""
        key = (text, vector.tobytes(), until)
        if key not in self._answers:
            query = Query(text=text, filters=Filters(until=until), limit=limit)
            now = self._parts.clock.now()
            self._answers[key] = recall(query, self._parts.sources, now=now, vector=vector)
        return self._answers[key]

    def turns(self, answer: Recall) -> list[set[str]]:
        """Return the turns that the hits stand for, best first."""
        return [self._turn_of[hit.memory.id] for hit in answer.hits]

    def sessions(self) -> dict[str, list[str]]:
        """Return the ids of the turns of each session, in order."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for turn_id, draft in self.conversation.drafts.items():
            found[str(draft.provenance.session)].append(turn_id)
        return found

    def starts(self) -> dict[str, datetime]:
        """Return when each session began."""
        drafts = self.conversation.drafts
        firsts = {name: drafts[turns[0]].occurred_at for name, turns in self.sessions().items()}
        return {name: moment for name, moment in firsts.items() if moment is not None}

    def said(self, turn_id: str) -> str:
        """Return what was said."""
        return self.conversation.drafts[turn_id].content


def score(asker: Asker, place: str, mode: str, *, text: str, answer: Recall, wanted: frozenset[str]) -> Score:
    """Return how much of what was wanted was found."""
    ranked = asker.turns(answer)
    recalls = {cut: len(wanted & set().union(*ranked[:cut])) / len(wanted) for cut in CUTS}
    rank = next((place for place, turns in enumerate(ranked, start=1) if turns & wanted), None)
    vague = is_vague(text, MODES["only when vague"])
    return Score(place, mode, asker.is_held_out, vague, recalls, 1 / rank if rank else 0.0)


def follow_ups(asker: Asker) -> Iterator[Score]:
    """Ask each question after another one and its answer, of the same stretch of talk and of another."""
    for question in asker.conversation.questions:
        for place, before in (("same talk", nearby(asker, question)), ("elsewhere", far(asker, question))):
            if before is None:
                continue
            for form in FORMS:
                put = reworded(question.text, form)
                for mode, policy in MODES.items():
                    momentum = attended(asker, [before[0].text, asker.said(before[1])], put, policy)
                    answer = asker.ask(put, blend_with_momentum(asker.vector(put), momentum, put, policy))
                    wanted = question.evidence
                    yield score(asker, f"{place}, {form}", mode, text=put, answer=answer, wanted=wanted)


def nearby(asker: Asker, question: Question) -> tuple[Question, str] | None:
    """Return a question that a turn nearby answers, and that turn; none that answers both."""
    order = {turn_id: number for number, turn_id in enumerate(asker.conversation.drafts)}
    found = [
        (abs(order[mine] - order[turn_id]), other.text, other, turn_id)
        for other in asker.conversation.questions
        if not other.evidence & question.evidence
        for turn_id in other.evidence
        for mine in question.evidence
        if mine.partition(":")[0] == turn_id.partition(":")[0]
    ]
    best = min(found, default=None, key=lambda one: one[:2])
    return None if best is None or best[0] > NEARBY else (best[2], best[3])


def far(asker: Asker, question: Question) -> tuple[Question, str] | None:
    """Return a question that another session answers, chosen by its words, and a turn that answers it."""
    sessions = {turn_id.partition(":")[0] for turn_id in question.evidence}
    others = [
        other
        for other in asker.conversation.questions
        if not sessions & {turn_id.partition(":")[0] for turn_id in other.evidence}
    ]
    if not others:
        return None
    chosen = min(others, key=lambda other: hashlib.sha256((question.text + other.text).encode()).digest())
    return chosen, min(chosen.evidence)


def attended(asker: Asker, said: Sequence[str], text: str, policy: AttentionPolicy) -> Momentum:
    """Return where the talk is going when a message comes in after a question and its answer."""
    now, (asked, reply) = ManualClock().now(), said
    first = AttendedMessage(text=asked, vector=asker.vector(asked))
    experience = TurnExperience(message=first, reply=asker.vector(reply))
    mind = settle_turn(AttentionState(), experience, asker.measure, policy, now=now)
    meets = AttendedMessage(text=text, vector=asker.vector(text))
    return attend_to(mind, meets, asker.measure, policy, now=now)[0].momentum


def reworded(text: str, form: str) -> str:
    """Return a question as somebody asks it who thinks that the rest is clear."""
    if form == "as asked":
        return text
    named = re.sub(r"(?<!^)\b[A-Z][a-z]+(?:'s)?\b(?: [A-Z][a-z]+\b)*", "they", text)
    if form == "without names":
        return named
    kept, words = 0, []
    for word in named.split():
        is_telling = any(tells(term) for term in query_terms(word.strip("?,.'\"")))
        kept += is_telling
        words.append("it" if is_telling and kept > 1 else word)
    return re.sub(r"\bit(?: it)+\b", "it", " ".join(words))


def talk(asker: Asker) -> Iterator[Score]:
    """Take what follows a turn that is evidence, and look for the evidence of earlier sessions."""
    starts = asker.starts()
    belongs: defaultdict[str, set[str]] = defaultdict(set)
    for question in asker.conversation.questions:
        for turn_id in question.evidence:
            belongs[turn_id] |= question.evidence - {turn_id}
    for name, turns in asker.sessions().items():
        earlier = {
            one for other, ids in asker.sessions().items() if starts[other] < starts[name] for one in ids
        }
        momentum = AttentionState().momentum
        for before, now in pairwise(turns):
            momentum = update_momentum(momentum, asker.vector(asker.said(before)), asker.measure)
            for place, wanted in (
                ("talk, the turn itself", belongs[now]),
                ("talk, the next", belongs[before]),
            ):
                gold = frozenset(wanted & earlier)
                for mode, policy in MODES.items() if gold else ():
                    text = asker.said(now)
                    vector = blend_with_momentum(asker.vector(text), momentum, text, policy)
                    answer = asker.ask(text, vector, until=starts[name])
                    yield score(asker, place, mode, text=text, answer=answer, wanted=gold)


def anticipations(asker: Asker) -> Iterator[dict[str, Any]]:
    """Prepare an answer after each message of the first speaker, and compare it with the next one's."""
    now = ManualClock().now()
    drafts = asker.conversation.drafts
    for turns in asker.sessions().values():
        start = drafts[turns[0]].occurred_at
        momentum, user = AttentionState().momentum, drafts[turns[0]].provenance.speaker
        mine = [one for one in turns if drafts[one].provenance.speaker == user]
        for before, after in pairwise(mine):
            replies = turns[turns.index(before) + 1 : turns.index(after)]
            for one in (before, *replies):
                momentum = update_momentum(momentum, asker.vector(asker.said(one)), asker.measure)
            text = asker.said(after)
            prepared = asker.ask(asker.said(before), momentum_center(momentum), until=start)
            actual = asker.ask(text, asker.vector(text), until=start)
            kept = AnticipatedAnswer(expected=momentum, answer=prepared, made_at=now)
            best = [hit.memory.id for hit in actual.hits[:5]]
            found = {hit.memory.id for hit in prepared.hits[:10]}
            if best:
                yield {
                    "is_hit": is_usable_for(kept, asker.vector(text), asker.measure, now=now),
                    "share": sum(one in found for one in best) / len(best),
                    "first": best[0] in found,
                    "same": best == [hit.memory.id for hit in prepared.hits[:5]],
                }


def shifts(asker: Asker, policy: AttentionPolicy) -> Counter[str]:
    """Replay the whole conversation and count what was noticed at its boundaries and within sessions."""
    mind, counts, now = AttentionState(), Counter[str](), ManualClock().now()
    turned = (TopicShift.SWITCH, TopicShift.RETURN)
    for number, turns in enumerate(asker.sessions().values()):
        telling = [one for one in turns if not is_vague(asker.said(one), policy)]
        noticed = False
        for place, turn_id in enumerate(telling):
            message = AttendedMessage(text=asker.said(turn_id), vector=asker.vector(asker.said(turn_id)))
            mind, shift = attend_to(mind, message, asker.measure, policy, now=now)
            mind = settle_turn(mind, TurnExperience(message=message), asker.measure, policy, now=now)
            if number and place < SOON:
                noticed = noticed or shift in turned
            else:
                counts["inside"] += 1
                counts[f"inside: {shift}"] += 1
        counts["boundaries"] += number > 0
        counts["noticed"] += number > 0 and noticed
    return counts


def measure(path: Path, embedder: Embedder, *, only: Sequence[str]) -> dict[str, Any]:
    """Return the tables for one embedder."""
    scores: list[Score] = []
    prepared: defaultdict[bool, list[dict[str, Any]]] = defaultdict(list)
    noticed: defaultdict[tuple[tuple[float, float], bool], Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        for conversation in read(path):
            if only and conversation.name not in only:
                continue
            asker = stored(conversation, RememberingEmbedder(embedder), Path(folder))
            scores += [*follow_ups(asker), *talk(asker)]
            prepared[asker.is_held_out] += anticipations(asker)
            for lines in SHIFT_LINES:
                policy = replace(AttentionPolicy(), continues_above=lines[0], drifts_above=lines[1])
                noticed[lines, asker.is_held_out] += shifts(asker, policy)
    return {
        "embedder": str(embedder.identity),
        "momentum": momentum_rows(scores),
        "anticipation": [anticipation_row(name, found) for name, found in sorted(prepared.items())],
        "shifts": [
            shift_row(*key, counts) for key, counts in sorted(noticed.items(), key=lambda one: one[0][1])
        ],
    }


def stored(conversation: Conversation, embedder: RememberingEmbedder, folder: Path) -> Asker:
    """Store every turn of a conversation and return it ready to be asked."""
    settings = Settings(home=folder, durability="relaxed", store=str(folder / f"{conversation.name}.db"))
    with Engram.open(settings=settings, embedder=embedder, background=False) as engram:
        memories = engram.remember_many(conversation.drafts.values())
        engram.enrich()
    turn_of: defaultdict[str, set[str]] = defaultdict(set)
    for turn_id, memory in zip(conversation.drafts, memories, strict=True):
        turn_of[memory.id].add(turn_id)
    parts = assemble(settings, clock=ManualClock(), own=Own(embedder=embedder), must_exist=True)
    return Asker(conversation, parts, turn_of)


def momentum_rows(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Return a row for each place and mode, of all and of what was held out."""
    groups: defaultdict[tuple[str, str, str], list[Score]] = defaultdict(list)
    for one in scores:
        for part in ("all", "held out") if one.is_held_out else ("all",):
            groups[one.place, part, one.mode].append(one)
            if one.is_vague:
                groups[f"{one.place}, vague ones", part, one.mode].append(one)
    return [
        {
            "": place,
            "of": part,
            "momentum": mode,
            "asked": len(found),
            **{f"R@{cut}": sum(one.recalls[cut] for one in found) / len(found) for cut in CUTS},
            "MRR": sum(one.reciprocal_rank for one in found) / len(found),
        }
        for (place, part, mode), found in sorted(groups.items(), key=lambda group: group[0][:2])
    ]


def anticipation_row(is_held_out: bool, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what was prepared and what of it was right, of all pairs and of the hits."""
    hits = [one for one in found if one["is_hit"]] or [{"share": 0.0, "first": 0, "same": 0}]
    return {
        "of": "held out" if is_held_out else "tuned on",
        "pairs": len(found),
        "hit rate": sum(one["is_hit"] for one in found) / len(found),
        "top 5 prepared": sum(one["share"] for one in found) / len(found),
        "top 5 prepared, on a hit": sum(one["share"] for one in hits) / len(hits),
        "best prepared, on a hit": sum(one["first"] for one in hits) / len(hits),
        "the same five, on a hit": sum(one["same"] for one in hits) / len(hits),
    }


def shift_row(lines: tuple[float, float], is_held_out: bool, counts: Counter[str]) -> dict[str, Any]:
    """Return how often a new session was noticed, and what was done to the topic inside one."""
    inside = max(1, counts["inside"])
    turned = counts[f"inside: {TopicShift.SWITCH}"] + counts[f"inside: {TopicShift.RETURN}"]
    return {
        "lines": f"{lines[0]}, {lines[1]}",
        "of": "held out" if is_held_out else "tuned on",
        "boundaries": counts["boundaries"],
        "noticed": counts["noticed"] / max(1, counts["boundaries"]),
        "turns inside": counts["inside"],
        "taken for a switch": turned / inside,
        "for a drift": counts[f"inside: {TopicShift.DRIFT}"] / inside,
    }


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.attention", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="a file of LoCoMo's form")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home, help="folder with the model packs")
    parser.add_argument("--only", nargs="*", default=[], help="names of conversations")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    embedder = open_embedder(arguments.embedder, arguments.home)
    found = measure(arguments.data, embedder, only=arguments.only)
    for part in ("momentum", "anticipation", "shifts"):
        show(f"LoCoMo, {part}, {embedder.identity.name}", found[part])
    print(f"\nWritten to {keep('attention', found, path=arguments.json)}")


if __name__ == "__main__":
    main()
