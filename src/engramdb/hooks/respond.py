"""
What is done for each event: give context, keep what was said, and afterwards read it.

The agent waits for `answer` and `keep`; `afterwards` is the slow part and happens when it has gone on.
Keeping is by marks in the store: an event told twice, by two hooks at once or after a resumed session,
adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import PurePath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from engramdb.capture.actions import CANCELLED, FAILED, SUCCEEDED, TaskReport, is_run_record
from engramdb.context.budget import Measure, fill_section
from engramdb.context.lines import BLOCK, NOTICE, frame_block
from engramdb.context.sections import recalled_candidates
from engramdb.engine.engram import Engram
from engramdb.hooks import events, filters, transcript
from engramdb.hooks.events import CLAUDE_CODE, CODEX, OPENCODE, AgentProgram, HookEvent
from engramdb.hooks.state import DeliveredLines
from engramdb.importing.chat_exports import words_of_blocks
from engramdb.importing.source import SourceMessage
from engramdb.models.capabilities import counter_for
from engramdb.settings import Settings
from engramdb.text.mentions import mentions
from engramdb.text.pii_patterns import without_credentials
from engramdb.text.terms import terms
from engramdb.text.tokens import USUAL
from engramdb.values import Hit, ImportKind, Memory, Role, SectionName, Turn

MAX_HITS: Final = 10
FITS: Final = 0.25
"""What fits a prompt no better is chance with the built-in embedder: the best of strangers reached 0.23."""
NEAR_BEST: Final = 0.5
"""Nor is less than this share of the best given: among hundreds of memories chance reaches further."""
LONG_CHARACTERS: Final = 150
"""A prompt of several sentences fits everything less, most of all with `e5-small`."""
MAY_FIT: Final = 0.08
"""Enough where the prompt names what the memory names, or is long and one memory stands out."""
STANDS_OUT: Final = 2.0
"""How many times better than the next one a memory that stands out fits: strangers come in crowds."""


def fitting(prompt: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are about what the prompt is about, in their order."""
    words = frozenset(terms(prompt))
    floor = max(FITS, NEAR_BEST * max((hit.trust.relevance for hit in hits), default=0.0))
    sure = [hit for hit in hits if hit.trust.relevance >= floor or _is_named(hit, words)]
    return sure or (_standing_out(hits) if len(prompt) >= LONG_CHARACTERS else [])


def _is_named(hit: Hit, words: Set[str]) -> bool:
    """Return whether the prompt names a person or thing that the memory names: chance seldom does."""
    if hit.trust.relevance < MAY_FIT:
        return False
    names = (frozenset(terms(mention.text)) for mention in mentions(hit.memory.content))
    return any(name and name <= words for name in names)


def _standing_out(hits: Sequence[Hit]) -> list[Hit]:
    """Return the one hit that is far ahead of the others, if there is one."""
    if not hits:
        return []
    best, *others = sorted(hits, key=lambda hit: -hit.trust.relevance)
    next_best = others[0].trust.relevance if others else 0.0
    return [best] if best.trust.relevance >= max(MAY_FIT, STANDS_OUT * next_best) else []


def memory_block(engram: Engram, prompt: str, *, session: str, tokens: int) -> str:
    """Return the memories that fit a prompt, framed as data, within a token budget."""
    found = engram.recall(prompt, limit=MAX_HITS, session=session, turns=False).hits
    hits = fitting(prompt, [hit for hit in found if _says_something(hit.memory)])
    measure = Measure(counter_for(USUAL))
    budget = tokens - measure.of(frame_block(" ", tag=BLOCK, notice=NOTICE))
    section, _ = fill_section(SectionName.RECALLED, recalled_candidates(hits), budget, measure=measure)
    return "" if section is None else frame_block(section.text, tag=BLOCK, notice=NOTICE)


def _says_something(memory: Memory) -> bool:
    """Return whether a memory states anything by itself: no count of runs, no summary of what is stored."""
    return not is_run_record(memory) and not memory.is_session_summary


SESSION_TOKENS: Final = 1200
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
_UNNAMED = "the work at hand"


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
        return delivered.filter_new([*(_standing(visit) if is_first else ()), *_fitting(visit, prompt)])
    return ""


def keep(visit: HookVisit) -> Sequence[Turn]:
    """Store what was said and return the turns that are new."""
    event = visit.event
    if event.name == events.TOOL_USED:
        key = f"tool/{event.tool_use or event.moment}"
        told = _task(event) if event.tool in visit.program.task_tools else _command(event, visit.program)
        messages = [_message(visit, told, role=Role.TOOL, key=key)] if told else []
    elif event.name == events.SESSION_START:
        messages = []
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
    return "" if visit.program.begins_with_prompt else delivered.filter_new(_standing(visit))


def _standing(visit: HookVisit) -> Sequence[str]:
    """
    Return what stands, what was stored today and what fits the folder, for a session that begins.

    What sessions that were never ended have left unread is read first, unless a chat model has to do that.
    """
    if not visit.settings.chat:
        visit.engram.flush()
    topic = PurePath(visit.event.folder).name or _UNNAMED
    window = visit.engram.context(topic, budget=SESSION_TOKENS, history=(), session=visit.session)
    return [block for block in (window.standing, window.present) if block]


def _fitting(visit: HookVisit, prompt: str) -> Sequence[str]:
    """Return what fits a prompt; one that holds nothing but memories asks for none."""
    if not prompt:
        return ()
    found = memory_block(visit.engram, prompt, session=visit.session, tokens=PROMPT_TOKENS)
    return [found] if found else ()


def _middle_left_out(prompt: str) -> str:
    """Return a prompt to ask with: people ask before or after what they paste."""
    half = ASKED_CHARACTERS // 2
    return prompt if len(prompt) <= ASKED_CHARACTERS else f"{prompt[:half]}\n{prompt[-half:]}"


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
