"""Callers, tokens, bearer authentication and sign-in."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import parse_qs, urlencode

import msgspec
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from engramdb.errors import EngramError, InvalidSettings, TokenNeeded
from engramdb.http.load_shedding import API, is_from_own_page, read_body, too_slow
from engramdb.http.replies import refuse
from engramdb.values import GLOBAL, Scope
from engramdb.web.page import sign_in_page

# Who makes the request under way: a token's name, and how far it reaches.


class Caller(Struct, frozen=True, kw_only=True):
    """Who asks: a token's name, and how far it reaches."""

    key: str = ""
    """What tells this token from every other, also from a later one of the same name."""
    scope: Scope = GLOBAL
    """The scope that it is limited to; global is no limit."""
    is_read_only: bool = False
    may_narrow: bool = False
    """Whether a request may add names below its scope, such as the user of its project."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything in the store that it may not see."""
        return self.scope != GLOBAL


OWNER: Final = Caller()
"""Whoever asks where no token is asked for."""
_CURRENT: Final[ContextVar[Caller]] = ContextVar("engram_caller", default=OWNER)
_IS_KNOWN: Final[ContextVar[Callable[[], bool]]] = ContextVar("engram_is_known", default=lambda: True)


def caller() -> Caller:
    """Return who makes the request under way."""
    return _CURRENT.get()


def is_still_known() -> bool:
    """Say whether who makes the request under way would be let in now; asked by what goes on for long."""
    return _IS_KNOWN.get()()


@contextmanager
def calling(who: Caller, *, is_known: Callable[[], bool]) -> Iterator[None]:
    """Say who makes the request while the block runs, and how to ask whether that is still so."""
    before, known_before = _CURRENT.set(who), _IS_KNOWN.set(is_known)
    try:
        yield
    finally:
        _IS_KNOWN.reset(known_before)
        _CURRENT.reset(before)


# The tokens that let callers in: one that the server makes for its owner, and named ones with limits.
#
# Read by `bearer` at every request and written by `engram token`. The owner's token is a file like that of
# the MCP server; of a named one only hashes are kept, so it is shown once, when it is made. Tokens are
# random and long, so a plain hash is enough. A change of the file counts from the next request on.

OWN_FILE: Final = "http.token"
NAMED_FILE: Final = "tokens.json"
OWN_NAME: Final = "default"
_BYTES: Final = 32
_LEAST_CHARACTERS: Final = 16
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ONLY_OWNER: Final = 0o600


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A named token as it is kept: what it may do, and how to recognise it."""

    name: str
    digest: str
    """Hash of the token."""
    page_digest: str
    """Hash of the cookie that the page gives whoever signs in with it."""
    created_at: str
    read_only: bool = False
    narrower: bool = False
    """Whether requests may add names below the scope."""
    scope: dict[str, str] = {}

    def caller(self) -> Caller:
        """Return who shows this token."""
        return Caller(
            key=f"{self.name}:{self.digest[:12]}",
            scope=Scope(**self.scope),
            is_read_only=self.read_only,
            may_narrow=self.narrower,
        )


_DECODER: Final = msgspec.json.Decoder(list[Grant])


def kept_token(path: Path) -> str:
    """Return the token in the file, made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_new(path, (secrets.token_urlsafe(_BYTES) + "\n").encode("ascii"))
    except FileExistsError:
        pass
    except OSError as exc:
        raise InvalidSettings(f"the token cannot be kept in {path}: {exc.strerror}") from exc
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSettings(f"the token in {path} cannot be read") from exc
    if len(token) < _LEAST_CHARACTERS:
        raise InvalidSettings(f"the token in {path} is too short", hint="Delete the file; a new one is made.")
    return token


def cookie_of(token: str) -> str:
    """Return what the page's cookie holds: made of the token, and of no use in its place."""
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

    def add(self, name: str, *, scope: Scope, read_only: bool, narrower: bool, now: datetime) -> str:
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
            scope={part: getattr(scope, part) for part in _PARTS if getattr(scope, part) is not None},
        )
        with _Rewriting(self._path) as file:
            known = self.list()
            if any(one.name == name for one in known):
                raise InvalidSettings(f"there is a token called {name!r} already", hint="Remove it first.")
            file.put((*known, grant))
        return token

    def remove(self, name: str) -> None:
        """Let a token in no longer."""
        with _Rewriting(self._path) as file:
            known = self.list()
            kept = tuple(one for one in known if one.name != name)
            if len(kept) == len(known):
                raise InvalidSettings(f"there is no token called {name!r}", hint="See `engram token list`.")
            file.put(kept)


_PARTS: Final = ("project", "squad", "agent", "channel", "user")


class Tokens(Struct, frozen=True):
    """Everybody whom a server lets in."""

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
    A file that is being written anew beside the old one, which it then replaces.

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
            raise InvalidSettings(f"the tokens cannot be kept in {self._path}: {exc.strerror}") from exc
        return self

    def put(self, grants: tuple[Grant, ...]) -> None:
        """Write these and put them in the place of the old ones."""
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


# Ask every request for a token, and let a browser in that has shown one.
#
# Stands behind the guard and before everything that costs something. Programs send `Authorization:
# Bearer`. A browser opens the link that the server prints, or the form that is answered here; either gives
# it a cookie that scripts and other sites cannot use, made of the token but of no use in its place. A page
# of another site cannot sign a visitor in by such a link, and so not as somebody else.

OPEN: Final = frozenset({"/healthz", "/readyz", "/static/page.css", "/static/icon.svg"})
"""What a monitor and the sign-in form need; nothing of it tells of the store."""
SIGN_IN: Final = "/sign-in"
_COOKIE: Final = "engram"
_COOKIE_SECONDS: Final = 30 * 86_400
_MOST_FORM_BYTES: Final = 10_000


class Knows(Protocol):
    """Recognises callers by what they show."""

    def by_token(self, shown: str) -> Caller | None:
        """Return who shows this token."""
        ...

    def by_cookie(self, shown: str) -> Caller | None:
        """Return who shows this cookie."""
        ...


class Bearer:
    """ASGI middleware that lets in who shows a token; with a page, also who has signed in on it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Knows,
        hint: str,
        is_open: Collection[str] = (),
        has_page: bool = False,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._hint = hint
        self._is_open = frozenset(is_open)
        self._has_page = has_page

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Pass the request on as its caller's, or answer it here."""
        if scope["type"] != "http" or scope["path"] in self._is_open:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = await self._signing_in(scope, headers, receive) if self._has_page else None
        who = None if answer else self._who(scope, headers)
        if who is None:
            await (answer or self._refusal(scope, headers))(scope, receive, send)
            return
        with calling(who, is_known=lambda: self._is_still(who, scope, headers)):
            await self._app(scope, receive, send)

    def _who(self, scope: AsgiScope, headers: Headers) -> Caller | None:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._tokens.by_token(token.strip())
        shown = cookie_parser(headers.get("cookie", "")).get(_cookie_name(scope))
        return self._tokens.by_cookie(shown) if self._has_page and shown else None

    def _is_still(self, who: Caller, scope: AsgiScope, headers: Headers) -> bool:
        """Say whether a caller who was let in would be let in now, and as the same."""
        try:
            return self._who(scope, headers) == who
        except EngramError:  # the file of tokens cannot be read: the next request is told so
            return False

    async def _signing_in(self, scope: AsgiScope, headers: Headers, receive: Receive) -> Response | None:
        """Return the answer to the link with the token, or to the form; None to everything else."""
        if scope["method"] == "GET" and scope["path"] == "/":
            asked = parse_qs(scope["query_string"].decode("latin-1"))
            token = asked.pop("token", [None])[0]
            if token is not None and not is_from_own_page(headers):
                return HTMLResponse(sign_in_page(is_wrong=False), status_code=401)
            return None if token is None else self._admit(scope, token, onward=asked)
        if scope["method"] == "POST" and scope["path"] == SIGN_IN:
            try:
                body = await read_body(receive, most=_MOST_FORM_BYTES)
            except TimeoutError:
                return refuse(408, too_slow())
            sent = parse_qs((body or b"").decode("latin-1"))
            return self._admit(scope, sent.get("token", [""])[0].strip(), onward={})
        return None

    def _admit(self, scope: AsgiScope, token: str, *, onward: dict[str, list[str]]) -> Response:
        if self._tokens.by_token(token) is None:
            return HTMLResponse(sign_in_page(is_wrong=True), status_code=401)
        asked = urlencode(onward, doseq=True)
        response = RedirectResponse(f"/?{asked}" if asked else "/", status_code=303)
        response.set_cookie(
            _cookie_name(scope),
            cookie_of(token),
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=scope["scheme"] == "https",
        )
        return response

    def _refusal(self, scope: AsgiScope, headers: Headers) -> Response:
        is_visitor = not scope["path"].startswith(API) and "text/html" in headers.get("accept", "")
        if self._has_page and is_visitor:
            return HTMLResponse(sign_in_page(is_wrong=False), status_code=401)
        response = refuse(401, TokenNeeded("the request carries no valid token", hint=self._hint))
        response.headers["WWW-Authenticate"] = "Bearer"
        return response


def _cookie_name(scope: AsgiScope) -> str:
    """Return a name of this server's own: browsers send a cookie to every port of the same host."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1]}" if server else _COOKIE
