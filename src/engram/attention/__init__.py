"""
What an agent attends to now.

`sensory` holds what was just said; `slots` are working memory, `momentum` where the talk is going,
`topic` whether it goes on, drifts or turns, `anticipation` what will be asked next, `mind` all of that
in one value. The engine names a module as `attention.sensory`, and it is loaded then.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.attention import (
        contents as contents,
        sensory as sensory,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
