"""
From memories to a prompt: measure, divide, fill, degrade, isolate.

`build` makes a window; `budget` divides the tokens, one small file fills each section, `detail` decides how
much of each memory is shown, `isolation` keeps memories data. Knows neither index nor model: both are given.
The engine names a module as `context.build`, and it is loaded then: those that it names stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.context import (
        budget as budget,
        build as build,
        desk as desk,
        exchanges as exchanges,
        measure as measure,
        standing as standing,
        summary as summary,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
