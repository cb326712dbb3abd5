"""Verbs for turns and conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from engramdb.capture import agents
from engramdb.capture.agents import task_result
from engramdb.capture.pipeline import observe
from engramdb.engine.assemble import Parts
from engramdb.engine.built import built, is_built
from engramdb.engine.contexts import TURNS_MOST, Contexts, fixed_text
from engramdb.engine.handle import Handle
from engramdb.engine.minds import Agents
from engramdb.engine.turns import TURNS, AgentTurn, Expected, Surroundings, TurnKind, TurnRequest
from engramdb.errors import EngramError, InvalidScope, SecurityError
from engramdb.importing.intake import mark_of
from engramdb.importing.record import Message
from engramdb.lifecycle.change import count_run
from engramdb.lifecycle.drafts import Draft, chosen
from engramdb.store import contract
from engramdb.store.contract import Transaction
from engramdb.store.contract.whole import PartTally
from engramdb.text.normalize import clean, is_text
from engramdb.values import (
    Actor,
    ImportKind,
    Memory,
    Outcome,
    Recall,
    Scope,
    Turn,
    Window,
    WorkingItem,
    WorkingLine,
    WorkingMemory,
    new_id,
)

# The verbs for whoever listens in on a conversation that goes on elsewhere: keep each message once, read
# later.
#
# Part of `Engram`; used by the hooks of agents. A message has the mark that an import of the same session log
# would give it, so a log may be imported as well and adds nothing. Storing and reading are apart, because an
# agent waits for the one and not for the other.

TURNS_LOOKED_AT = 400
"""So many turns of a session are compared with what is heard of it."""


class Hearing(Handle):
    """Verbs that take in a conversation while it goes on."""

    def hear(
        self,
        messages: Sequence[Message],
        *,
        kind: ImportKind = ImportKind.CLAUDE_CODE,
        most_characters: int | None = None,
        is_logged: bool = True,
        scope: Scope | None = None,
    ) -> Sequence[Turn]:
        """
        Keep messages of one session, oldest first, each once, and return the turns that are new.

        They are durable when this returns; what they state is read out of them by `read_due` or `flush`. A
        message is known by its key, and also by its words where the session holds them already without that
        key: an agent tells of a prompt before its log does. Where nothing is logged (`is_logged`), only the
        key counts, so that the same words said later are kept too. One that cannot be stored is passed over,
        and of one that is too long for `most_characters` the beginning is kept.
        """
        place = self._in(scope)
        turns: list[Turn] = []
        if not messages:
            return turns
        marked = {mark_of(kind, one, place): _cut(one, most_characters) for one in messages}
        with self._parts.health.watch("write"), self._parts.store.atomic() as tx:
            noted = []
            held = _stored(tx, messages[0].session, place) if is_logged else {}
            for mark, message, twin in _unknown(tx, marked, held):
                turn = twin or self._heard_turn(message, place)
                if turn is None:
                    continue
                if twin is None:
                    turns.append(turn)
                noted.append(contract.Imported(mark=mark, kind=kind, place=message.place, turn_id=turn.id))
            tx.imports.add(noted, at=self._now())
        return turns

    def read_due(self, turns: Sequence[Turn]) -> None:
        """Read out of turns that `hear` has kept what is due: a strong signal, or enough that waits."""
        for turn in turns:
            self._listener.heard(turn)

    def note_success(self, part: str) -> None:
        """Note for `status` that a part outside the engine has worked; written when the store is closed."""
        with self._parts.health.watch(part):
            return

    def note_failures(self, part: str, *, count: int, last: datetime, why: str) -> None:
        """Note for `status` how often a part outside the engine has failed, when last, and why then."""
        tally = PartTally(name=part, last_failure=last, failure=why, failures=count)
        with self._parts.store.atomic() as tx:
            tx.parts.add(tally)

    def _heard_turn(self, message: Message, place: Scope) -> Turn | None:
        """Store a message as a turn; None for one that no policy admits, such as an empty one."""
        try:
            return observe(
                message.content,
                role=message.role,
                speaker=message.speaker,
                session=message.session,
                occurred_at=message.occurred_at,
                scope=place,
                store=self._parts.store,
                policy=self._parts.policy.capture,
                actor=self._actor,
                now=self._now(),
            )
        except SecurityError:
            return None


def _unknown(
    tx: Transaction, marked: Mapping[bytes, Message], held: Mapping[tuple[str, str], Sequence[Turn]]
) -> Iterator[tuple[bytes, Message, Turn | None]]:
    """
    Yield the messages whose marks are not known, each with the turn that holds its words already.

    Turns and messages of the same words are paired off by number: a person may well say "yes" twice.
    """
    known = tx.imports.known(list(marked))
    spoken_for = Counter(_words(message) for mark, message in marked.items() if mark in known)
    for mark, message in marked.items():
        if mark in known:
            continue
        words = _words(message)
        twins = held.get(words, ())
        is_held = len(twins) > spoken_for[words]
        yield mark, message, twins[spoken_for[words]] if is_held else None
        spoken_for[words] += is_held


def _stored(tx: Transaction, session: str | None, place: Scope) -> Mapping[tuple[str, str], Sequence[Turn]]:
    """Return the latest turns of a session by who said what."""
    found: defaultdict[tuple[str, str], list[Turn]] = defaultdict(list)
    if session is not None:
        for turn in tx.turns.list(scope=place, session=session, limit=TURNS_LOOKED_AT):
            found[_words(turn)].append(turn)
    return found


def _cut(message: Message, most: int | None) -> Message:
    return message if most is None else replace(message, content=message.content[:most])


def _words(said: Message | Turn) -> tuple[str, str]:
    """Return who said what, as it is compared: without regard to blanks and to what is never stored."""
    content = clean(said.content) if is_text(said.content) else said.content
    return said.role, " ".join(content.split())


# Doors for what agents produce besides talk: `engram.capture`.
#
# Held by `Engram`; each verb makes drafts of one such thing and hands them to admission, as everything
# else.


class AgentDoors:
    """Compaction summaries, task results, findings and tool runs as memories."""

    def __init__(
        self,
        parts: Parts,
        admit: Callable[[Sequence[Draft]], Sequence[Memory]],
        *,
        scope: Scope,
        actor: Actor,
    ) -> None:
        self._parts = parts
        self._admit = admit
        self._scope = scope
        self._actor = actor

    def compaction(
        self, summary: str, *, session: str | None = None, scope: Scope | None = None
    ) -> Sequence[Memory]:
        """Keep the statements of a summary that took the place of older messages."""
        now = self._parts.clock.now()
        return self._admit(
            agents.compaction(summary, session=session, scope=scope or self._scope, occurred_at=now)
        )

    def task_result(
        self,
        task: str,
        result: str,
        *,
        outcome: Outcome = Outcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep how a task ended."""
        draft = agents.task_result(
            task,
            result,
            outcome=chosen(Outcome, outcome),
            session=session,
            scope=scope or self._scope,
            occurred_at=self._parts.clock.now(),
        )
        return self._admit([draft])[0]

    def finding(
        self,
        statement: str,
        *,
        urls: Sequence[str] = (),
        topic: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Keep something that was found out, with where it was found."""
        now = self._parts.clock.now()
        draft = agents.finding(statement, urls=urls, topic=topic, scope=scope or self._scope, occurred_at=now)
        return self._admit([draft])[0]

    def tool_run(
        self,
        tool: str,
        purpose: str,
        *,
        outcome: Outcome = Outcome.SUCCESS,
        session: str | None = None,
        scope: Scope | None = None,
    ) -> Memory:
        """Count a run of a tool or a flow for a purpose, on one procedural memory."""
        now, ended = self._parts.clock.now(), chosen(Outcome, outcome)
        draft = agents.tool_run(
            tool, purpose, outcome=ended, session=session, scope=scope or self._scope, occurred_at=now
        )
        memory = self._admit([draft])[0]
        return count_run(
            memory.id,
            is_success=ended in (Outcome.SUCCESS, Outcome.PARTIAL),
            store=self._parts.store,
            scope=memory.scope,
            actor=self._actor,
            now=now,
        )


# The verbs around an agent's turns: `turn`, `suspend`, `resume`, `working_memory`.
#
# Part of `Engram`; wires attention to recall, to the window and to the store. An agent is part of its
# scope: two users of one agent, and two agents of one user, have minds of their own. What happens in a
# turn is in `lifecycle`.


class Turns(Contexts):
    """Verbs for whoever runs an agent."""

    def __init__(self, parts: Parts, *, scope: Scope, actor: Actor) -> None:
        super().__init__(parts, scope=scope, actor=actor)
        self._after_turn: Callable[[Scope], object] | None = None
        """Told the scope of every turn that ended well; whoever schedules consolidation sets it."""

    @built
    def _agents(self) -> Agents:
        return Agents(
            self._parts,
            self._listener,
            Surroundings(
                room=self._working_room,
                count=lambda request: self._counter(request.model).most,
                window=self._turn_window,
                given=self._note_given,
                keep_result=self._keep_result,
                look_ahead=self._look_ahead,
                ended=self._turn_ended,
            ),
            actor=self._actor,
        )

    def _let_go(self) -> None:
        super()._let_go()
        if is_built(self, "_agents"):
            self._agents.let_go()

    def turn(
        self,
        message: str,
        *,
        agent: str | None = None,
        model: str | None = None,
        session: str | None = None,
        kind: str = "chat",
        speaker: str | None = None,
        history: Sequence[Turn | Mapping[str, str]] | None = None,
        fixed: str | Sequence[str] = (),
        reserve: int | None = None,
        scope: Scope | None = None,
    ) -> AgentTurn:
        """
        Return one turn of an agent, to be used as `with engram.turn(…) as turn:`, or `async with`.

        On the way in the message is stored, what fits it is recalled, and `turn.window` holds the prompt
        for the `model`. Inside, run the model and hand over what it says with `turn.reply`. On the way out
        that is stored, the agent's working memory is brought up to date and kept, and what follows is
        scheduled. A block that raises, or that replies nothing, leaves the agent's mind as it was. `kind`
        says who calls: chat, task, cron, orchestrator, swarm or flow; the result of all but a chat is
        remembered as well.
        """
        who = chosen(TurnKind, kind)
        place = self._of_agent(agent, scope)
        if session is None and who is not TurnKind.CHAT:
            session = f"{who}-{new_id(self._now())}"
        request = TurnRequest(
            message=message,
            scope=place,
            kind=who,
            agent=place.agent,
            model=model,
            session=session,
            speaker=speaker,
            history=history,
            fixed=fixed,
            reserve=reserve,
        )
        return self._agents.turn(request)

    def suspend(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Keep what an agent has in mind and let go of it here; returns what was kept."""
        place = self._of_agent(agent, scope)
        held = self._agents.in_mind(place)
        self._agents.put_away(place)
        return held

    def resume(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """
        Bring an agent's working memory back, and say in what state.

        After less than four hours it is as it was, after less than a day fainter; after longer the agent
        begins anew with what matters most. What was forgotten meanwhile does not come back. A turn does
        this by itself.
        """
        return self._agents.in_mind(self._of_agent(agent, scope))

    def working_memory(self, agent: str | None = None, *, scope: Scope | None = None) -> WorkingMemory:
        """Return what an agent has in mind now, the most active first."""
        return self._agents.in_mind(self._of_agent(agent, scope))

    def close(self) -> None:
        """Close the turns that are open, put every mind away, and let go of the store."""
        if is_built(self, "_agents"):
            self._agents.close()
        super().close()

    def _of_agent(self, agent: str | None, scope: Scope | None) -> Scope:
        """Return the scope of an agent inside the one given."""
        place = self._in(scope)
        if agent is None or agent == place.agent:
            return place
        if place.agent is not None:
            raise InvalidScope(
                f"agent={agent[:40]!r} is not the agent of the scope, {place.agent[:40]!r}",
                hint="Name the agent once.",
            )
        return replace(place, agent=agent)

    def _working_room(self, request: TurnRequest) -> int:
        """Return how many tokens of the model's window working memory may take."""
        taken = self._taken(request.message, fixed_text(request.fixed), self._counter(request.model))
        budget = self._budget(request.model, budget=None, taken=taken, reserve=request.reserve)
        return int(budget * self._parts.policy.context.working_share)

    def _turn_window(
        self, request: TurnRequest, turn: Turn, told: Sequence[WorkingLine], answer: Callable[[int], Recall]
    ) -> Window:
        history = request.history
        if history is None and request.session is not None:
            with self._parts.store.read() as tx:
                said = tx.turns.list(scope=request.scope, session=request.session, limit=TURNS_MOST)
            history = [one for one in said if one.id != turn.id]
        return self.context(
            request.message,
            model=request.model,
            history=history or (),
            fixed=request.fixed,
            reserve=request.reserve,
            working=told,
            session=request.session,
            scope=request.scope,
            recalled=answer,
        )

    def _note_given(self, request: TurnRequest, held: Sequence[WorkingItem]) -> None:
        """Note that the agent was given these memories, so that its echo of one is not taken for news."""
        self._reads.note(
            [item.memory.id for item in held if item.memory is not None],
            fitting=set(),
            scope=request.scope,
            session=request.session,
            at=self._now(),
            in_background=self._loader is not None,
        )

    def _keep_result(self, request: TurnRequest, result: str) -> None:
        """Remember how a task ended; what admission refuses is noted, for the turn itself is stored."""
        draft = task_result(
            request.message,
            result,
            outcome=Outcome.SUCCESS,
            session=request.session,
            scope=request.scope,
            occurred_at=self._now(),
        )
        try:
            self._admit([draft])
        except EngramError as exc:
            self._parts.health.failed(TURNS, exc)

    def _look_ahead(self, scope: Scope, expected: Expected) -> None:
        if self._loader is not None:
            self._agents.look_ahead(scope, expected)

    def _turn_ended(self, scope: Scope) -> None:
        if self._after_turn is not None:
            self._after_turn(scope)
