"""
The write path: from words to stored memories.

`admit` is the one gate that every memory from every door goes through; `change` alters what is stored. The
engine names a module as `capture.admit`, and it is loaded then: those that the engine names stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.capture import (
        admit as admit,
        bridges as bridges,
        buffer as buffer,
        change as change,
        draft as draft,
        enrich as enrich,
        erase as erase,
        extract as extract,
        observe as observe,
        pipeline as pipeline,
        relate as relate,
        signals as signals,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
