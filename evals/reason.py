"""
Does following leads bring more evidence into an answer than one recall with as many memories?

    python -m evals.reason [--data FILE] [--embedder e5-small] [--home FOLDER] [--json FILE]

No model takes part: `reason` decomposes and follows names by rules. Two sets of questions. *LoCoMo*: every
question of categories 1 to 4, turn evidence within the same number of memories, by one recall and by
`reason` at depths 1, 3 and 5; the rules were looked at on the three tuning conversations only, the others are
reported apart. *Chains*: made-up statements where the question names one thing and the answer hangs on
another (who leads Falcon, where does she live); questions in some wordings were used for tuning (`tune`), the
others (`held out`) were not.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engramdb import Draft, Engram, Settings
from engramdb.models.registry import open_embedder
from evals.life_words import OF_PEOPLE, OF_PROJECTS, PEOPLE, PROJECTS, VALUES
from evals.locomo import CATEGORIES, TUNED_ON, RememberingEmbedder, read
from evals.report import keep, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engramdb.models.embedder import Embedder

CUTS = (5, 10, 20)
DEPTHS = (1, 3, 5)

LEADS = ("{who} leads {project}.", "{project} is led by {who}.", "The lead of {project} is {who}.")
BOSSES = ("{who}'s boss is {boss}.", "{boss} is the boss of {who}.")
ASKED = {
    "city": ("Where does {whom} live?", "In which city does {whom} live?"),
    "employer": ("Who does {whom} work for?", "Which company does {whom} work for?"),
    "car": ("Which car does {whom} drive?", "What car does {whom} drive?"),
    "allergy": ("What is {whom} allergic to?", "Which allergy does {whom} have?"),
    "pet": ("What is the dog of {whom} called?", "What is the name of the dog that {whom} has?"),
}
WHOM = {
    "tune": ("the lead of {project}", "the person who leads {project}"),
    "held out": ("the woman or man in charge of {project}", "whoever leads {project}"),
}
BOSS_OF = {"tune": "the boss of {who}", "held out": "{who}'s boss"}


@dataclass(frozen=True, slots=True)
class Chain:
    """A question whose answer hangs on several statements, by their places in the list."""

    text: str
    part: str
    evidence: frozenset[int]


def chains(seed: int) -> tuple[list[str], list[Chain]]:
    """Return statements about people and projects, and questions that need two or three of them."""
    rng = random.Random(seed)
    pools = {name: rng.sample(pool, len(pool)) for name, pool in VALUES.items()}
    told: list[str] = []

    def tell(sentence: str) -> int:
        told.append(sentence)
        return len(told) - 1

    of_person = {
        (who, attribute.name): tell(
            rng.choice(attribute.says).format(who=who, value=pools[attribute.pool or attribute.name].pop())
        )
        for who in PEOPLE
        for attribute in OF_PEOPLE
    }
    for project in PROJECTS:
        for attribute in OF_PROJECTS:
            if attribute.name != "lead":
                value = pools[attribute.pool or attribute.name].pop()
                tell(rng.choice(attribute.says).format(who=project, value=value))
    boss = dict(zip(PEOPLE, [*PEOPLE[1:], PEOPLE[0]], strict=True))
    of_boss = {who: tell(rng.choice(BOSSES).format(who=who, boss=boss[who])) for who in PEOPLE}
    leads = dict(zip(PROJECTS, rng.sample(PEOPLE, len(PROJECTS)), strict=True))
    questions = []
    for project, who in leads.items():
        led = tell(rng.choice(LEADS).format(who=who, project=project))
        for part, about in ((part, rng.choice(list(ASKED))) for part in WHOM):
            asked = rng.choice(ASKED[about])
            whom = rng.choice(WHOM[part]).format(project=project)
            first = frozenset({led, of_person[who, about]})
            questions.append(Chain(asked.format(whom=whom), part, first))
            of_lead = frozenset({of_boss[who], of_person[boss[who], about]})
            questions.append(Chain(asked.format(whom=BOSS_OF[part].format(who=who)), part, of_lead))
    return told, questions


def ask_chains(
    embedder: Embedder, folder: Path, seeds: Sequence[int]
) -> Iterator[tuple[str, str, int, float]]:
    """Yield the part, the way, the cut and the share of evidence for every question of the chains."""
    for seed in seeds:
        told, questions = chains(seed)
        settings = Settings(home=folder, durability="relaxed")
        with Engram.open(
            folder / f"chains{seed}.db", settings=settings, embedder=embedder, background=False
        ) as engram:
            stored = [memory.id for memory in engram.remember_many([Draft(content=one) for one in told])]
            engram.enrich()
            for question in questions:
                wanted = {stored[place] for place in question.evidence}
                for way, cut, found in answers(engram, question.text):
                    yield f"chains, {question.part}", way, cut, len(wanted & set(found)) / len(wanted)


def ask_locomo(path: Path, embedder: Embedder, folder: Path) -> Iterator[tuple[str, str, int, float]]:
    """Yield the part, the way, the cut and the share of evidence for every question of LoCoMo."""
    for conversation in read(path):
        settings = Settings(home=folder, durability="relaxed")
        file = folder / f"{conversation.name}.db"
        with Engram.open(file, settings=settings, embedder=embedder, background=False) as engram:
            stored = engram.remember_many(conversation.drafts.values())
            engram.enrich()
            turns_of: defaultdict[str, set[str]] = defaultdict(set)
            for turn, memory in zip(conversation.drafts, stored, strict=True):
                turns_of[memory.id].add(turn)
            tuned = "tune" if conversation.name in TUNED_ON else "held out"
            for question in conversation.questions:
                for way, cut, found in answers(engram, question.text):
                    turns = set().union(*(turns_of[one] for one in found))
                    share = len(question.evidence & turns) / len(question.evidence)
                    yield f"LoCoMo {CATEGORIES[question.category]}, {tuned}", way, cut, share


def answers(engram: Engram, question: str) -> Iterator[tuple[str, int, list[str]]]:
    """Yield what each way finds within each number of memories."""
    one = [hit.memory.id for hit in engram.recall(question, limit=max(CUTS)).hits]
    ways = {"one recall": one}
    for depth in DEPTHS:
        reasoned = engram.reason(question, depth=depth, limit=max(CUTS))
        ways[f"depth {depth}"] = [hit.memory.id for hit in reasoned.evidence]
    for way, found in ways.items():
        for cut in CUTS:
            yield way, cut, found[:cut]


def tables(found: Iterator[tuple[str, str, int, float]]) -> dict[str, list[dict[str, Any]]]:
    """Return a table for every part: a row for every way, a column for every cut."""
    shares: defaultdict[str, defaultdict[str, defaultdict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for part, way, cut, share in found:
        shares[part][way][cut].append(share)
    return {
        part: [
            {
                "": way,
                "questions": len(cuts[CUTS[0]]),
                **{f"evidence in {cut}": sum(cuts[cut]) / len(cuts[cut]) for cut in CUTS},
            }
            for way, cuts in ways.items()
        ]
        for part, ways in sorted(shares.items())
    }


def main() -> None:
    """Measure, print the tables and keep the JSON."""
    parser = argparse.ArgumentParser(prog="python -m evals.reason", description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, help="a file of LoCoMo's form; without it only the chains")
    parser.add_argument("--embedder", default="auto", help="auto, static or e5-small")
    parser.add_argument("--home", type=Path, default=Settings.load().home)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    embedder = RememberingEmbedder(open_embedder(arguments.embedder, arguments.home))
    with tempfile.TemporaryDirectory() as folder:
        found = tables(ask_chains(embedder, Path(folder), arguments.seeds))
        if arguments.data:
            found |= tables(ask_locomo(arguments.data, embedder, Path(folder)))
    for part, rows in found.items():
        show(f"{part}, {embedder.identity.name}", rows)
    kept = keep("reason", {"embedder": str(embedder.identity), "tables": found}, path=arguments.json)
    print(f"\nWritten to {kept}")


if __name__ == "__main__":
    main()
