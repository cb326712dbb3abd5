"""
Models behind narrow protocols: embedders and chat models, and the packs that some of them live in.

The engine names a module as `providers.models`, and it is loaded then: those that it names stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.providers import (
        capabilities as capabilities,
        chat as chat,
        e5 as e5,
        likeness as likeness,
        models as models,
        static as static,
        tokenizers as tokenizers,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
