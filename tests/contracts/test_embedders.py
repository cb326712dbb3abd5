"""What every embedder keeps, the fake included: one suite, run on all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from loopback import answering

from engramdb.models.registry import Endpoint, open_embedder
from engramdb.models.static import StaticEmbedder
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engramdb.models.embedder import Embedder

TEXTS = ["The cat sleeps on the sofa", "Deploy the API on Friday", "Ich wohne in Köln", "The cat sleeps"]
ODD_TEXTS = {
    "empty": "",
    "blank": " \t\n",
    "punctuation": "?!…",
    "8 KB": "memory " * 1200,
    "one long word": "x" * 8192,
    "emoji": "🎉👩‍👩‍👧‍👦",
    "NUL": "a\x00b",
    "control characters": "\x01\x02\x1b[0m",
    "lone surrogate": "half \ud83d a character",
    "right to left": "مرحبا بالعالم שלום",
    "CJK": "我喜欢猫。ありがとう 안녕",
    "combining": "Z̴̢̛a̷l̸g̵o̶",
}


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Endpoint]:
    """A server on loopback that speaks like OpenAI and thinks like the built-in embedder."""
    model = StaticEmbedder()

    def backwards(_path: str, asked: Any) -> tuple[int, object]:
        vectors = model.embed_documents(asked["input"]).tolist()
        rows = [{"index": number, "embedding": vector} for number, vector in enumerate(vectors)]
        return 200, {"object": "list", "data": rows[::-1]}

    with answering(backwards) as url:
        yield Endpoint(url)


@pytest.fixture(params=["static", "e5-small", "openai:loopback", "tiny"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Embedder:
    """Each embedder in turn, opened as the engine opens it."""
    if request.param == "tiny":
        return TinyEmbedder()
    if request.param == "e5-small":
        return open_embedder("e5-small", request.getfixturevalue("e5_home"))
    return open_embedder(request.param, tmp_path, endpoint=request.getfixturevalue("endpoint"))


def test_rows_are_float32_of_length_one(embedder: Embedder) -> None:
    """Cosine is a dot product everywhere else, which is only true for unit vectors."""
    for rows in (embedder.embed_documents(TEXTS), embedder.embed_queries(TEXTS)):
        assert rows.dtype == np.float32
        assert rows.shape == (len(TEXTS), embedder.identity.dimension)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_the_same_text_gives_the_same_vector(embedder: Embedder) -> None:
    """Two calls agree to the last bit."""
    assert np.array_equal(embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS))
    assert np.array_equal(embedder.embed_queries(TEXTS), embedder.embed_queries(TEXTS))


def test_rows_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    """A vector is never stored with another text."""
    forwards, backwards = embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS[::-1])

    assert np.array_equal(forwards, backwards[::-1])


def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    """A memory embedded alone today equals itself re-embedded among thousands tomorrow."""
    many = TEXTS * (embedder.batch // len(TEXTS) + 1)

    together = embedder.embed_documents(many[: embedder.batch + 1])

    for number, text in enumerate(TEXTS):
        assert np.array_equal(together[number], embedder.embed_documents([text])[0])


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    """The shape is right even when there is nothing to do."""
    assert embedder.embed_documents([]).shape == (0, embedder.identity.dimension)
    assert embedder.embed_queries([]).shape == (0, embedder.identity.dimension)


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_have_vectors_too(embedder: Embedder, text: str) -> None:
    """Whatever people paste, the row is finite and has length one."""
    for rows in (embedder.embed_documents([text]), embedder.embed_queries([text])):
        assert np.isfinite(rows).all()
        assert np.linalg.norm(rows[0]) == pytest.approx(1, abs=1e-5)


def test_threads_share_one_embedder(embedder: Embedder) -> None:
    """The first calls may come at once, from several threads, and agree with a single one."""
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: embedder.embed_documents(TEXTS), range(8)))

    assert all(np.array_equal(answer, embedder.embed_documents(TEXTS)) for answer in answers)


def test_the_identity_stays_the_same(embedder: Embedder) -> None:
    """What a vector was stored under is what it is looked for under."""
    before = embedder.identity
    embedder.embed_documents(TEXTS)

    assert embedder.identity == before
    assert all((before.name, before.revision, before.dimension > 0, embedder.batch > 0))


def test_a_paraphrase_is_nearer_than_another_subject(embedder: Embedder) -> None:
    """Embedders know meanings; only the fake is excused."""
    if isinstance(embedder, TinyEmbedder):
        pytest.skip("the fake is blind to meaning by design")
    documents = ["The puppy enjoys going to the park", "The invoice is due on Friday"]

    near, far = embedder.embed_documents(documents) @ embedder.embed_queries(["My dog loves the park"])[0]

    assert near > far + 0.05
