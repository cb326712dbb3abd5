"""The common scale by itself: what a calibration keeps, how one is fitted, and when a server is asked."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import answering

from engramdb.errors import EmbedderUnavailable
from engramdb.models.calibration import (
    IDENTITY,
    Calibration,
    Pair,
    cosines_of,
    fit,
    fit_embedder,
    labelled_pairs,
    pairs_to_fit,
)
from engramdb.models.embedder import AbsentEmbedder
from engramdb.models.openai import OpenAICompatibleEmbedder
from engramdb.models.static import CALIBRATION, StatementEmbedder, StaticEmbedder
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from engramdb.models.calibration import Relation

RELATIONS: tuple[Relation, ...] = ("unrelated", "same_topic", "related", "paraphrase", "contradiction")
COSINES = st.floats(-1, 1)


class CountingEmbedder(TinyEmbedder):
    """Notes every text that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed_documents(texts)


@dataclass
class Server:
    """A loopback server that counts requests, and fails as long as it is told to."""

    url: str = ""
    requests: int = 0
    is_broken: bool = False


@pytest.fixture
def server() -> Iterator[Server]:
    """A running server."""
    model, server = StaticEmbedder(), Server()

    def embedded(_path: str, asked: Any) -> tuple[int, object]:
        server.requests += 1
        rows = [{"embedding": row.tolist()} for row in model.embed_documents(asked["input"])]
        return 200, ({} if server.is_broken else {"data": rows})

    with answering(embedded) as server.url:
        yield server


def test_the_shipped_pairs_cover_every_relation_in_both_halves() -> None:
    """There is enough of each kind to fit and to hold out, in more than one language."""
    counts = Counter((pair.relation, pair.is_held_out) for pair in labelled_pairs())

    assert len(labelled_pairs()) >= 250
    assert all(counts[relation, half] >= 15 for relation in RELATIONS for half in (True, False))
    assert len([pair for pair in labelled_pairs() if pair.language != "en"]) >= 25
    assert len({pair.language for pair in labelled_pairs()}) >= 8


def test_no_pair_is_written_twice() -> None:
    """A pair in both halves would be fitted and tested at once."""
    pairs = [frozenset((pair.a, pair.b)) for pair in labelled_pairs()]

    assert len(pairs) == len(set(pairs))


def test_fitting_never_sees_the_held_out_half() -> None:
    """A test on pairs that shaped the scale would prove nothing."""
    embedder = CountingEmbedder()

    fit_embedder(embedder)

    assert set(embedder.asked) == {text for pair in pairs_to_fit() for text in (pair.a, pair.b)}
    assert not any(pair.is_held_out for pair in pairs_to_fit())
    assert len(embedder.asked) == len(set(embedder.asked))


@pytest.mark.parametrize(
    ("cosine", "similarity"), [(-1, 0), (-0.0415, 0), (0.0705, 0.1), (0.2638, 0.4), (0.7734, 0.85), (1, 1)]
)
def test_an_anchor_is_met_exactly(cosine: float, similarity: float) -> None:
    """The committed numbers of the built-in embedder are where the scale bends."""
    assert CALIBRATION.similarity(cosine) == pytest.approx(similarity)


@given(COSINES, COSINES)
def test_more_cosine_is_never_less_similarity(one: float, other: float) -> None:
    """Order is kept."""
    low, high = sorted((one, other))

    assert 0 <= CALIBRATION.similarity(low) <= CALIBRATION.similarity(high) <= 1


@given(st.floats(0.001, 1))
def test_a_threshold_can_be_taken_back_to_cosines(similarity: float) -> None:
    """Filtering by cosine before converting gives the same answer as after."""
    cosine = CALIBRATION.cosine(similarity)

    assert CALIBRATION.similarity(cosine) == pytest.approx(similarity)
    assert CALIBRATION.similarity(cosine - 1e-6) < similarity


def test_no_threshold_lets_everything_through() -> None:
    """Opposite vectors have similarity 0, which is not less than 0."""
    assert CALIBRATION.cosine(0) == -1
    assert CALIBRATION.cosine(1) == 1


def test_arrays_keep_their_shape() -> None:
    """A matrix of cosines becomes a matrix of similarities, equal to one by one."""
    cosines = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)

    scaled = CALIBRATION.similarities(cosines)

    assert scaled.shape == (3, 4)
    assert scaled[1, 2] == CALIBRATION.similarity(float(cosines[1, 2]))


def test_the_identity_changes_nothing_but_negatives() -> None:
    """What a fake calls 0.7 is 0.7."""
    assert [IDENTITY.similarity(cosine) for cosine in (-0.5, 0, 0.7, 1)] == [0, 0, 0.7, 1]


@pytest.mark.parametrize(
    "anchors",
    [
        (),
        ((0.0, 0.0),),
        ((0.5, 0.0), (0.2, 1.0)),
        ((0.5, 0.0), (0.5, 1.0)),
        ((0.0, 0.1), (1.0, 1.0)),
        ((0.0, 0.0), (0.5, 0.5), (1.0, 0.5)),
        ((0.0, 0.0), (float("nan"), 1.0)),
    ],
)
def test_a_scale_that_does_not_rise_from_0_to_1_is_refused(anchors: tuple[tuple[float, float], ...]) -> None:
    """A wrong constant fails when it is imported, not when a memory is lost."""
    with pytest.raises(ValueError, match="a calibration"):
        Calibration(anchors)


def test_the_same_pairs_give_the_same_fit() -> None:
    """Two processes agree on what 0.85 is."""
    embedder = StaticEmbedder()

    assert fit_embedder(embedder) == fit_embedder(embedder)


@given(st.lists(COSINES, min_size=10, max_size=60))
def test_any_cosines_at_all_give_a_scale(cosines: list[float]) -> None:
    """Even an embedder that ranks everything wrongly can be used, and similarity still rises."""
    pairs = [Pair(str(number), "", RELATIONS[number % len(RELATIONS)]) for number in range(len(cosines))]

    fitted = fit(pairs, cosines)

    assert fitted.similarity(1.0) == 1
    assert fitted.similarity(-1.0) == 0


@pytest.mark.parametrize("constant", [1.0, 0.0, -1.0])
def test_an_embedder_that_sees_no_difference_gets_a_scale(constant: float) -> None:
    """A server that answers the same vector to everything is useless, and no reason to stop."""
    pairs = pairs_to_fit()

    fitted = fit(pairs, np.full(len(pairs), constant))

    assert fitted.similarity(1.0) == 1


def test_stretching_the_cosines_leaves_the_similarities() -> None:
    """The scale is about meaning: an embedder that crowds everything into 0.8 to 1 reads the same."""
    pairs = pairs_to_fit()
    cosines = cosines_of(StaticEmbedder(), pairs)
    crowded = 0.8 + cosines / 5

    plain, stretched = fit(pairs, cosines), fit(pairs, crowded)

    assert stretched.similarities(crowded) == pytest.approx(plain.similarities(cosines), abs=0.002)


def test_long_texts_are_not_alike_for_their_small_words() -> None:
    """Even two paragraphs of little else are not taken for candidates of a contradiction."""
    garden = (
        "Well, I have been meaning to tell you that we have finally got all of the beds in the garden done, "
        "and it was so much more work than I thought it would be when we were talking about it."
    )
    exam = (
        "So that is how it was for me, and I did not think that I would be able to get through the exam, "
        "but they have told me now that it was all fine and that I should not have been so worried."
    )

    plain, statements = (
        embedder.calibration.similarity(float(np.dot(*embedder.embed_documents([garden, exam]))))
        for embedder in (StaticEmbedder(), StatementEmbedder(StaticEmbedder()))
    )

    assert statements < 0.70 < plain


def test_a_server_is_not_asked_before_its_scale_is_needed(server: Server) -> None:
    """Opening stays cheap."""
    OpenAICompatibleEmbedder(server.url, "m", dimension=256)

    assert server.requests == 0


def test_a_server_is_fitted_once_for_all_threads(server: Server) -> None:
    """The shipped pairs go over the wire a single time, and the result is that of the model behind it."""
    embedder = OpenAICompatibleEmbedder(server.url, "m", dimension=256)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: embedder.calibration, range(8)))

    texts = {text for pair in pairs_to_fit() for text in (pair.a, pair.b)}
    assert set(found) == {CALIBRATION}
    assert server.requests == -(-len(texts) // embedder.batch)


def test_a_server_that_fails_is_asked_again_later(server: Server) -> None:
    """The failure is the usual one and is not remembered."""
    embedder = OpenAICompatibleEmbedder(server.url, "m", dimension=256)
    server.is_broken = True
    with pytest.raises(EmbedderUnavailable):
        _ = embedder.calibration

    server.is_broken = False

    assert embedder.calibration == CALIBRATION


def test_an_embedder_that_is_absent_has_no_scale() -> None:
    """It answers with its reason, as it does to everything."""
    absent = AbsentEmbedder(EmbedderUnavailable("not installed"))

    with pytest.raises(EmbedderUnavailable, match="not installed"):
        _ = absent.calibration
