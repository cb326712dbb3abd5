"""
The common scale, on every embedder: what 0.20, 0.40, 0.70 and 0.85 promise, on pairs that no fit has seen.

The bounds are statements about the held-out half of the shipped pairs; what was measured is in
docs/lab/0010-calibration.md. The fake is blind to meaning and only has to rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from loopback import answering

from engramdb.models.calibration import cosines_of, fit_embedder, labelled_pairs
from engramdb.models.registry import Endpoint, open_embedder
from engramdb.models.static import StatementEmbedder, StaticEmbedder
from engramdb.testing import TinyEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from engramdb.models.calibration import Calibrated, Calibration

SHIPPED = ["static", "statements", "e5-small"]
MEANINGFUL = [*SHIPPED, "openai:loopback"]

# Another processor multiplies 8-bit numbers in another order, which moves the vectors of the pack a little.
SAME_FIT = 0.005


@dataclass(frozen=True)
class Landing:
    """Where the held-out pairs of each kind lie on the common scale."""

    similarities: NDArray[np.float64]
    relations: NDArray[np.str_]

    def of(self, *relations: str) -> NDArray[np.float64]:
        return self.similarities[np.isin(self.relations, relations)]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """A server on loopback whose cosines crowd into 0.8 to 1, as those of many served models do."""
    model = StaticEmbedder()

    def crowded(_path: str, asked: Any) -> tuple[int, object]:
        rows = np.pad(model.embed_documents(asked["input"]), ((0, 0), (0, 1)), constant_values=2)
        answer = [{"index": number, "embedding": row.tolist()} for number, row in enumerate(rows)]
        return 200, {"object": "list", "data": answer}

    with answering(crowded) as url:
        yield Endpoint(url)


@pytest.fixture(scope="module")
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    """The embedder of that name, opened as the engine opens it."""
    if request.param == "tiny":
        return TinyEmbedder()
    if request.param == "statements":
        return StatementEmbedder(StaticEmbedder())
    if request.param != "e5-small":
        home = tmp_path_factory.mktemp("home")
        return open_embedder(request.param, home, endpoint=request.getfixturevalue("endpoint"))
    return open_embedder("e5-small", request.getfixturevalue("e5_home"))


@pytest.fixture(scope="module")
def landing(embedder: Calibrated) -> Landing:
    """Every held-out pair on the embedder's own scale."""
    held_out = [pair for pair in labelled_pairs() if pair.is_held_out]
    similarities = embedder.calibration.similarities(cosines_of(embedder, held_out))
    return Landing(similarities, np.array([pair.relation for pair in held_out]))


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test on these embedders."""
    return pytest.mark.parametrize("embedder", names, indirect=True)


@on(*MEANINGFUL, "tiny")
def test_the_scale_rises_and_stays_between_0_and_1(embedder: Calibrated) -> None:
    """Ranking by similarity is ranking by cosine, whatever a rounding error does beyond one."""
    scaled = embedder.calibration.similarities(np.linspace(-1.001, 1.001, 2003))

    assert (np.diff(scaled) >= 0).all()
    assert (scaled.min(), scaled.max()) == (0, 1)


@on(*MEANINGFUL, "tiny")
def test_the_same_text_is_1(embedder: Calibrated) -> None:
    """Nothing is more alike than itself."""
    row = embedder.embed_documents(["Ann lives in Berlin"])[0]

    assert embedder.calibration.similarity(float(row @ row)) == pytest.approx(1, abs=1e-4)


@on(*MEANINGFUL)
def test_unrelated_statements_lie_low(landing: Landing) -> None:
    """Most are under the floor of search, and few would be linked."""
    unrelated = landing.of("unrelated")

    assert np.median(unrelated) < 0.25
    assert np.mean(unrelated < 0.40) >= 0.80


@on(*MEANINGFUL)
def test_statements_on_one_topic_lie_around_the_link_line(landing: Landing) -> None:
    """They are neighbours, and not the same."""
    assert 0.25 < np.median(landing.of("same_topic")) < 0.65


@on(*MEANINGFUL)
def test_related_statements_lie_above_those_on_one_topic(landing: Landing) -> None:
    """Facts about the same thing can be gathered into a theme at 0.60."""
    assert np.median(landing.of("same_topic")) < np.median(landing.of("related")) < 0.80


@on(*MEANINGFUL)
def test_paraphrases_lie_high(landing: Landing) -> None:
    """The same fact in other words is at least checked, and more often than not recognised."""
    assert np.median(landing.of("paraphrase")) >= 0.70


@on(*MEANINGFUL)
def test_contradictions_are_found_as_candidates(landing: Landing) -> None:
    """
    Most of them reach the line from which a contradiction is looked for.

    Measured: 79 % with static, 68 % with e5-small, which holds "the API uses JWT" and "… uses cookies"
    further apart than two facts about one API.
    """
    assert np.mean(landing.of("contradiction") >= 0.70) >= 0.60


@on(*MEANINGFUL)
def test_hardly_anything_else_says_the_same(landing: Landing) -> None:
    """At 0.85 a memory is reinforced instead of written, so a false alarm loses a fact."""
    others = landing.of("unrelated", "same_topic", "related")

    assert np.mean(others >= 0.85) <= 0.10


@on(*SHIPPED)
def test_the_committed_numbers_are_those_of_a_fit(embedder: Calibrated) -> None:
    """A new table or pack whose calibration was forgotten does not pass."""
    fitted, committed = fit_embedder(embedder), embedder.calibration

    assert [similarity for _, similarity in fitted.anchors] == [
        similarity for _, similarity in committed.anchors
    ]
    assert cosines(fitted) == pytest.approx(cosines(committed), abs=SAME_FIT)


def cosines(calibration: Calibration) -> list[float]:
    """The cosines at which a calibration bends."""
    return [cosine for cosine, _ in calibration.anchors]
