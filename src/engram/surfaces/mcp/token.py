"""
The bearer token of the MCP server over HTTP: made once, kept in a file that only its owner can read.

Used by `http`; the file and the question for it are the HTTP server's, in `surfaces.http`. Whoever can
read the file may use the memory, which is also true of the store beside it. The token is never an
argument or an environment variable, which other processes could see, and never written to a log.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Final

from engram.surfaces.http.callers import OWNER, Caller
from engram.surfaces.http.tokens import digest_of, kept_token

__all__ = ["FILE_NAME", "HINT", "OneToken", "kept_token"]

FILE_NAME: Final = "mcp.token"
HINT: Final = f"Send Authorization: Bearer, with what {FILE_NAME} holds."


@dataclass(frozen=True, slots=True)
class OneToken:
    """Knows whoever shows the one token."""

    token: str

    def by_token(self, shown: str) -> Caller | None:
        """Return the owner for the token, and nobody for anything else."""
        return OWNER if hmac.compare_digest(digest_of(shown), digest_of(self.token)) else None

    def by_cookie(self, _shown: str) -> Caller | None:
        """Return nobody: there is no page to sign in on."""
        return None
