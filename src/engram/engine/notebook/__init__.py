"""
The sync of a notebook: `sync` opens it, `take` brings files into the store, `give` memories into files.

Called by `engine.notebooks`, the verbs; `hand` is what both halves may do to a store, `labels` what of front
matter was edited. How a note looks is the business of `portability.notebook`, which knows no store. The verbs
name a module as `engine.notebook.sync`, and it is loaded then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.engine.notebook import (
        hand as hand,
        missing as missing,
        sync as sync,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
