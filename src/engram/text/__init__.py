"""
Pure functions on text: no I/O but their own word lists, no clock, no store.

`normal` gives a statement one form and a fingerprint, `terms` cuts it for the text index, `passage` writes it
for an embedder. `sentences` and `moments` read it; `affect`, `traits`, `topics`, `mentions` and `detail` say
what is in it, `pii` and `injection` what to beware of, `tokens` what it costs. A module that is named as
`text.tokens` is loaded then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.text import affect as affect
    from engram.text import entity_names as entity_names
    from engram.text import tokens as tokens
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
