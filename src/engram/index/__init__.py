"""
Each index answers one question: which memories might fit?

`lexical` asks by words, `vector` by meaning. An index holds nothing that the store could not give again. The
engine names a module as `index.spaces`, and it is loaded then: those that the engine names stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.index import (
        domains as domains,
        foreign as foreign,
        graph as graph,
        lexical as lexical,
        spaces as spaces,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
