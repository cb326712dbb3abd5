"""Nothing confidential is sent to a model, by whatever verb: a server notes all that a busy engine asks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loopback import answering

from engramdb import Engram, Settings
from engramdb.models.prompts.consolidate import fill as consolidate_prompt
from engramdb.models.prompts.history import fill as history_prompt
from engramdb.models.prompts.read import fill as read_prompt
from engramdb.models.prompts.relate import fill as relate_prompt
from engramdb.models.prompts.which_answer import fill as which_answer_prompt
from engramdb.models.reader import Utterance
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

SECRETS = {
    "hunter2hunter": "The wifi password at my house is hunter2hunter, and the router stands in the hall.",
    "DE89 3704 0044 0532 0130 00": "My IBAN is DE89 3704 0044 0532 0130 00 for the rent.",
    "123-45-6789": "My social security number is 123-45-6789.",
    "4111 1111 1111 1111": "I pay with my card 4111 1111 1111 1111.",
    "sk-abc123def456ghi789jkl012mno345pqr678": "Use the key sk-abc123def456ghi789jkl012mno345pqr678 here.",
}
HARMLESS = (
    "I moved to Porto in March and I love the river.",
    "My sister Noor bakes sourdough bread every Sunday.",
    "Staging runs Postgres 15 behind the old router.",
    "I prefer tea over coffee in the morning.",
)


def test_no_call_of_a_busy_engine_carries_a_secret(store_path: Path) -> None:
    """Turns, context, judging, dreams, reasoning and embedding: the words around secrets go, secrets stay."""
    sent: list[str] = []

    def reply(path: str, asked: Any) -> tuple[int, object]:
        sent.append(json.dumps(asked, ensure_ascii=False))
        if path.endswith("/embeddings"):
            vectors = [[float(len(text) % 7 + 1), float(len(text) % 5), 1.0] for text in asked["input"]]
            return 200, {"data": [{"index": n, "embedding": row} for n, row in enumerate(vectors)]}
        content = json.dumps({"statements": [], "answered": False, "relations": [], "verdict": "sufficient"})
        return 200, {"choices": [{"message": {"content": content}}]}

    with answering(reply) as url:
        settings = Settings(
            embedder="openai:tiny", embedder_url=url, chat="openai:small", chat_url=url, chat_key="k"
        )
        clock = ManualClock(datetime(2026, 5, 8, 9, 0, tzinfo=UTC))
        with Engram.open(store_path, settings=settings, clock=clock, background=False) as engram:
            _live(engram, clock)

    assert sum("Porto" in one for one in sent) > 2
    leaked = {secret for secret in (*SECRETS, "swordfish77") if any(secret in one for one in sent)}
    assert leaked == set()


def _live(engram: Engram, clock: ManualClock) -> None:
    """Say, state, ask and dream of everything, secrets among it."""
    for day in range(3):
        for number, text in enumerate((*HARMLESS, *SECRETS.values())):
            engram.observe(text, speaker="Ann", session=f"s{day}", occurred_at=clock.now())
            engram.observe(f"Noted, number {number}.", role="assistant", session=f"s{day}")
        engram.observe("What is the alarm password?", role="assistant", session=f"s{day}")
        engram.observe("swordfish77", speaker="Ann", session=f"s{day}")
        engram.flush()
        clock.advance(days=2)
    for text in SECRETS.values():
        engram.remember(text)
    history = [("user", text) for text in (*HARMLESS, *SECRETS.values())] * 30
    engram.context(
        "and now?",
        budget=3000,
        history=[{"role": role, "content": text} for role, text in history],
        session="s2",
    )
    engram.reason("What is the wifi password, and where does Ann live?")
    engram.reason("Which secret numbers like 123-45-6789 does Ann have?")
    clock.advance(days=10)
    engram.dream()


def test_prompts_conceal_before_they_cut() -> None:
    """Half of a secret is not recognized, so it is concealed while it is whole."""
    said = "the wifi password is hunter2hunter. "
    for shift in range(
        0, len(said), 3
    ):  # wherever the cut is, it falls into one of them, at each of its places
        text = "y" * shift + " " + said * 110
        prompts = (
            history_prompt([("user", text)]),
            consolidate_prompt([("user", text)] * 30),
            relate_prompt(Utterance("I like tea"), [Utterance(text)]),
            read_prompt([Utterance("ok", "user", text), Utterance(text)]),
            which_answer_prompt("what is it?", [text]),
        )
        assert not any("hunter" in prompt.user for prompt in prompts)
