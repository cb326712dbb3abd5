"""
Secrets end to end: what is told, then fifty unrelated prompts on every path, then questions by name.

Counts the secrets that come out unasked (there should be none) and those that are given when they are asked
for by their name, beside a store that keeps every sentence and knows no tiers. The words were written by
somebody who did not see the code: `evals/secrets_data/open`, and `sealed` where that is there.

    python -m evals.told_secrets --half open [--home ~/.engram]

With the model pack in `--home` its guard model is used as well.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.testclient import TestClient

from engramdb import Engram, Settings
from engramdb.errors import EngramError
from engramdb.hooks.respond import memory_block
from engramdb.http.app import create_app
from engramdb.mcp.tools import recall_text
from engramdb.text.terms import query_terms
from engramdb.values import Actor, ActorKind
from evals.report import halves

DATA = Path(__file__).parent / "secrets_data"
ADDRESS = "http://127.0.0.1:7070"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
LIMIT = 8
"""What a recall is asked for, and what the baseline gives."""


def read(half: str, name: str) -> list[dict[str, Any]]:
    """Return the records of a file."""
    return [
        json.loads(line) for line in (DATA / half / f"{name}.jsonl").read_text("utf-8").splitlines() if line
    ]


def tell(engram: Engram, said: Sequence[dict[str, Any]]) -> None:
    """Let everything be heard in one conversation, with the questions that it answers."""
    for one in said:
        if one.get("asked"):
            engram.observe(one["asked"], role="assistant", session="life")
        engram.observe(one["text"], role="user", session="life")
    engram.flush()
    engram.end_session("life")
    engram.dream()


def windows(engram: Engram, agent: Engram, client: TestClient, prompt: str) -> Iterator[tuple[str, str]]:
    """Yield what each path shows to a prompt that asks for no secret."""
    yield "recall", as_text(engram.recall(prompt))
    yield "context", engram.context(prompt).text
    yield "context of the session", engram.context(prompt, session="life", budget=4000).text
    block = memory_block(agent, prompt, session="hook", tokens=2000, is_known=lambda _: False)
    yield "hook", block.text if block else ""
    yield "mcp recall", recall_text(agent.recall(prompt))
    yield "http recall", client.post("/v1/recall", json={"query": prompt}).text
    yield "page", client.get("/", params={"q": prompt}).text


def overviews(engram: Engram, agent: Engram, client: TestClient) -> Iterator[tuple[str, str]]:
    """Yield what is shown without any question."""
    yield "list", as_text(engram.list(limit=500))
    yield "turns", as_text(engram.turns(limit=500))
    yield "brief", agent.brief(budget=4000).text
    yield "gaps", as_text(engram.gaps(limit=100))
    yield "summaries", as_text([*engram.summaries(limit=50), *engram.domains()])
    yield "http list", client.get("/v1/memories", params={"limit": 500}).text
    yield "page overview", client.get("/").text
    with engram._parts.store.read() as tx:  # noqa: SLF001
        names = {
            entity.name
            for memory in engram.list(limit=500)
            for entity in tx.entities.of_memory(memory.id, scope=engram.scope)
        }
    yield "entity names", " ".join(names)
    for name in sorted(names):
        try:
            yield "entity", as_text(engram.entity(name))
        except EngramError:
            continue


def as_text(answer: object) -> str:
    """Return everything in an answer."""
    return msgspec.json.encode(answer, enc_hook=str).decode()


def shown_in(text: str, secrets: Sequence[str]) -> set[str]:
    """Return the secrets that a text shows; a PIN that happens to stand in an id is none."""
    text = ID.sub("", text)
    return {one for one in secrets if re.search(rf"(?<![\w.]){re.escape(one)}(?!\w)", text)}


def baseline(said: Sequence[dict[str, Any]], question: str) -> str:
    """Return what a store gives that keeps every sentence: those that share most words with the question."""
    asked = set(query_terms(question))
    ranked = sorted(
        said, key=lambda one: -len(asked & set(query_terms(one["text"] + (one.get("asked") or ""))))
    )
    return "\n".join(one["text"] for one in ranked[:LIMIT])


def main() -> None:
    """Measure one half and print the totals."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--half", choices=halves(DATA), default="open")
    options.add_argument("--home", type=Path, help="where the model pack is; without it there is none")
    options.add_argument(
        "--misses", action="store_true", help="name the paths, and the ids of what was missed"
    )
    given = options.parse_args()
    said, prompts, asks = (read(given.half, name) for name in ("said", "prompts", "asks"))
    secrets = {one["id"]: one["secret"] for one in said if one["secret"]}
    leaked: Counter[str] = Counter()
    which: set[str] = set()
    naive: set[str] = set()
    told, naively = [], 0
    agent_kind = Actor(name="agent", kind=ActorKind.AGENT)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "memory.db")
        settings = Settings(home=given.home or Path(folder), store=store)
        with Engram.open(settings=settings, background=False) as engram:
            tell(engram, said)
            with (
                Engram.open(settings=settings, background=False, actor=agent_kind) as agent,
                TestClient(create_app(engram), base_url=ADDRESS) as client,
            ):
                for prompt in prompts:
                    naive |= shown_in(baseline(said, prompt["text"]), list(secrets.values()))
                    for path, text in windows(engram, agent, client, prompt["text"]):
                        found = shown_in(text.replace(prompt["text"], ""), list(secrets.values()))
                        leaked.update({path: len(found)})
                        which |= found
                for path, text in overviews(engram, agent, client):
                    found = shown_in(text, list(secrets.values()))
                    leaked.update({path: len(found)})
                    which |= found
                for ask in asks:
                    wanted = secrets[ask["secret_id"]]
                    hits = " ".join(
                        hit.memory.content for hit in engram.recall(ask["text"], limit=LIMIT).hits
                    )
                    is_told = wanted in hits
                    others = shown_in(hits, [one for one in secrets.values() if one != wanted])
                    told.append((ask["secret_id"], is_told, len(others)))
                    naively += wanted in baseline(said, ask["text"])
    print(f"secrets told                 {len(secrets)}")
    print(f"shown unasked, by Engram     {len(which)} different, {leaked.total()} times, {len(leaked)} paths")
    print(f"shown unasked, verbatim      {len(naive)} different (recall alone)")
    print(f"given when asked by name     {sum(one[1] for one in told)} of {len(told)}; verbatim {naively}")
    print(f"others shown along with them {sum(one[2] for one in told)}")
    if given.misses:
        print({path: count for path, count in leaked.items() if count})
        print("shown:", sorted(key for key, value in secrets.items() if value in which))
        print("not given:", [one[0] for one in told if not one[1]])


if __name__ == "__main__":
    main()
