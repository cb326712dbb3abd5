"""What a caller may do with its token."""

from __future__ import annotations

import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.acting import acting_as
from engramdb.engine.auditing import ACTIONS, unwrapped
from engramdb.engine.engram import Engram
from engramdb.errors import AccessDenied, TooManySearches, UserNotFound
from engramdb.http.auth import caller
from engramdb.http.events import reporter
from engramdb.http.requests import first_attempt_at, refuse
from engramdb.values import (
    Action,
    Actor,
    ActorKind,
    AuditEvent,
    Erasure,
    ImportReport,
    Memory,
    Scope,
    Turn,
)
from engramdb.vault.disclosure import Audience, disclose
from engramdb.verbs.table import VERBS, verbs_of_engine
from engramdb.verbs.verb import ScopeRule, Verb, fields_of

if TYPE_CHECKING:
    from engramdb.http.telemetry import Spans
    from engramdb.http.tokens import Caller, RefusedToken
    from engramdb.lifecycle.drafts import Draft

_CHANGES: Final = "changes"
"""The method that is no verb: the feed of events, which reads."""
TOO_MANY, READ_ONLY = "too_many", "read_only"
"""Reasons in the audit."""
_IMPORT: Final = "import_text"
_OF_DRAFTS: Final = "remember_many"
"""The method whose drafts carry the scope that others take as an argument."""


def note_refusal(engram: Engram, refused: RefusedToken) -> None:
    """Audit that nobody was let in with what was shown."""
    engram.note_denial(Action.AUTHENTICATE, actor=refused.actor, scope=refused.scope, reason=refused.reason)


class SearchLimiter:
    """
    Counts what each agent's token asks within a minute: scores tell a patient prober what is stored.

    A person's token, the owner's and a server without tokens are not limited. A client of MCP is an agent,
    whoever its token was made for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def count(self, who: Caller, action: Action) -> None:
        """Count one call; raises where the token has asked too often."""
        is_agent = who.actor.kind is ActorKind.AGENT and who.actor.token is not None and not who.is_owner
        is_counted = action.is_search and is_agent
        if not (is_counted and self._most):
            return
        minute = int(time.monotonic() // 60)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[who.key] += 1
            is_over = self._counts[who.key] > self._most
        if is_over:
            raise TooManySearches(f"more than {self._most} searches within a minute")


class CallersEngram:
    """An engine whose verbs are held to what the caller may do."""

    def __init__(
        self, engram: Engram, *, spans: Spans | None = None, searches: SearchLimiter | None = None
    ) -> None:
        self._engram = engram
        self._spans = spans
        self._searches = searches or SearchLimiter(engram.settings.searches_per_minute)

    @property
    def scope(self) -> Scope:
        """The scope that a request works in unless it names another."""
        return caller().scope if caller().is_limited else self._engram.scope

    @property
    def actor(self) -> Actor:
        """Who makes the request, as its token says."""
        return caller().actor

    @property
    def capture(self) -> _CallersCapture:
        """The verbs for what agents produce."""
        return _CallersCapture(self, self.shown.capture)

    @property
    def shown(self) -> Engram:
        """The engine as the caller may see it: like an agent, with secrets only where its token says so."""
        return self._engram.shown_to(Audience.AGENT, may_see_secrets=caller().may_see_secrets)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.shown, name)
        return partial(self.call, name, Engram, found) if callable(found) else found

    def call(
        self, verb: str, owner: type, act: Callable[..., Any], /, *arguments: Any, **options: Any
    ) -> Any:
        """Carry a verb out as the caller may."""
        takes = _parameters(owner, verb)
        allowed = self._permitted(verb, arguments, options, takes=takes)
        if (listening := reporter()) is not None and "progress" in takes:
            allowed.setdefault("progress", listening)
        with self._spans.of_verb(verb) if self._spans else nullcontext(), acting_as(caller().actor):
            return act(*arguments, **allowed)

    def _permitted(
        self, verb: str, arguments: Sequence[Any], options: Mapping[str, Any], *, takes: Collection[str]
    ) -> dict[str, Any]:
        """Return the options with which the caller may use a verb; audits and raises where it may not."""
        who, action = caller(), ACTIONS.get(verb, Action.INSIGHT)
        try:
            self._searches.count(who, action)
            return permitted(verb, arguments, options, takes=takes, who=who)
        except (AccessDenied, TooManySearches) as exc:
            reason = exc.reason if isinstance(exc, AccessDenied) else TOO_MANY
            self._engram.note_denial(action, actor=who.actor, scope=who.scope, reason=reason)
            raise

    def audit(self, **options: Any) -> Sequence[AuditEvent]:
        """Return who did what; a limited caller sees what was done in exactly its scope."""
        found: Sequence[AuditEvent] = self.call(
            "audit", Engram, self._engram.audit, exact=caller().is_limited, **options
        )
        return found

    def observe(self, content: str, **options: Any) -> Turn:
        """Store one message; one that a first attempt of the request has stored is not stored again."""
        allowed = self._permitted("observe", (content,), options, takes=_parameters(Engram, "observe"))
        since = first_attempt_at()
        if since is not None:
            place = allowed.get("scope") or self.scope
            session = allowed.get("session")
            found = self._engram.replies.observed(content, since=since, scope=place, session=session)
            if found is not None:
                return disclose(found, Audience.AGENT)
        stored: Turn = self.call("observe", Engram, self.shown.observe, content, **options)
        return stored

    def import_text(self, name: str, text: str, **options: Any) -> ImportReport:
        """Import a text, without records that belong to scopes out of the caller's reach."""
        if caller().is_limited:
            options["may_enter"] = partial(reaches, caller())
        report: ImportReport = self.call(
            "import_text", Engram, self._engram.import_text, name, text, **options
        )
        return report

    def erase(self, *arguments: Any, **options: Any) -> Erasure:
        """Erase; who is limited to a scope is not told which users there are, nor where files lie."""
        try:
            done: Erasure = self.call("erase", Engram, self._engram.erase, *arguments, **options)
        except UserNotFound as exc:
            raise UserNotFound(exc.message, hint=None if caller().is_limited else exc.hint) from None
        if not caller().is_limited:
            return done
        return replace(done, files=tuple(replace(one, path="", why="") for one in done.files))

    def remember_many(self, drafts: Iterable[Draft]) -> list[Memory]:
        """Store many statements, each in a scope that the caller may write to."""
        checked = (_in_reach(draft, caller()) for draft in drafts)
        stored: list[Memory] = self.call("remember_many", CallersEngram, self.shown.remember_many, checked)
        return stored


class ReadOnlyTokens:
    """
    ASGI middleware that refuses a write by a token that may only read, before any of its body is read.

    What can be rehearsed is looked at later, when it is known whether it is; an import is refused in either
    case, since reading a stranger's file is what costs.
    """

    def __init__(self, app: ASGIApp, *, engram: Engram) -> None:
        self._app = app
        self._engram = engram
        self._writes = {
            one.http.path: one
            for one in VERBS.values()
            if one.http is not None and one.writes and one.http.method == "POST" and not _may_rehearse(one)
        }

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        verb = self._writes.get(scope["path"]) if scope["type"] == "http" else None
        if verb is None or scope["method"] != "POST" or not caller().is_read_only:
            await self._app(scope, receive, send)
            return
        await run_in_threadpool(self._note_denial, verb)
        await refuse(403, _may_only_read(verb.name))(scope, receive, send)

    def _note_denial(self, verb: Verb) -> None:
        who, action = caller(), ACTIONS.get(verb.method, Action.REMEMBER)
        self._engram.note_denial(action, actor=who.actor, scope=who.scope, reason=READ_ONLY)


def _may_rehearse(verb: Verb) -> bool:
    return verb.name != _IMPORT and any(one.name == "dry_run" for one in fields_of(verb.request))


def _may_only_read(verb: str) -> AccessDenied:
    return AccessDenied(
        f"the token may only read, and {verb} writes",
        hint="Use a token that may write.",
        reason=READ_ONLY,
    )


class _CallersCapture:
    """Further verbs of the engine, held to the same."""

    def __init__(self, engram: CallersEngram, capture: object) -> None:
        self._engram = engram
        self._capture = capture

    def __getattr__(self, name: str) -> Any:
        act = getattr(self._capture, name)
        return partial(self._engram.call, name, type(unwrapped(self._capture)), act)


def permitted(
    verb: str, arguments: Sequence[Any], options: Mapping[str, Any], *, takes: Collection[str], who: Caller
) -> dict[str, Any]:
    """Return the options with which this caller may use a verb; raises where it may not."""
    declared = verbs_of_engine().get(verb)
    if who.is_read_only and _writes(verb, declared, options):
        raise _may_only_read(verb)
    if not who.is_limited:
        return dict(options)
    if _reaches_beyond(verb, declared, options, takes=takes) or _erases_beyond(verb, options, who):
        raise AccessDenied(
            f"{verb} reaches beyond the token's scope",
            hint="Use a token that is limited to no scope.",
            reason="whole_store",
        )
    if "scope" not in takes:
        return dict(options)
    place = _place(declared, arguments, options, who)
    if not reaches(who, place):
        raise _elsewhere()
    return {**options, "scope": place}


def reaches(who: Caller, named: Scope) -> bool:
    """
    Return whether a limited caller may name a scope: its own, or one that only adds names below its lowest.

    A project's token may name a user, if it was made so; a user's token may never name a project, whose
    memories it would then see.
    """
    if named == who.scope:
        return True
    lowest = _lowest(who)
    return who.may_narrow and named.parts[: lowest + 1] == who.scope.parts[: lowest + 1]


def _writes(verb: str, declared: Verb | None, options: Mapping[str, Any]) -> bool:
    """Return whether a call changes anything; what is not declared does."""
    return verb != _CHANGES if declared is None else declared.is_write(options)


def _place(declared: Verb | None, arguments: Sequence[Any], options: Mapping[str, Any], who: Caller) -> Scope:
    """Return the scope that a call works in: the one named, else the token's, and the agent named in it."""
    named: Scope | None = options.get("scope")
    place = who.scope if named is None else named
    if declared is None or declared.scope is not ScopeRule.AGENT:
        return place
    agent = arguments[0] if arguments else options.get("agent")
    return place if agent is None else replace(place, agent=agent)


def _reaches_beyond(
    verb: str, declared: Verb | None, options: Mapping[str, Any], *, takes: Collection[str]
) -> bool:
    """Return whether a call would look at more than one scope; what is not declared does."""
    is_known = declared is not None or verb == _CHANGES
    is_of_store = declared is not None and declared.scope is ScopeRule.STORE
    is_held = "scope" in takes or verb == _OF_DRAFTS
    return bool(options.get("everywhere")) or is_of_store or not (is_known and is_held)


def _erases_beyond(verb: str, options: Mapping[str, Any], who: Caller) -> bool:
    """
    Return whether a person would be erased outside of what the caller reaches.

    Erasing takes every scope of that name inside the one given. All of those are below a token whose scope
    has no open place above its lowest name, such as a project's; a user's token leaves the project open.
    """
    user = options.get("user")
    if verb != "erase" or user is None:
        return False
    place: Scope = options.get("scope") or who.scope
    lowest = _lowest(who)
    return None in who.scope.parts[:lowest] or not reaches(who, replace(place, user=user))


def _lowest(who: Caller) -> int:
    return max(place for place, name in enumerate(who.scope.parts) if name is not None)


def _in_reach(draft: Draft, who: Caller) -> Draft:
    if who.is_limited and not reaches(who, draft.scope):
        raise _elsewhere()
    return draft


def _elsewhere() -> AccessDenied:
    hint = "Leave the scope out, or use a token that reaches it."
    return AccessDenied("the scope is not the token's", hint=hint)


@cache
def _parameters(owner: type, verb: str) -> frozenset[str]:
    found = getattr(owner, verb, None)
    return frozenset(inspect.signature(found).parameters) if callable(found) else frozenset()
