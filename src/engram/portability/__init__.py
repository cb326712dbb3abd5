"""
Memories that come from elsewhere: read other tools' files as records that the gate can judge.

Used by the engine, one step above. Knows files and formats; knows no store, no model and no clock. A module
that the engine names as `portability.export` is loaded then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.portability import (
        export as export,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
