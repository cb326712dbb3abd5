"""
The bodies of what decides how long memories live: pins, layers, links, ageing, dreams, questions.

Read by `routes.life`, `routes.links` and `routes.dreams`.
"""

from __future__ import annotations

from pydantic import Field

from engram.surfaces.http.bodies.shared import EXAMPLE_ID, Body, OneMemory, Reasoned, Scoped, example
from engram.values import EdgeType, Layer, Status


class PinBody(OneMemory):
    """Which memory to keep, or no longer to keep, from every automatic loss."""


class RestoreBody(Reasoned):
    """Which memory to bring back, and why."""

    model_config = example(id=EXAMPLE_ID, reason="she does")


class LayerBody(Reasoned):
    """Which memory to put into another layer, and why."""

    layer: Layer | None = None
    """The layer; the next one where left out."""


class StatusBody(Reasoned):
    """Which memory to move to another status, and why."""

    model_config = example(id=EXAMPLE_ID, status="archived", reason="the project is over")

    status: Status
    """The status; bringing a memory back to `active` needs a reason."""


class AgeBody(Body):
    """Whether to let the store age, or only to tell what that would do."""

    model_config = example(dry_run=True)

    dry_run: bool = False
    """Whether to change nothing and only tell."""


class DreamBody(Body):
    """Whether to consolidate the store, or only to tell what that would do."""

    model_config = example(dry_run=True, steps=["merge", "gaps"])

    dry_run: bool = False
    """Whether to change nothing and only tell."""
    steps: tuple[str, ...] | None = None
    """The steps to take, in the dream's own order; all of them where left out."""


class UnmergeBody(Reasoned):
    """Which memory to take apart again, and why."""

    model_config = example(id=EXAMPLE_ID, reason="these are two")


class OneGap(Scoped):
    """Which open question is meant."""

    id: str
    """The question's id, as `GET /v1/gaps` shows it."""


class AnswerGapBody(OneGap):
    """Which open question to answer, and how."""

    model_config = example(id="4f1c77ab0d52", answer="Ada's birthday is on 10 December")

    answer: str
    """The answer; it is remembered like any other statement."""


class CloseGapBody(OneGap):
    """Which open question to settle without an answer, and why."""

    model_config = example(id="4f1c77ab0d52", reason="nobody needs to know")

    reason: str = ""
    """Why, for the record."""


class UnrelateBody(Reasoned):
    """Which link between two memories to take away, and why."""

    model_config = example(id=EXAMPLE_ID, other="5d2f3f2b", type="supports")

    other: str
    """The memory at its other end, by its id or its last 8 characters."""
    type: EdgeType = EdgeType.RELATED_TO
    """What the link says."""


class RelateBody(UnrelateBody):
    """How a memory relates to another, and why."""

    weight: float = Field(1.0, json_schema_extra={"minimum": 0, "maximum": 1})
    """How strongly, from 0 to 1."""
