"""An idempotency key together with `If-Match`: a refusal that did nothing may be tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surfaces.in_process import post

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from engramdb import Engram


def test_a_condition_that_failed_may_be_met_under_the_same_key(client: TestClient, engine: Engram) -> None:
    """Looked at again and sent with the newer tag it is carried out, and then its answer is kept."""
    memory = post(client, "remember", content="My editor is vim")
    path, body = f"/v1/memories/{memory['id']}", {"id": memory["id"]}
    old = client.get(path).headers["ETag"]
    engine.pin(memory["id"])
    new = client.get(path).headers["ETag"]

    answers = [
        client.post("/v1/forget", json=body, headers={"Idempotency-Key": "once", "If-Match": tag})
        for tag in (old, new, new)
    ]

    assert [one.status_code for one in answers] == [412, 200, 200]
    assert ["Idempotency-Replayed" in one.headers for one in answers] == [False, False, True]
