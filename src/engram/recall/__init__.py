"""
The read path: gather → fuse → weigh → explain.

`pipeline` runs the steps; each of the others is one step. The engine names a module as `recall.pipeline`, and
it is loaded then: those that the engine names stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.recall import (
        as_of as as_of,
        entity as entity,
        gather as gather,
        pipeline as pipeline,
        timeline as timeline,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
