"""Tests that share something costly run in one process."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.xdist_group("groups")


def test_a_group_of_tests_is_kept_together(request: pytest.FixtureRequest) -> None:
    """With `--dist loadgroup` the id names the group; pytest 9.2 and xdist 3.8 dropped it without a word."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("tests are not sent out by their groups")

    assert request.node.nodeid.endswith("@groups")
