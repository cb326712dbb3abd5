"""
The tool `reason`: follow a question through several recalls.

Calls `Engram.reason`. The model that asks can reason itself, so what it needs most is the evidence;
where the engine has a chat model, its answer comes along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from engram.context.isolation import one_line
from engram.surfaces.mcp.render import as_data, hit_line, hit_shape, missing_shape, short, shortfalls
from engram.surfaces.mcp.tool import Answer, Arguments, Tool, Visit

if TYPE_CHECKING:
    from engram.values import Missing, Reasoned


class Question(Arguments, frozen=True):
    """One question, and how far to follow it."""

    question: Annotated[str, Meta(description="In full")]
    depth: Annotated[int, Meta(ge=1, le=5)] = 3


def reason(visit: Visit, asked: Question) -> Answer:
    """
    Answer a question that needs several memories together: it is split, each part is recalled, and names
    found are followed. Slower than `recall`, and may ask a chat model; try `recall` first.
    """
    found = visit.engram.reason(asked.question, depth=asked.depth, session=visit.session)
    missing = _missing(found)
    return Answer(_words(found, missing), _values(found, missing))


def _words(found: Reasoned, missing: list[Missing]) -> str:
    cited = ", ".join(short(one) for one in found.cited)
    answer = (
        f"Answer: {one_line(found.answer)} [{cited}]" if found.answer else f"No answer: {one_line(found.why)}"
    )
    questions = "; ".join(one_line(node.question) for node in found.tree.walk() if node.level > 1)
    evidence = as_data(hit_line(hit) for hit in found.evidence) or "No stored memory fits."
    also = [f"Also asked: {questions}"] if questions else []
    return "\n".join([*shortfalls(missing), answer, *also, evidence])


def _values(found: Reasoned, missing: list[Missing]) -> dict[str, object]:
    return {
        "answer": found.answer,
        "why": found.why,
        "cited": list(found.cited),
        "evidence": [hit_shape(hit) for hit in found.evidence],
        "missing": missing_shape(missing),
        "failures": list(found.failures),
        "model_tokens": found.tokens,
    }


def _missing(found: Reasoned) -> list[Missing]:
    """Return what could not take part in any of the recalls, each once."""
    return list(dict.fromkeys(one for node in found.tree.walk() for one in node.missing))


TOOL = Tool(takes=Question, does=reason, reads_only=True)
