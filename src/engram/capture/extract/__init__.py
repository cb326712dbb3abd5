"""
From turns to typed statements.

`heuristic` is always there and deterministic; `model` asks a chat model. Both give `Extracted` values. The
engine names the one that it needs, and it is loaded then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.capture.extract import (
        heuristic as heuristic,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
