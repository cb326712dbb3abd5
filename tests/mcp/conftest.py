"""What the tests of the surfaces share: see `surfaces.fixtures`."""

from __future__ import annotations

from surfaces.fixtures import client, engine, engram_command, home, move_to
from surfaces.handshakes import memory

__all__ = ["client", "engine", "engram_command", "home", "memory", "move_to"]
