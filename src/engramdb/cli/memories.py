"""Show memories: what became of a statement, one memory, lists, histories, links, erasures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from engramdb.cli.derive import Run, runs, shows
from engramdb.cli.output import (
    bold,
    dim,
    indented,
    minute,
    one_line,
    out,
    short,
    show_lines,
    show_memory,
    talk,
    tell_masked,
    warning,
)
from engramdb.errors import InvalidQuery
from engramdb.lifecycle.recorded import GAINED, LOST
from engramdb.text.dates import readable
from engramdb.text.normalize import counted, memories
from engramdb.values import (
    BELIEVED,
    Act,
    Edge,
    EdgeType,
    ErasedFile,
    Erasure,
    FileOutcome,
    ForgottenMemory,
    HistoryEvent,
    Memory,
    MemoryList,
    SecurityTier,
    Status,
    Support,
    Undone,
)
from engramdb.values.memory import INJECTION, QUARANTINED, RETURNED
from engramdb.values.recall import UNREADABLE_ROW
from engramdb.verbs.errors import FAILED
from engramdb.verbs.wording import FLAGGED, hidden_scope, is_said_otherwise

if TYPE_CHECKING:
    from engramdb.engine.engram import Engram

ID_LENGTH = 36
_UNDER = " " * 12
_MAX_NAMED = 8
"""So many memories that an undo changed are named."""
SHOWN_MENTIONS = 20
"""So many mentions are shown; `--json` gives all."""
_UNDER_HISTORY = " " * 19
_TOLD = {EdgeType.SUPERSEDES: "in place of", EdgeType.CONTRADICTS: "disputes"}
_TIERS = {
    SecurityTier.SENSITIVE: "stored as sensitive (personal): left out of notebooks and exports",
    SecurityTier.CONFIDENTIAL: "stored as confidential (a secret): left out of files and most prompts",
}
_FLAGS = {
    INJECTION: f"{FLAGGED}: kept out of automatic context",
    QUARANTINED: "came with an import, in quarantine: `engram release` lets it in",
}


def look_beside(engram: Engram, memory: Memory) -> list[tuple[EdgeType, Memory]]:
    """Return the memories that this one replaced or disputes; none where it was known already."""
    if memory.reinforcements:
        return []
    return [
        (edge.type, engram.get(edge.target))
        for edge in engram.links(memory.id)
        if edge.source == memory.id and edge.type in _TOLD
    ]


def show_stored(
    memory: Memory, beside: Sequence[tuple[EdgeType, Memory]] = (), *, is_reworded: bool = False
) -> None:
    """Show what became of a statement; one `is_reworded` that stands for it in other words."""
    from engramdb.text.pii import is_withheld  # noqa: PLC0415 - loads all that looks for personal data

    if memory.reinforcements:
        done = f"reinforced ({memory.reinforcements}×)"
    else:
        done = "remembered" if memory.status is Status.ACTIVE else f"stored as {memory.status}"
    out(f"{done} {short(memory.id)}  {one_line(readable(memory))}")
    for relation, other in beside:
        out(_UNDER + dim(f"{_TOLD[relation]} {short(other.id)}  {one_line(readable(other))}"))
    if memory.security in _TIERS and is_withheld(memory.content, memory.security):
        out(_UNDER + warning(_TIERS[memory.security]))
    if memory.forgotten_before:
        out(_UNDER + warning(f"this had been forgotten on {memory.forgotten_before}; it counts again"))
    for flag in memory.flags:
        if not flag.startswith(RETURNED):
            out(_UNDER + warning(_FLAGS.get(flag, flag)))
    if memory.reinforcements and not is_reworded:
        out(_UNDER + dim("known already; it counts for more now"))
    elif memory.reinforcements:
        out(
            _UNDER
            + dim(f"known already in these words; `engram evidence {short(memory.id)}` shows the others")
        )


def elsewhere(engram: Engram) -> str | None:
    """Return a line about memories that the command's scope does not see, if there are any."""
    name = hidden_scope(engram.status().by_scope, engram.scope)
    if name is None:
        return None
    return f"Other scopes hold memories, such as {one_line(name)}; `engram status` lists them."


@shows("get")
def show_one(memory: Memory) -> None:
    """Show everything about one memory, and how to see what is masked."""
    show_memory(memory)
    tell_masked([memory.content])


@runs("remember")
def remember(run: Run) -> None:
    """Store a statement, and say what it replaced or disputes."""
    with run.open() as engram:
        memory = run.call(engram)
        beside = [] if run.shared.json else look_beside(engram, memory)

    is_reworded = is_said_otherwise(memory, run.asked.content)
    run.present(memory, lambda stored: show_stored(stored, beside, is_reworded=is_reworded))


@runs("list")
def list_memories(run: Run) -> None:
    """List memories, and say how the list goes on."""
    with run.open() as engram:
        found: MemoryList = run.call(engram)
        beyond = None if found else elsewhere(engram)

    run.present(found, show_lines)
    for one in found.unreadable:
        talk(f"Memory {one_line(one)} is missing: {UNREADABLE_ROW}.")
    if not run.shared.json:
        tell_masked(one.content for one in found)
    if not found:
        talk("There are no such memories.")
        if beyond is not None:
            talk(beyond)
    elif len(found) == run.asked.limit and not run.shared.json:
        talk(f"There may be more: engram list --before {short(found[-1].id)}")


@runs("correct")
def correct(run: Run) -> None:
    """Put a statement in the place of another one, and say what that had displaced."""
    with run.open() as engram:
        displaced = displaced_by(engram, run.asked.id)
        memory = run.call(engram)
        run.present(memory, show_corrected)
        _offer(engram, run, displaced)


def show_corrected(memory: Memory) -> None:
    """Show the new statement and what it replaced."""
    replaced = f" in place of {short(memory.supersedes)}" if memory.supersedes else ""
    out(f"corrected {short(memory.id)}{replaced}  {one_line(readable(memory))}")


@runs("forget")
def forget(run: Run) -> None:
    """Forget a memory, and offer to bring back what it had displaced."""
    with run.open() as engram:
        gone: ForgottenMemory = run.call(engram)
        displaced = [engram.get(one) for one in gone.displaced]
        run.present(gone, show_forgotten)
        _offer(engram, run, displaced)


def show_forgotten(memory: Memory) -> None:
    """Show what was forgotten."""
    out(f"forgot {short(memory.id)}  {one_line(readable(memory))}")


def displaced_by(engram: Engram, name: str) -> list[Memory]:
    """Return what does not count any more because a memory superseded it."""
    memory = engram.get(name)
    if memory.status not in BELIEVED:
        return []
    ends = [engram.get(edge.target) for edge in engram.links(memory.id) if edge.source == memory.id]
    return [one for one in ends if one.superseded_by == memory.id and one.status is Status.SUPERSEDED]


def _offer(engram: Engram, run: Run, displaced: Sequence[Memory]) -> None:
    """Say what a memory had displaced that is gone now, and bring it back where a person wants that."""
    if run.shared.json:
        return
    for one in displaced:
        told = f"{short(one.id)}  {one_line(readable(one))}"
        if run.asked.reinstate:
            out(_UNDER + f"counts again: {told}")
        elif sys.stdin.isatty() and sys.stdout.isatty():
            if click.confirm(f"It had displaced {told}\nBring that back?", err=True):
                show_restored(engram.restore(one.id, reason="what displaced it is gone"))
        else:
            talk(f"It had displaced {told}")
            talk(f"hint: engram restore {short(one.id)} brings that back.")


@runs("undo")
def undo(run: Run) -> None:
    """Undo an act, and say what that has changed."""
    with run.open() as engram:
        done: Undone = run.call(engram)
        named = [*done.back, *done.gone, *done.changed, *done.untouched][: 4 * _MAX_NAMED]
        texts = {one: one_line(readable(engram.get(one))) for one in named}

    run.present(done, lambda told: show_undone(told, texts))


def show_undone(done: Undone, texts: Mapping[str, str]) -> None:
    """Show what was undone, and what that has changed."""
    for act in done.undone:
        out(f"undid {short(act.id)}  {_act_words(act)}")
    told = (
        (done.back, "counts again"),
        (done.gone, "does not count any more"),
        (done.changed, "is as before"),
        (done.untouched, "was forgotten or erased since"),
    )
    for ids, what in told:
        for one in ids[:_MAX_NAMED]:
            out(f"{_UNDER}{what}: {short(one)}  {texts.get(one, '')}".rstrip())
        if len(ids) > _MAX_NAMED:
            out(f"{_UNDER}{what}: {len(ids) - _MAX_NAMED} more")
    out(_UNDER + dim(f"`engram undo --act {short(done.act)}` takes that back"))


@runs("acts")
def list_acts(run: Run) -> None:
    """List what was done, and say how the list goes on."""
    acts: Sequence[Act] = run.answer()
    run.present(acts, show_acts)
    if not acts:
        talk("Nothing was done in this scope, or it was done before acts were noted.")
    elif len(acts) == run.asked.limit and not run.shared.json:
        talk(f"There may be more: engram acts --before {short(acts[-1].id)}")


def show_acts(acts: Sequence[Act]) -> None:
    """Show acts, a line for each."""
    for act in acts:
        undone = f", undone by {short(act.undone_by)}" if act.undone_by else ""
        out(f"{short(act.id)}  {dim(minute(act.at))}  {_act_words(act)}{undone}")


def _act_words(act: Act) -> str:
    return f"{act.action} by {one_line(act.actor.name)}, {memories(act.memories)}"


@shows("release")
def show_released(memory: Memory) -> None:
    """Show a memory that windows may hold again."""
    out(f"released {short(memory.id)}  {one_line(readable(memory))}")


@shows("pin", "unpin")
def show_pinned(memory: Memory) -> None:
    """Show whether a memory is pinned now."""
    out(f"{'pinned' if memory.pinned else 'unpinned'} {short(memory.id)}  {one_line(readable(memory))}")


@shows("promote", "demote")
def show_moved(memory: Memory) -> None:
    """Show the layer that a memory is in now."""
    out(f"{memory.layer} from now on: {short(memory.id)}  {one_line(readable(memory))}")


@shows("restore")
def show_restored(memory: Memory) -> None:
    """Show what was brought back."""
    out(f"restored {short(memory.id)}  {one_line(readable(memory))}")


@runs("set_status")
def set_status(run: Run) -> None:
    """Move a memory to another status, and offer to bring back what it had displaced."""
    with run.open() as engram:
        displaced = [] if run.asked.status in BELIEVED else displaced_by(engram, run.asked.id)
        run.present(run.call(engram), show_status_of)
        _offer(engram, run, displaced)


def show_status_of(memory: Memory) -> None:
    """Show the status of a memory."""
    out(f"{memory.status} {short(memory.id)}  {one_line(readable(memory))}")


@shows("history")
def show_history(events: Sequence[HistoryEvent]) -> None:
    """Show what happened to a memory, a line for each event."""
    for event in events:
        moved = f"{event.old_status or 'new'} → {event.new_status}" if event.new_status else ""
        changed = [
            _changed(name, old, new)
            for name, (old, new) in event.changes.items()
            if not name.endswith((GAINED, LOST))
        ]
        act = f"act {short(event.act)}" if event.act else ""
        what = "; ".join(part for part in (moved, ", ".join(changed), event.reason, act) if part)
        first = f"{dim(minute(event.at))}  {event.action:<10}  by {one_line(event.actor.name)}  "
        out(indented(first, one_line(what), indent=_UNDER_HISTORY).rstrip())


def _changed(name: str, old: object, new: object) -> str:
    """Return what became of a field; one that was empty before has no old value to show."""
    field = name.replace("_", " ")
    if new is None:
        return f"no {field}" if old is None else f"no {field} any more"
    return f"{field} {_told(new)}" if old is None else f"{field} {_told(old)} → {_told(new)}"


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return _told_text(value)
    return str(value)


def _told_text(text: str) -> str:
    """Return a moment to the minute, an id by its end, and any other text as it is."""
    if len(text) == ID_LENGTH and text.count("-") == 4:
        return short(text)
    if "T" in text and text[:4].isdigit():
        with suppress(ValueError):
            return minute(datetime.fromisoformat(text))
    return text


@shows("evidence")
def show_evidence(found: Support) -> None:
    """Show the statement, its other wordings, and the messages that it was read from."""
    out(one_line(readable(found.memory)))
    for title, lines in (
        ("also said as", [(one.id, one.stated_at, readable(one)) for one in found.wordings]),
        ("said in", [(one.id, one.occurred_at, one.content) for one in found.turns]),
    ):
        for number, (name, at, text) in enumerate(lines):
            first = f"{'' if number else title:<12}{short(name)}  {dim(minute(at))}  "
            out(indented(first, one_line(text), indent=_UNDER))
    if not found.wordings:
        talk("Nothing else says the same.")


@shows("link")
def show_link(edge: Edge) -> None:
    """Show one link."""
    out(_link_words(edge))


@runs("unlink")
def unlink(run: Run) -> None:
    """Remove a link and return whether it was there."""
    run.present(
        run.answer().was_there,
        lambda was: out("removed" if was else "there was no such link of that type (--as chooses another)"),
    )


@runs("links")
def links(run: Run) -> None:
    """Show the links of a memory with the words at both ends."""
    with run.open() as engram:
        edges: Sequence[Edge] = run.call(engram)
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        texts = {end: readable(engram.get(end)) for end in ends}

    def show(edges: Sequence[Edge]) -> None:
        for edge in edges:
            out(f"{_link_words(edge)}  {one_line(texts[edge.source])} → {one_line(texts[edge.target])}")
        if not edges:
            out("nothing")

    run.present(edges, show)


def _link_words(edge: Edge) -> str:
    return f"{short(edge.source)} {edge.type} {short(edge.target)}"


@runs("erase", click.Option(["--yes"], is_flag=True, help="Do it without asking."))
def erase(run: Run) -> None:
    """Erase a memory, or everything of `--user`, after a person has agreed."""
    user = run.shared.user if run.asked.id is None else None
    asked = replace(run.asked, user=user)
    if asked.id is None and user is None:
        raise InvalidQuery("there is nothing to erase", hint="Give a memory's id, or --user NAME.")
    with run.open() as engram:
        if not asked.dry_run and not run.extra["yes"]:
            _ask(replace(asked, dry_run=True).call(engram))
        done: Erasure = asked.call(engram)

    run.present(done, show_erased)
    if not done.dry_run and not done.is_file_clean:
        talk(warning(f"The words are erased, but the file may still hold their bytes: {done.why}"))
        again = f"erase --user {done.token}" if done.token else "erase the same"
        talk(f"hint: Close what else has the store open, and {again} again.")
        raise click.exceptions.Exit(FAILED)


def _ask(would: Erasure) -> None:
    """Say what would go, and go on only if a person says so."""
    if not sys.stdin.isatty():
        raise InvalidQuery("erasing cannot be undone", hint="Say --yes, or --dry-run to see what would go.")
    talk(_erased_words("This would erase", would))
    for file in would.files:
        talk(_file_words(file, dry_run=True))
    if not click.confirm("It cannot be undone. Go on?", err=True):
        raise click.Abort


def show_erased(done: Erasure) -> None:
    """Show what was or would be erased."""
    out(_erased_words("would erase" if done.dry_run else "erased", done))
    if done.token:
        out(f"{bold(done.token)} stands in the place of the user's name")
    for file in done.files:
        out(_file_words(file, dry_run=done.dry_run))
    if done.mentions:
        held = counted(len(done.mentions), "other thing mentions", "other things mention")
        out(warning(f"{held} it and {'would stay' if done.dry_run else 'stayed'}:"))
    for one in done.mentions[:SHOWN_MENTIONS]:
        out(f"  {one.kind} {bold(short(one.id))} in {one_line(str(one.scope))}")
    if len(done.mentions) > SHOWN_MENTIONS:
        out(f"  and {len(done.mentions) - SHOWN_MENTIONS:,} more")
    if done.mentions and not done.scopes:
        out(dim("  --mentions erases these as well"))


def _file_words(file: ErasedFile, *, dry_run: bool) -> str:
    """Return a line on what became of a file that we wrote."""
    would = "would be " if dry_run and file.outcome is not FileOutcome.NAMED else ""
    about = f": {one_line(file.why)}" if file.why else ""
    line = f"  {would}{file.outcome}  {file.kind} {one_line(file.path)}{about}"
    return warning(line) if file.outcome is FileOutcome.NAMED else line


def _erased_words(did: str, found: Erasure) -> str:
    went = (
        (len(found.memories), "memory", "memories"),
        (found.turns, "message", "messages"),
        (found.gaps, "open question", "open questions"),
        (found.working_memories, "agent's working memory", "agents' working memories"),
        (found.scopes, "scope", "scopes"),
        (found.mentions_erased, "mention", "mentions"),
    )
    named = [counted(*one) for one in went if one[0]]
    return f"{did} {', '.join(named) or 'nothing: there is nothing left'}"
