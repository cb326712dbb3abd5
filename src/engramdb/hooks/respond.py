"""
What is done for each event: give context, keep what was said, and afterwards read it.

The agent waits for `answer` and `keep`; `afterwards` is the slow part and happens when it has gone on.
Keeping is by marks in the store: an event told twice, by two hooks at once or after a resumed session,
adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture.actions import CANCELLED, FAILED, SUCCEEDED, TaskReport
from engramdb.context.budget import Measure, fill_section
from engramdb.context.fitting import fitting
from engramdb.context.lines import BLOCK, NOTICE, frame_block
from engramdb.context.sections import premise_notes, question_line, recalled_candidates
from engramdb.engine.engram import Engram
from engramdb.hooks import events, filters, transcript
from engramdb.hooks.events import CLAUDE_CODE, CODEX, OPENCODE, AgentProgram, HookEvent
from engramdb.hooks.state import DeliveredLines
from engramdb.importing.chat_exports import words_of_blocks
from engramdb.importing.source import SourceMessage
from engramdb.models.capabilities import counter_for
from engramdb.settings import Settings
from engramdb.text.compactions import plain_summary
from engramdb.text.pii_patterns import without_credentials
from engramdb.text.tokens import USUAL
from engramdb.values import ImportKind, MemoryId, Role, SectionName, Turn
from engramdb.values.window import BRIEF_TOKENS
from engramdb.vault.disclosure import Audience

MAX_HITS: Final = 10
QUESTION_TOKENS: Final = 120
"""What an open question may take; with less left, none is brought up."""


class GivenBlock(Struct, frozen=True):
    """Memories to put before the agent: a block of lines, and which memories they are."""

    text: str
    memories: Sequence[MemoryId]


def memory_block(
    engram: Engram, prompt: str, *, session: str, tokens: int, is_known: Callable[[MemoryId], bool]
) -> GivenBlock | None:
    """Return the memories that fit a prompt and are not known there, framed as data, within a budget."""
    answer = engram.shown_to(Audience.PROMPT).recall(prompt, limit=MAX_HITS, session=session, turns=False)
    hits = [hit for hit in fitting(prompt, answer.hits) if not is_known(hit.memory.id)]
    notes = "\n".join(premise_notes(answer.premises))
    measure = Measure(counter_for(USUAL))
    budget = tokens - measure.of(frame_block(f"{notes} ", tag=BLOCK, notice=NOTICE))
    section, _ = fill_section(SectionName.RECALLED, recalled_candidates(hits), budget, measure=measure)
    told = "\n".join(part for part in (notes, section.text if section else "") if part)
    if not told:
        return None
    given = [held.memory_id for held in section.holds] if section else []
    if given and budget - measure.of(told) >= QUESTION_TOKENS:
        asked = engram.questions_about(given, session=session, limit=1)
        told = "\n".join([told, *(question_line(gap) for gap in asked)])
    return GivenBlock(frame_block(told, tag=BLOCK, notice=NOTICE), given)


SESSION_TOKENS: Final = BRIEF_TOKENS
PROMPT_TOKENS: Final = 800
"""Budgets for memories; Claude Code takes 10,000 characters of a hook whole, about twice the larger."""
MAX_CHARACTERS: Final = 16_000
"""How much of a message is kept: what is longer is mostly a pasted log."""
ASKED_CHARACTERS: Final = 4000
"""How much of a prompt is searched with; measuring a pasted log would take longer than answering."""
MAX_MISSED: Final = 20
"""How many messages that no hook was told of are caught up on, such as after an interruption."""
_KINDS = {CODEX.name: ImportKind.CODEX, OPENCODE.name: ImportKind.OPENCODE}
_FRESH_SOURCES = frozenset({"startup", "clear", "compact", ""})


class HookVisit(Struct, frozen=True, kw_only=True):
    """An event that an opened engine is to answer."""

    engram: Engram
    settings: Settings
    event: HookEvent
    program: AgentProgram = CLAUDE_CODE
    is_by_folder: bool = False
    """Whether the folder chooses the project, so that what was said in another one stays there."""

    @property
    def session(self) -> str:
        """The session as an import of its log would call it."""
        return f"{self.program.name}:{self.event.session}"


def answer(visit: HookVisit) -> str:
    """Return the memories to put before the agent, or nothing."""
    event = visit.event
    if event.name == events.SESSION_START:
        return _beginning(visit)
    if event.name == events.PROMPT:
        delivered = DeliveredLines(visit.settings, event.session)
        prompt = _middle_left_out(filters.without_memories(event.prompt))
        is_first = visit.program.begins_with_prompt and delivered.is_empty
        standing = _standing(visit) if is_first else None
        return _give(delivered, standing, _fitting(visit, prompt, delivered))
    return ""


def _give(delivered: DeliveredLines, *blocks: GivenBlock | None) -> str:
    """Return what of some blocks a session has not been given, and note that it now has."""
    given = [block for block in blocks if block is not None]
    memories = [memory_id for block in given for memory_id in block.memories]
    return delivered.filter_new([block.text for block in given], memories=memories)


def keep(visit: HookVisit) -> Sequence[Turn]:
    """Store what was said and return the turns that are new."""
    event = visit.event
    if event.name == events.TOOL_USED:
        key = f"tool/{event.tool_use or event.moment}"
        told = _task(event) if event.tool in visit.program.task_tools else _command(event, visit.program)
        messages = [_message(visit, told, role=Role.TOOL, key=key)] if told else []
    elif event.name == events.SESSION_START:
        messages = _compaction(visit)
    else:
        messages = _spoken(visit)
    return visit.engram.hear(
        _worth_keeping(messages),
        # Gemini CLI has no importer to agree with; the session in a key tells its messages from all others
        kind=_KINDS.get(visit.program.name, ImportKind.CLAUDE_CODE),
        most_characters=MAX_CHARACTERS,
        # of a tool we read no log, so each use has but the key that its event gave it
        is_logged=visit.program.has_readable_log and event.name != events.TOOL_USED,
    )


def afterwards(visit: HookVisit, turns: Sequence[Turn]) -> None:
    """Read what is due; at the end of a conversation, or before it is compacted, all of it."""
    if visit.event.name == events.SESSION_END:
        visit.engram.end_session(visit.session)
    elif visit.event.name == events.COMPACTING:
        visit.engram.flush(session=visit.session)
    else:
        visit.engram.read_due(turns)


def _beginning(visit: HookVisit) -> str:
    """Return what a session begins with; one that is resumed has it in its conversation."""
    if visit.event.source not in _FRESH_SOURCES:
        return ""
    delivered = DeliveredLines(visit.settings, visit.event.session)
    delivered.reset()
    return "" if visit.program.begins_with_prompt else _give(delivered, _standing(visit))


def _standing(visit: HookVisit) -> GivenBlock | None:
    """
    Return what a session begins with: rules, what stands, what matters most.

    What sessions that were never ended have left unread is read first, unless a chat model has to do that.
    """
    if not visit.settings.chat:
        visit.engram.flush()
    brief = visit.engram.brief(budget=SESSION_TOKENS, session=visit.session)
    return GivenBlock(brief.text, brief.memories) if brief.text else None


def _fitting(visit: HookVisit, prompt: str, delivered: DeliveredLines) -> GivenBlock | None:
    """Return what fits a prompt; one that holds nothing but memories asks for none."""
    if not prompt:
        return None
    return memory_block(
        visit.engram, prompt, session=visit.session, tokens=PROMPT_TOKENS, is_known=delivered.has_memory
    )


def _middle_left_out(prompt: str) -> str:
    """Return a prompt to ask with: people ask before or after what they paste."""
    half = ASKED_CHARACTERS // 2
    return prompt if len(prompt) <= ASKED_CHARACTERS else f"{prompt[:half]}\n{prompt[-half:]}"


def _compaction(visit: HookVisit) -> list[SourceMessage]:
    """Return the summary that a session goes on with after it was compacted, as the agent's own words."""
    event = visit.event
    if event.source != "compact":
        return []
    if event.summary:
        key, told = event.moment, event.summary
    else:
        lines = transcript.tail(event.transcript) if visit.program.has_readable_log else []
        ours = transcript.of_project(lines, event.folder) if visit.is_by_folder else lines
        key, told = transcript.compaction(ours)
    words = plain_summary(told)
    named = f"compaction/{event.session}/{key}"
    return [_message(visit, words, role=Role.ASSISTANT, key=named)] if words else []


def _spoken(visit: HookVisit) -> list[SourceMessage]:
    """Return what the log holds lately, and behind it what the event tells and the log does not yet."""
    event = visit.event
    lines = transcript.tail(event.transcript) if visit.program.has_readable_log else []
    ours = transcript.of_project(lines, event.folder) if visit.is_by_folder else lines
    messages = transcript.said(ours, session=visit.session)[-MAX_MISSED:]
    told = {_words(one.content) for one in messages[-2:]}
    after = transcript.last_key(lines) or event.moment
    if (
        event.name == events.PROMPT
        and filters.is_typed(event.prompt)
        and not _ends_with(messages, event.prompt)
    ):
        key = after if visit.program.names_messages else f"prompt/{event.session}/{after}"
        messages.append(_message(visit, event.prompt, role=Role.USER, key=key))
    elif event.name == events.STOPPED and event.reply and _words(event.reply) not in told:
        key = after if visit.program.names_messages else f"reply/{event.session}/{after}"
        messages.append(_message(visit, event.reply, role=Role.ASSISTANT, key=key))
    return messages


def _ends_with(messages: Sequence[SourceMessage], prompt: str) -> bool:
    """Return whether a log has the prompt already: some versions of the program write it first."""
    last = messages[-1] if messages else None
    return last is not None and last.role is Role.USER and _words(last.content) == _words(prompt)


def _worth_keeping(messages: Sequence[SourceMessage]) -> list[SourceMessage]:
    """Return the messages without what came from memory, and without those that hold nothing else."""
    plain = [replace(one, content=filters.without_memories(one.content)) for one in messages]
    return [
        one for one in plain if one.content and (one.role is not Role.USER or filters.is_typed(one.content))
    ]


def _message(visit: HookVisit, content: str, *, role: Role, key: str) -> SourceMessage:
    return SourceMessage(content=content, place=transcript.PLACE, role=role, key=key, session=visit.session)


def _command(event: HookEvent, program: AgentProgram) -> str:
    run = filters.command_run(event, program)
    return "" if run is None else without_credentials(run.told)


def _task(event: HookEvent) -> str:
    """Return how the task of a helper ended, in a sentence; what it found out is in its first words."""
    task, said = event.tool_input.get("description"), event.tool_response.get("content")
    result = event.error or words_of_blocks(said) or ""
    if not isinstance(task, str) or not task.strip() or not result.strip():
        return ""
    outcome = CANCELLED if event.is_interrupted else FAILED if event.error else SUCCEEDED
    return without_credentials(TaskReport(task=task, result=result, outcome=outcome).told)


def _words(text: str) -> str:
    return " ".join(text.split())
