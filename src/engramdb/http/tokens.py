"""
Tokens that let callers in: one that the server makes for its owner, and named ones with limits.

Read by the server at every request and written by `engram token`. The owner's token is a file like that of
the MCP server; of a named one only hashes are stored, so it is shown once, when it is made. Tokens are random
and long, so a plain hash is enough. A change of the file counts from the next request on.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from engramdb.errors import InvalidSettings
from engramdb.values import GLOBAL, Scope

OWN_FILE: Final = "http.token"
NAMED_FILE: Final = "tokens.json"
OWN_NAME: Final = "default"
_BYTES: Final = 32
_LEAST_CHARACTERS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ONLY_OWNER: Final = 0o600


class Caller(Struct, frozen=True, kw_only=True):
    """Who asks: a token's name, and how far it reaches."""

    key: str = ""
    """What tells this token from every other, also from a later one of the same name."""
    scope: Scope = GLOBAL
    """The scope that it is limited to; global is no limit."""
    is_read_only: bool = False
    may_narrow: bool = False
    """Whether a request may add names below its scope, such as the user of its project."""
    may_see_secrets: bool = False
    """Whether it is told a secret that it asks for by name."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything in the store that it may not see."""
        return self.scope != GLOBAL


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A named token as it is stored: what it may do, and how to recognize it."""

    name: str
    digest: str
    """Hash of the token."""
    page_digest: str
    """Hash of the cookie that a browser gets that signs in with it."""
    created_at: str
    read_only: bool = False
    narrower: bool = False
    """Whether requests may add names below the scope."""
    secrets: bool = False
    """Whether a secret is told that is asked for by name."""
    scope: dict[str, str] = {}

    def caller(self) -> Caller:
        """Return who shows this token."""
        return Caller(
            key=f"{self.name}:{self.digest[:12]}",
            scope=Scope(**self.scope),
            is_read_only=self.read_only,
            may_narrow=self.narrower,
            may_see_secrets=self.secrets,
        )


_DECODER: Final = msgspec.json.Decoder(list[Grant])


def stored_token(path: Path) -> str:
    """Return the token in the file, made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_new(path, (secrets.token_urlsafe(_BYTES) + "\n").encode("ascii"))
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
        self._read: tuple[object, tuple[Grant, ...]] = (None, ())

    def list(self) -> tuple[Grant, ...]:
        """Return every named token; the file is read again only after it was written."""
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
        read_only: bool,
        narrower: bool,
        now: datetime,
        sees_secrets: bool = False,
    ) -> str:
        """Make a token and return it; it is shown this once."""
        if not _NAME.fullmatch(name) or name == OWN_NAME:
            raise InvalidSettings(
                f"a token cannot be called {name[:80]!r}", hint="Use letters, digits, dots and dashes."
            )
        if narrower and scope == Scope():
            raise InvalidSettings("a token without a scope reaches every scope already")
        token = secrets.token_urlsafe(_BYTES)
        grant = Grant(
            name=name,
            digest=digest_of(token),
            page_digest=digest_of(cookie_of(token)),
            created_at=f"{now:%Y-%m-%dT%H:%M:%SZ}",
            read_only=read_only,
            narrower=narrower,
            secrets=sees_secrets,
            scope={part: getattr(scope, part) for part in _PARTS if getattr(scope, part) is not None},
        )
        with _Rewriting(self._path) as file:
            known = self.list()
            if any(one.name == name for one in known):
                raise InvalidSettings(f"there is a token called {name!r} already", hint="Remove it first.")
            file.put((*known, grant))
        return token

    def remove(self, name: str) -> None:
        """Revoke a token."""
        with _Rewriting(self._path) as file:
            known = self.list()
            others = tuple(one for one in known if one.name != name)
            if len(others) == len(known):
                raise InvalidSettings(f"there is no token called {name!r}", hint="See `engram token list`.")
            file.put(others)


_PARTS: Final = ("project", "squad", "agent", "channel", "user")


class Tokens(Struct, frozen=True):
    """All tokens that a server accepts."""

    own: str
    named: NamedTokens

    def by_token(self, shown: str) -> Caller | None:
        """Return who shows this token."""
        return self._who(digest_of(shown), is_cookie=False)

    def by_cookie(self, shown: str) -> Caller | None:
        """Return who shows this cookie."""
        return self._who(digest_of(shown), is_cookie=True)

    def _who(self, digest: str, *, is_cookie: bool) -> Caller | None:
        """Compare with every token, so that the time taken tells nothing about which one was nearly right."""
        found = None
        for grant in self.named.list():
            if hmac.compare_digest(grant.page_digest if is_cookie else grant.digest, digest):
                found = grant.caller()
        own = digest_of(cookie_of(self.own) if is_cookie else self.own)
        if hmac.compare_digest(own, digest):
            found = Caller(key=f"{OWN_NAME}:{digest_of(self.own)[:12]}")
        return found


class _Rewriting:
    """
    A file that is written beside the old one, which it then replaces.

    The new file is also the lock: it can be made only once, so two commands at a time cannot lose a
    token.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(path.name + ".new")
        self._is_put = False

    def __enter__(self) -> _Rewriting:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _write_new(self._new, b"")
        except FileExistsError:
            raise InvalidSettings(
                "another command is changing the tokens", hint=f"If none is, delete {self._new}."
            ) from None
        except OSError as exc:
            raise InvalidSettings(f"the tokens cannot be stored in {self._path}: {exc.strerror}") from exc
        return self

    def put(self, grants: tuple[Grant, ...]) -> None:
        """Write these and replace the old ones."""
        self._new.write_bytes(msgspec.json.format(msgspec.json.encode(grants), indent=2) + b"\n")
        self._new.replace(self._path)
        self._is_put = True

    def __exit__(self, *_error: object) -> None:
        if not self._is_put:
            self._new.unlink(missing_ok=True)


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read; raises where it exists."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_OWNER), "wb") as file:
        file.write(content)
