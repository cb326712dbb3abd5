"""
The bearer token of the server over HTTP: made once, kept in a file that only its owner can read.

Used by `http`. Whoever can read the file may use the memory, which is also true of the store beside it.
The token is never an argument or an environment variable, which other processes could see, and never
written to a log.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers

from engram.errors import InvalidSettings, SecurityError
from engram.surfaces.http.replies import refuse

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

FILE_NAME: Final = "mcp.token"
_BYTES = 32
_LEAST_CHARACTERS = 16


def kept_token(path: Path) -> str:
    """Return the token in the file, made if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as file:
            file.write(secrets.token_urlsafe(_BYTES) + "\n")
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


class Bearer:
    """ASGI middleware that lets in who shows the token."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._expected = f"bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401."""
        if scope["type"] == "http" and not self._is_known(Headers(scope=scope).get("authorization", "")):
            error = SecurityError(
                "the request carries no valid token",
                hint=f"Send Authorization: Bearer, with what {FILE_NAME} holds.",
            )
            response = refuse(401, error)
            response.headers["WWW-Authenticate"] = "Bearer"
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, shown: str) -> bool:
        kind, _, token = shown.partition(" ")
        return secrets.compare_digest(f"{kind.lower()} {token.strip()}".encode(), self._expected)
