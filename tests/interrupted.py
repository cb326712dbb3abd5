"""An embedder during whose work something else happens, as another program may between look and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray


class Interrupted(TinyEmbedder):
    """Something else happens, once, before it embeds."""

    meanwhile: Callable[[], object] | None = None

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Let the other thing happen, and embed."""
        happening, self.meanwhile = self.meanwhile, None
        if happening is not None:
            happening()
        return super().embed_documents(texts)
