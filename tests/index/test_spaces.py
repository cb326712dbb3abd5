"""While memories are embedded anew by another model, both spaces answer, on one scale."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from engramdb.errors import EmbedderUnavailable
from engramdb.index.spaces import MIN_SHARED, Scale, VectorSpaces, fit_scale
from engramdb.store.contract import ScoredKey
from engramdb.testing import TinyEmbedder
from engramdb.values import GLOBAL, EmbedderIdentity, Filters, Scope

from .made import ANN, add, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engramdb.index.vector import Nearest
    from engramdb.store.sqlite.store import SqliteStore

TEXTS = (
    "tea is what Ann drinks in the morning",
    "the deploy job runs every night",
    "Helix is the editor of choice",
    "the cat is called Minka",
)


class OtherEmbedder(TinyEmbedder):
    """The same words in a space of another size, crowded into one corner of it."""

    identity = EmbedderIdentity(name="other", dimension=96, revision="1")
    similarity_floor = 0.7

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, all of them leaning towards the last dimension."""
        rows: NDArray[np.float32] = super().embed_documents(texts)
        rows *= (1 - self.similarity_floor) ** 0.5
        rows[:, -1] = self.similarity_floor**0.5
        return rows


@pytest.fixture
def store(store_path: Path) -> Iterator[SqliteStore]:
    """A store whose memories are embedded by the older embedder."""
    opened = open_store(store_path)
    with opened.atomic() as tx:
        for text in TEXTS:
            add(tx, text)
    embed(opened, OtherEmbedder(), range(1, len(TEXTS) + 1))
    yield opened
    opened.close()


def embed(store: SqliteStore, embedder: TinyEmbedder, keys: Sequence[int]) -> None:
    """Embed these memories, as the background does."""
    with store.atomic() as tx:
        vectors = embedder.embed_documents([TEXTS[key - 1] for key in keys])
        tx.vectors.put(tx.vectors.make_space(embedder.identity), list(keys), vectors)


def ask(
    spaces: VectorSpaces,
    store: SqliteStore,
    text: str,
    *,
    limit: int = 10,
    scope: Scope = GLOBAL,
    also: Sequence[int] = (),
) -> Nearest:
    """The answer to a question, by the present embedder and, where need be, by older ones."""
    (query,) = TinyEmbedder().embed_queries([text])
    with store.read() as tx:
        return spaces.search(tx, query, text=text, scope=scope, filters=Filters(), limit=limit, also=also)


def spaces_with(*older: TinyEmbedder) -> VectorSpaces:
    """Spaces whose present embedder is tiny."""
    return VectorSpaces(TinyEmbedder(), memory_bytes=10**9, older=older)


def test_before_anything_is_embedded_anew_the_older_space_answers(store: SqliteStore) -> None:
    """A changed model loses nothing: the first question finds every memory where it was."""
    answer = ask(spaces_with(OtherEmbedder()), store, TEXTS[2])

    assert answer.found[0].key == 3
    assert answer.found[0].score == pytest.approx(1, abs=0.02)
    assert (answer.waiting, answer.borrowed) == (0, len(TEXTS))


def test_halfway_both_spaces_answer_and_no_memory_twice(store: SqliteStore) -> None:
    """Each memory is found in the newest space that has it."""
    embed(store, TinyEmbedder(), [1, 2])
    spaces = spaces_with(OtherEmbedder())

    answers = [ask(spaces, store, text) for text in TEXTS]

    assert [answer.found[0].key for answer in answers] == [1, 2, 3, 4]
    for answer in answers:
        assert sorted(one.key for one in answer.found) == [1, 2, 3, 4]
        assert (answer.waiting, answer.borrowed) == (0, 2)
        assert answer.found == sorted(answer.found, key=lambda one: -one.score)


def test_scores_of_both_spaces_are_on_the_newer_ones_scale(store: SqliteStore) -> None:
    """What has nothing to do with the question scores the newer floor in either space, the same scores 1."""
    embed(store, TinyEmbedder(), [1])

    answer = ask(spaces_with(OtherEmbedder()), store, TEXTS[3])

    scores = {one.key: one.score for one in answer.found}
    assert scores[4] == pytest.approx(1, abs=0.02)
    assert max(scores[2], scores[3]) < 0.5  # by the raw cosine of their space, above 0.7


def test_memories_in_both_spaces_teach_the_scale() -> None:
    """With enough of them, mean and spread of the older scores become those of the newer ones."""
    older = {key: 0.70 + 0.001 * key for key in range(100)}
    newer = {key: 0.10 + 0.004 * key for key in range(50, 150)}

    scale = fit_scale(older, newer, floors=(0.7, 0.1))

    assert [one.score for one in scale([ScoredKey(1, 0.75), ScoredKey(2, 0.80)])] == pytest.approx(
        [0.30, 0.50]
    )


@pytest.mark.parametrize("shared", [0, MIN_SHARED - 1])
def test_too_few_memories_in_both_spaces_leave_the_floors(shared: int) -> None:
    """What is unrelated in one space is unrelated in the other, and the same stays the same."""
    scores = dict.fromkeys(range(shared), 0.5)

    scale = fit_scale(scores, scores, floors=(0.7, 0.1))

    assert [one.score for one in scale([ScoredKey(1, 0.7), ScoredKey(2, 1.0)])] == pytest.approx([0.1, 1.0])


def test_equal_scores_teach_nothing() -> None:
    """A sample without spread falls back to the floors instead of dividing by nothing."""
    scores = dict.fromkeys(range(100), 0.5)

    assert fit_scale(scores, scores, floors=(0.0, 0.0)) == Scale(1.0, 0.0)


def test_when_all_are_embedded_the_older_space_is_let_go(store: SqliteStore) -> None:
    """The end of the move frees the memory, and answers stay the same."""
    spaces = spaces_with(OtherEmbedder())
    during = ask(spaces, store, TEXTS[0])
    embed(store, TinyEmbedder(), [1, 2, 3, 4])

    after = ask(spaces, store, TEXTS[0])

    assert during.found[0].key == after.found[0].key == 1
    assert (after.waiting, after.borrowed) == (0, 0)
    assert list(spaces._indexes) == [TinyEmbedder.identity]


def test_an_older_embedder_that_fails_is_named_and_its_memories_are_counted(store: SqliteStore) -> None:
    """The answer is what the present space knows, and says how many wait and why."""
    embed(store, TinyEmbedder(), [1, 2])
    older = OtherEmbedder()
    older.failure = "gone"

    answer = ask(spaces_with(older), store, TEXTS[0])

    assert {one.key for one in answer.found} == {1, 2}
    assert (answer.waiting, answer.borrowed) == (2, 0)
    assert "gone" in answer.notes[0]


def test_without_an_older_embedder_the_answer_says_how_many_wait(store: SqliteStore) -> None:
    """As before: nothing is hidden."""
    embed(store, TinyEmbedder(), [1])

    answer = ask(spaces_with(), store, TEXTS[0])

    assert [one.key for one in answer.found] == [1]
    assert answer.waiting == 3


def test_what_no_space_has_still_waits(store: SqliteStore) -> None:
    """A memory that was never embedded is counted, in the reader's scope."""
    with store.atomic() as tx:
        add(tx, "new and not yet embedded")
        add(tx, "new for Ann", scope=ANN)
    spaces = spaces_with(OtherEmbedder())

    assert ask(spaces, store, TEXTS[0]).waiting == 1
    assert ask(spaces, store, TEXTS[0], scope=ANN).waiting == 2


def test_of_several_older_spaces_the_latest_that_has_a_memory_answers(store: SqliteStore) -> None:
    """Two changes of the model in a row lose nothing either."""

    class Oldest(OtherEmbedder):
        identity = EmbedderIdentity(name="oldest", dimension=96, revision="1")

    with store.atomic() as tx:
        tx.vectors.clear()
    embed(store, Oldest(), [1, 2, 3, 4])
    embed(store, OtherEmbedder(), [1, 2])
    embed(store, TinyEmbedder(), [1])

    answer = ask(spaces_with(OtherEmbedder(), Oldest()), store, TEXTS[3])

    assert answer.found[0].key == 4
    assert sorted(one.key for one in answer.found) == [1, 2, 3, 4]
    assert (answer.waiting, answer.borrowed) == (0, 3)


def test_what_another_index_found_is_scored_in_its_own_space(store: SqliteStore) -> None:
    """A hit by words that waits to be embedded still gets its similarity, beyond the limit."""
    embed(store, TinyEmbedder(), [1, 2])

    answer = ask(spaces_with(OtherEmbedder()), store, TEXTS[0], limit=1, also=[4])

    assert [one.key for one in answer.found] == [1, 4]


def test_loading_brings_in_the_older_space_while_it_is_needed(store: SqliteStore) -> None:
    """The background loads both spaces, and only the present one once it is complete."""
    during, after = spaces_with(OtherEmbedder()), spaces_with(OtherEmbedder())

    during.load(store, stop=threading.Event())
    embed(store, TinyEmbedder(), [1, 2, 3, 4])
    after.load(store, stop=threading.Event())

    assert len(during._indexes) == 2
    assert len(after._indexes) == 1


def test_an_older_embedder_that_cannot_be_opened_does_not_stop_the_loading(store: SqliteStore) -> None:
    """Its name is not even known; the present space loads all the same."""

    class Absent(OtherEmbedder):
        @property
        def identity(self) -> EmbedderIdentity:  # type: ignore[override]
            raise EmbedderUnavailable("no such model")

    spaces = spaces_with(Absent())

    spaces.load(store, stop=threading.Event())
    answer = ask(spaces, store, TEXTS[0])

    assert answer.waiting == len(TEXTS)
    assert "no such model" in answer.notes[0]
