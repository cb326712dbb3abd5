"""A prompt that nearly fills the model's window still begins a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Settings
from engramdb.models.capabilities import counter_for
from engramdb.testing import ManualClock

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "tight"
WINDOW = 3000
RESERVE = 200


@pytest.mark.parametrize("left", [0, 5, 20, 60, 150])
def test_what_is_in_mind_gives_way_to_a_long_prompt(tmp_path: Path, left: int) -> None:
    """With few tokens left by the model's own count, the turn holds less in mind and does not fail."""
    models = {MODEL: {"context": WINDOW, "output": 1000, "tokenizer": "mistral"}}
    settings = Settings(store=str(tmp_path / "m.db"), embedder="static", models=models)
    message = "What should I pack for the trip to Lisbon?"
    with Engram.open(settings=settings, clock=ManualClock(), background=False) as engram:
        for place in range(6):
            engram.remember(f"For the trip to Lisbon I should pack the long list number {place} of things")
        with engram.turn(message, session="s", model="gpt-5") as turn:
            turn.reply("Take the rain coat, the charger and the long list of things for Lisbon.")
        prompt = filling(WINDOW - RESERVE - left, message)

        with engram.turn(message, session="s", model=MODEL, fixed=prompt, reserve=RESERVE) as turn:
            window = turn.window
            turn.reply("Yes.")

    assert window.tokens <= window.budget == left


def filling(tokens: int, message: str) -> str:
    """Return a prompt that together with the message has exactly so many tokens by the model's count."""
    counter = counter_for("mistral")
    prompt = "Ünïcödé çharäctêrs cöst mørę; "
    while counter.most(prompt) + counter.most(message) < tokens:
        prompt += "größere Wörter øg på dansk "
    while counter.most(prompt) + counter.most(message) > tokens:
        prompt = prompt[:-1]
    while counter.most(prompt) + counter.most(message) < tokens:
        prompt += "."
    return prompt
