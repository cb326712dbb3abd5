"""What is said of a text that is too large is said in one unit."""

from __future__ import annotations

import pytest

from engramdb.errors import ContentTooLarge
from engramdb.lifecycle.drafts import checked_text


@pytest.mark.parametrize("text", ["x" * 8401, "ü" * 5000], ids=["long", "long once written"])
def test_size_and_limit_are_both_bytes(text: str) -> None:
    """Characters beside bytes would leave the reader to guess how much too much it is."""
    with pytest.raises(ContentTooLarge) as caught:
        checked_text(text, what="memory", max_bytes=8192)

    assert "bytes is too large; at most 8192" in str(caught.value)
    assert "characters" not in str(caught.value)
