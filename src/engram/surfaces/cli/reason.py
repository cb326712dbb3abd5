"""
`engram reason`: follow a question further than one recall, and answer from what was found.

Calls `Engram.reason`. The answer first, with the memories that it stands on; then the evidence, and the tree
of questions that led to it. Without a chat model there is no answer, and a line says so.
"""

from typing import Annotated

import typer

from engram.surfaces.cli.options import Limit, Shared, given_text
from engram.surfaces.cli.output import (
    bold,
    counted,
    dim,
    indented,
    one_line,
    out,
    present,
    short,
    talk,
    visible,
)
from engram.values import EvidenceNode, Reasoned

_UNDER_CONTENT = " " * 16


def reason(
    shared: Shared,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question, or - for stdin.")],
    *,
    depth: Annotated[
        int | None, typer.Option(metavar="LEVELS", help="Levels of questions to ask, from 1 to 5.")
    ] = None,
    limit: Limit = 20,
    calls: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Calls of the chat model at most.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Tokens of the chat model at most.")
    ] = None,
) -> None:
    """
    Ask a question that one recall does not answer: follow its parts and gaps, and answer with evidence.

    Example: engram reason "where does the lead of Falcon live?" --depth 3
    """
    asked = given_text(question)
    with shared.open_existing() as engram:
        found = engram.reason(asked, depth=depth, limit=limit, calls=calls, tokens=tokens)

    present(found, show_reasoned, as_json=shared.json)
    if not found.is_answered:
        talk(f"There is no answer: {one_line(found.why)}")
    for failure in found.failures:
        talk(one_line(failure))


def show_reasoned(found: Reasoned) -> None:
    """Show the answer if there is one, the evidence, and the questions that led to it."""
    if found.answer is not None:
        out(visible(found.answer))
        out(dim(f"from {', '.join(map(short, found.cited))}"))
        out()
    for hit in found.evidence:
        first = f"{bold(f'{hit.score:.2f}')}  {short(hit.memory.id)}  "
        out(indented(first, one_line(hit.memory.content), indent=_UNDER_CONTENT))
    out()
    for node in found.tree.walk():
        _show_node(node)
    if found.every_call:
        calls = counted(len(found.every_call), "call", "calls")
        out(dim(f"{calls} of {found.most_calls} at most, {found.tokens} tokens"))


def _show_node(node: EvidenceNode) -> None:
    new = sum(item.is_new for item in node.found)
    judged = f"; {node.judgement.sufficiency} ({node.judgement.why})" if node.judgement else ""
    out(f"{'  ' * (node.level - 1)}{node.origin}: {one_line(node.question)}")
    out(dim(f"{'  ' * node.level}{len(node.found)} found, {new} new{judged}"))
