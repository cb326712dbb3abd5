"""
Tokens that let callers in: one that the server makes for its owner, and named ones with limits.

Read by the server at every request and written by `engram token`. The owner's token is a file like that of
the MCP server; of a named one only hashes are stored, so it is shown once, when it is made. Tokens are random
and long, so a plain hash is enough. A change of the file counts from the next request on.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from engramdb.clock import Clock, SystemClock
from engramdb.errors import InvalidSettings
from engramdb.values import GLOBAL, Actor, ActorKind, Scope, Surface

OWN_FILE: Final = "http.token"
NAMED_FILE: Final = "tokens.json"
USED_FILE: Final = "tokens.used.json"
OWN_NAME: Final = "default"
STRANGER: Final = "unknown"
"""Who shows no token that we know."""
PREFIX: Final = "engram_"
"""How a token begins, so that scanners for leaked secrets recognize one."""
ID_CHARACTERS: Final = 12
DEFAULT_LIFE: Final = timedelta(days=90)
"""A token that nobody renews ends; `never` has to be asked for."""
MAX_REVOKED: Final = 200
"""Of revoked tokens only the latest are told apart from unknown ones."""
USED_SECONDS: Final = 60
"""How old the note of a token's last use may be before it is written again."""
LEFT_SECONDS: Final = 30
"""A file is written within moments: one that stands unfinished for so long was left by a killed process."""
_BYTES: Final = 32
_LEAST_CHARACTERS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ONLY_OWNER: Final = 0o600


class Caller(Struct, frozen=True, kw_only=True):
    """Who asks, as its credential says and never as the request does, and how far it reaches."""

    key: str = ""
    """What tells this token from every other, also from a later one of the same name."""
    actor: Actor = Actor(surface=Surface.HTTP)
    """Who does what is asked for; without a token, the person at this machine."""
    scope: Scope = GLOBAL
    """The scope that it is limited to; global is no limit."""
    is_owner: bool = False
    """Whether it shows the server's own token."""
    is_read_only: bool = False
    may_narrow: bool = False
    """Whether a request may add names below its scope, such as the user of its project."""
    may_see_secrets: bool = False
    """Whether it is told a secret that it asks for by name."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything in the store that it may not see."""
        return self.scope != GLOBAL


class RefusedToken(Struct, frozen=True, kw_only=True):
    """Why nobody is let in with what was shown; whose it was, where it was once a token of ours."""

    reason: Literal["missing", "unknown", "expired", "revoked"]
    grant: Grant | None = None

    @property
    def actor(self) -> Actor:
        """Who asked, as far as that can be told."""
        if self.grant is None:
            return Actor(name=STRANGER, kind=ActorKind.AGENT, surface=Surface.HTTP)
        return self.grant.caller().actor

    @property
    def scope(self) -> Scope | None:
        """The scope that the token was limited to."""
        return None if self.grant is None else self.grant.caller().scope


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A named token as it is stored: what it may do, and how to recognize it."""

    name: str
    digest: str
    """Hash of the token."""
    page_digest: str
    """Hash of the cookie that a browser gets that signs in with it."""
    created_at: str
    kind: ActorKind = ActorKind.AGENT
    """Whose word counts as whose: what an agent states is never a person's."""
    read_only: bool = False
    narrower: bool = False
    """Whether requests may add names below the scope."""
    secrets: bool = False
    """Whether a secret is told that is asked for by name."""
    scope: dict[str, str] = {}
    expires_at: str | None = None
    """When it ends; None: never."""
    revoked_at: str | None = None
    """When it was revoked; what is left of it tells whose it was when somebody still shows it."""

    @property
    def id(self) -> str:
        """What names it in the audit, and is no secret: the beginning of its hash."""
        return self.digest[:ID_CHARACTERS]

    def is_expired(self, now: datetime) -> bool:
        """Return whether its time is over."""
        return self.expires_at is not None and datetime.fromisoformat(self.expires_at) <= now

    def caller(self) -> Caller:
        """Return who shows this token."""
        return Caller(
            key=f"{self.name}:{self.id}",
            actor=Actor(name=self.name, kind=self.kind, surface=Surface.HTTP, token=self.id),
            scope=Scope(**self.scope),
            is_read_only=self.read_only,
            may_narrow=self.narrower,
            may_see_secrets=self.secrets,
        )


_DECODER: Final = msgspec.json.Decoder(list[Grant])
_USED_DECODER: Final = msgspec.json.Decoder(dict[str, str])


def stored_token(path: Path) -> str:
    """Return the token in the file, made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_new(path, (new_token() + "\n").encode("ascii"))
    except FileExistsError:
        pass
    except OSError as exc:
        raise InvalidSettings(f"the token cannot be stored in {path}: {exc.strerror}") from exc
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSettings(f"the token in {path} cannot be read") from exc
    if len(token) < _LEAST_CHARACTERS:
        raise InvalidSettings(f"the token in {path} is too short", hint="Delete the file; a new one is made.")
    return token


def new_token() -> str:
    """Return a new secret: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(_BYTES)


def cookie_of(token: str) -> str:
    """Return what the page's cookie holds: made of the token, and of no use instead of it."""
    return hmac.new(token.encode(), b"engram page", hashlib.sha256).hexdigest()


def digest_of(secret: str) -> str:
    """Return the hash by which a secret is recognised."""
    return hashlib.sha256(secret.encode()).hexdigest()


class NamedTokens:
    """The file of named tokens in a home folder."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAMED_FILE
        self._used_path = home / USED_FILE
        self._used: dict[str, datetime] = {}
        self._read: tuple[object, tuple[Grant, ...]] = (None, ())

    def list(self) -> tuple[Grant, ...]:
        """Return the named tokens that were not revoked."""
        return tuple(one for one in self.ever() if one.revoked_at is None)

    def get(self, name: str) -> Grant:
        """Return the token of this name that was not revoked."""
        for one in self.list():
            if one.name == name:
                return one
        raise InvalidSettings(f"there is no token called {name!r}", hint="See `engram token list`.")

    def ever(self) -> tuple[Grant, ...]:
        """Return every named token, also revoked ones; the file is read again only after it was written."""
        try:
            state = self._path.stat()
            version = (state.st_ino, state.st_mtime_ns, state.st_size)
            if version != self._read[0]:
                self._read = (version, tuple(_DECODER.decode(self._path.read_bytes())))
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as exc:
            raise InvalidSettings(f"the tokens in {self._path} cannot be read") from exc
        return self._read[1]

    def add(
        self,
        name: str,
        *,
        scope: Scope,
        now: datetime,
        kind: ActorKind = ActorKind.AGENT,
        read_only: bool = False,
        narrower: bool = False,
        sees_secrets: bool = False,
        life: timedelta | None = DEFAULT_LIFE,
    ) -> str:
        """Make a token and return it; it is shown this once. With a `life` of None it never expires."""
        if not _NAME.fullmatch(name) or name == OWN_NAME:
            raise InvalidSettings(
                f"a token cannot be called {name[:80]!r}", hint="Use letters, digits, dots and dashes."
            )
        if narrower and scope == Scope():
            raise InvalidSettings("a token without a scope reaches every scope already")
        if life is not None and life <= timedelta():
            raise InvalidSettings("the token would have expired already", hint="Give a time to come.")
        token = new_token()
        grant = Grant(
            name=name,
            digest=digest_of(token),
            page_digest=digest_of(cookie_of(token)),
            created_at=_written(now),
            kind=ActorKind.PERSON if kind is ActorKind.PERSON else ActorKind.AGENT,
            read_only=read_only,
            narrower=narrower,
            secrets=sees_secrets,
            scope={part: getattr(scope, part) for part in _PARTS if getattr(scope, part) is not None},
            expires_at=None if life is None else _written(now + life),
        )
        with _Rewriting(self._path) as file:
            known = self.ever()
            if any(one.name == name and one.revoked_at is None for one in known):
                raise InvalidSettings(f"there is a token called {name!r} already", hint="Revoke it first.")
            file.put((*known, grant))
        return token

    def revoke(self, name: str, *, now: datetime) -> Grant:
        """Revoke a token and return what it was: it lets nobody in from the next request on."""
        with _Rewriting(self._path) as file:
            known, found = self.ever(), self.get(name)
            at = _written(now)
            changed = [
                msgspec.structs.replace(one, revoked_at=at)
                if one.name == name and one.revoked_at is None
                else one
                for one in known
            ]
            revoked = [one for one in changed if one.revoked_at is not None][-MAX_REVOKED:]
            file.put((*(one for one in changed if one.revoked_at is None), *revoked))
        return found

    # --- when each was last used ----------------------------------------------------------------------------

    def note_use(self, grant: Grant, now: datetime) -> None:
        """Note that a token was used, about once a minute; a home that cannot be written to goes without."""
        before = self._used.get(grant.id)
        if before is not None and now - before < timedelta(seconds=USED_SECONDS):
            return
        self._used[grant.id] = now
        with contextlib.suppress(OSError, InvalidSettings), _Rewriting(self._used_path) as file:
            file.put(self.last_used() | {grant.id: _written(now)})

    def last_used(self) -> dict[str, str]:
        """Return when tokens were last used, by their ids."""
        try:
            return _USED_DECODER.decode(self._used_path.read_bytes())
        except (OSError, msgspec.MsgspecError):  # none was used yet, or the note is damaged: it is a note
            return {}


def _written(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


_PARTS: Final = ("project", "squad", "agent", "channel", "user")


class Tokens(Struct, frozen=True):
    """All tokens that a server accepts."""

    own: str
    named: NamedTokens
    clock: Clock = SystemClock()
    owner: Actor = Actor(surface=Surface.HTTP)
    """Who holds the server's own token."""

    def by_token(self, shown: str) -> Caller | RefusedToken:
        """Return who shows this token, or why nobody is let in with it."""
        return self._who(digest_of(shown), is_cookie=False)

    def by_cookie(self, shown: str) -> Caller | RefusedToken:
        """Return who shows this cookie, or why nobody is let in with it."""
        return self._who(digest_of(shown), is_cookie=True)

    def _who(self, digest: str, *, is_cookie: bool) -> Caller | RefusedToken:
        """Compare with every token, so that the time taken tells nothing about which one was nearly right."""
        own = digest_of(cookie_of(self.own) if is_cookie else self.own)
        is_own = hmac.compare_digest(own, digest)
        found = None
        for grant in self.named.ever():
            if hmac.compare_digest(grant.page_digest if is_cookie else grant.digest, digest):
                found = grant
        if is_own:
            token = digest_of(self.own)[:ID_CHARACTERS]
            actor = msgspec.structs.replace(self.owner, token=token)
            return Caller(key=f"{OWN_NAME}:{token}", actor=actor, is_owner=True, may_see_secrets=True)
        return RefusedToken(reason="unknown") if found is None else self._judged(found)

    def _judged(self, grant: Grant) -> Caller | RefusedToken:
        now = self.clock.now()
        if grant.revoked_at is not None:
            return RefusedToken(reason="revoked", grant=grant)
        if grant.is_expired(now):
            return RefusedToken(reason="expired", grant=grant)
        self.named.note_use(grant, now)
        return grant.caller()


class _Rewriting:
    """
    A file that is written beside the old one, which it then replaces.

    The new file is also the lock: it can be made only once, so two commands at a time cannot lose a
    token. One that a killed process has left is taken away.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(path.name + ".new")
        self._number = 0
        self._is_put = False

    def __enter__(self) -> _Rewriting:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._is_left():
                self._new.unlink(missing_ok=True)
            _write_new(self._new, b"")
            self._number = self._new.stat().st_ino
        except FileExistsError:
            raise _busy() from None
        except OSError as exc:
            raise InvalidSettings(f"the tokens cannot be stored in {self._path}: {exc.strerror}") from exc
        return self

    def put(self, content: object) -> None:
        """Write this as JSON and replace the old."""
        if not self._is_own():
            raise _busy()
        self._new.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
        self._new.replace(self._path)
        self._is_put = True

    def __exit__(self, *_error: object) -> None:
        if not self._is_put and self._is_own():
            self._new.unlink(missing_ok=True)

    def _is_left(self) -> bool:
        try:
            return time.time() - self._new.stat().st_mtime > LEFT_SECONDS
        except FileNotFoundError:
            return False

    def _is_own(self) -> bool:
        """Return whether the new file is still the one made here: another command may think it was left."""
        try:
            return self._new.stat().st_ino == self._number
        except FileNotFoundError:
            return False


def _busy() -> InvalidSettings:
    hint = f"Try again; what a killed one has left is ignored after {LEFT_SECONDS} seconds."
    return InvalidSettings("another command is changing the tokens", hint=hint)


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read; raises where it exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_OWNER), "wb") as file:
        file.write(content)
