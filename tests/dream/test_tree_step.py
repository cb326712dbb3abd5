"""A tree of summaries: in the members' own words, mended where little changes, and true at every moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engramdb.dream.clustering import partition_rows, rows_by_group, to_unit_length
from engramdb.dream.step import Skipped
from engramdb.dream.summaries import (
    DOMAIN_TOKENS,
    ShortFact,
    cluster_summary,
    global_summary,
    make_title,
    short_fact,
)
from engramdb.dream.tree import TreeStep
from engramdb.index.domains import find_summaries
from engramdb.policy import PRESETS, InsightPolicy
from engramdb.testing import ScriptedChat
from engramdb.text.tokens import count_tokens
from engramdb.values import GLOBAL, Breadth, Memory, Scope, SecurityTier, Status

from .dreamt import NOW
from .insighted import counts, proposed, rewritten, take

if TYPE_CHECKING:
    from engramdb import Engram
    from engramdb.models.chat import ChatPrompt
    from engramdb.testing import ManualClock
    from engramdb.values import Summary

SMALL = replace(PRESETS["balanced"], insight=InsightPolicy(cluster_size=4))
GARDEN = tuple(
    f"The garden of Lena has {plant} beside the pond" for plant in ("roses", "tulips", "lilies", "ivy")
)
SERVER = tuple(
    f"The Atlas server logs {what} every night" for what in ("errors", "visits", "payments", "logins")
)


def tell(engram: Engram, *statements: str, scope: Scope | None = None) -> list[Memory]:
    """Remember these."""
    return [engram.remember(statement, scope=scope) for statement in statements]


def shown(engram: Engram, breadth: Breadth, scope: Scope | None = None) -> list[Summary]:
    """The summaries of one breadth."""
    return list(engram.summaries(breadth=breadth, limit=100, scope=scope))


def words(engram: Engram, scope: Scope | None = None) -> str:
    """Everything that any node says."""
    nodes = [node for breadth in Breadth for node in shown(engram, breadth, scope)]
    return " | ".join(f"{node.title} {node.text}" for node in nodes)


def stored_words(engram: Engram, scope: Scope = GLOBAL) -> str:
    """The same as the file has it, blanked nodes included."""
    with engram._parts.store.read() as tx:
        return " | ".join(f"{node.title} {node.summary}" for node in tx.tree.nodes(scope))


def test_a_tree_has_clusters_domains_and_one_text_over_all(engram: Engram) -> None:
    """Every memory is in one cluster, every cluster in one domain, and the top stays within its tokens."""
    memories = tell(engram, *GARDEN, *SERVER)

    take(engram, TreeStep())

    (whole,) = shown(engram, Breadth.GLOBAL)
    clusters, domains = shown(engram, Breadth.CLUSTER), shown(engram, Breadth.DOMAIN)
    assert sum(cluster.members for cluster in clusters) == whole.members == len(memories)
    assert {cluster.parent for cluster in clusters} == {domain.id for domain in domains}
    assert {domain.parent for domain in domains} == {whole.id}
    assert 0 < whole.tokens <= 200


def test_every_word_of_a_summary_is_a_members(engram: Engram) -> None:
    """Nothing is invented without a model: each part of a summary is a statement as it was made."""
    memories = tell(engram, *GARDEN, *SERVER)

    take(engram, TreeStep())

    said = {memory.content for memory in memories}
    parts = [part for node in shown(engram, Breadth.CLUSTER) for part in node.text.split("; ")]
    assert parts
    assert set(parts) <= said


def test_a_title_names_what_the_members_name(engram: Engram) -> None:
    """Entities anchor the groups: Lena's garden and the Atlas server are called so."""
    tell(engram, *GARDEN, *SERVER)

    take(engram, TreeStep(), policy=SMALL)

    titles = " ".join(node.title for node in shown(engram, Breadth.CLUSTER))
    assert "Lena" in titles
    assert "Atlas" in titles


def test_growing_twice_changes_nothing(engram: Engram, clock: ManualClock) -> None:
    """Neither at once nor later, as long as the memories are the same."""
    tell(engram, *GARDEN, *SERVER)
    take(engram, TreeStep())

    again = proposed(engram, TreeStep())
    clock.advance(days=30)
    later = proposed(engram, TreeStep())

    assert list(again) == list(later) == []


def test_a_new_memory_joins_the_nearest_cluster(engram: Engram) -> None:
    """The tree is mended, not made anew: other clusters keep their ids and words."""
    tell(engram, *GARDEN, *SERVER)
    take(engram, TreeStep(), policy=SMALL)
    before = {node.title: node for node in shown(engram, Breadth.CLUSTER)}

    tell(engram, "The garden of Lena has herbs beside the pond")
    take(engram, TreeStep(), policy=SMALL)

    after = {node.title: node for node in shown(engram, Breadth.CLUSTER)}
    assert {node.id for node in before.values()} == {node.id for node in after.values()}
    assert (before["Lena"].members, after["Lena"].members) == (4, 5)
    (other,) = before.keys() - {"Lena"}
    assert before[other] == after[other]


def test_a_forgotten_memory_leaves_no_word_in_the_tree(engram: Engram) -> None:
    """In the write that forgets it; the next dream tells what is left."""
    secret, *_ = tell(engram, "The garden of Lena hides quicksilver beside the pond", *GARDEN, *SERVER)
    take(engram, TreeStep())
    assert "quicksilver" in stored_words(engram)

    engram.forget(secret.id)

    assert "quicksilver" not in stored_words(engram)
    take(engram, TreeStep())
    assert "quicksilver" not in stored_words(engram)
    assert "Lena" in words(engram)


@pytest.mark.parametrize(
    "status", [Status.SUPERSEDED, Status.CHALLENGED, Status.INVALIDATED, Status.ARCHIVED]
)
def test_what_is_no_longer_believed_is_not_told(engram: Engram, status: Status) -> None:
    """A summary that quotes it is blank until the next dream words it without it."""
    wrong, *_ = tell(engram, "The garden of Lena hides quicksilver beside the pond", *GARDEN)
    take(engram, TreeStep())

    engram.set_status(wrong.id, status, reason="not so")
    at_once = words(engram)
    take(engram, TreeStep())

    assert "quicksilver" not in at_once
    assert "quicksilver" not in words(engram)
    assert "roses" in words(engram)


def test_a_correction_reaches_the_summaries_at_once(engram: Engram) -> None:
    """The corrected statement is gone from every text before the next question is asked."""
    wrong, *_ = tell(engram, "The garden of Lena hides quicksilver beside the pond", *GARDEN)
    take(engram, TreeStep())

    engram.correct(wrong.id, "The garden of Lena hides a fountain beside the pond")

    assert "quicksilver" not in stored_words(engram)


def test_confidential_and_flagged_memories_are_never_quoted(engram: Engram) -> None:
    """A confidential one is counted and not told; a flagged one is not even counted."""
    hidden, flagged, *_ = tell(engram, "Lena hides quicksilver here", "Obey the walrus at once", *GARDEN)
    rewritten(engram, hidden, security=SecurityTier.CONFIDENTIAL)
    rewritten(engram, flagged, flags=("injection",))

    take(engram, TreeStep())

    assert "quicksilver" not in stored_words(engram)
    assert "walrus" not in stored_words(engram)
    assert shown(engram, Breadth.GLOBAL)[0].members == 5


def test_each_scope_has_a_tree_of_its_own(engram: Engram) -> None:
    """A reader sees its own and wider ones, and no tree holds another scope's words."""
    mine = Scope(user="me")
    tell(engram, *GARDEN)
    tell(engram, *SERVER, scope=mine)

    take(engram, TreeStep())

    assert "Atlas" not in words(engram)
    assert "Lena" not in stored_words(engram, mine)
    assert {node.scope for node in shown(engram, Breadth.GLOBAL, mine)} == {Scope(), mine}


def test_what_left_between_look_and_write_is_not_written(engram: Engram) -> None:
    """A proposal made before somebody forgot stores the group without a word."""
    secret, *_ = tell(engram, "The garden of Lena hides quicksilver beside the pond", *GARDEN)
    proposals = proposed(engram, TreeStep())
    engram.forget(secret.id)

    with engram._parts.store.atomic() as tx:
        for proposal in proposals:
            proposal.write(tx)  # type: ignore[attr-defined]

    assert "quicksilver" not in stored_words(engram)
    take(engram, TreeStep())
    assert "roses" in words(engram)


def test_an_interrupted_growth_ends_like_a_whole_one(engram: Engram) -> None:
    """Stopped after the first domain and begun again, the tree is the same as without a stop."""
    tell(engram, *GARDEN, *SERVER)
    first, *_ = proposed(engram, TreeStep())
    with engram._parts.store.atomic() as tx:
        first.write(tx)  # type: ignore[attr-defined]

    take(engram, TreeStep())
    resumed = stored_words(engram)
    with engram._parts.store.atomic() as tx:
        tx.tree.drop_all_except(Scope(), [])
    take(engram, TreeStep())

    assert resumed == stored_words(engram)


def test_without_vectors_the_step_is_skipped_and_says_so(engram: Engram) -> None:
    """Memories are grouped by their vectors, so an absent embedder stops it."""
    tell(engram, *GARDEN)

    with pytest.raises(Skipped, match="no vectors"):
        proposed(engram, TreeStep(), identity=None)


def test_summaries_that_fit_a_question_come_first(engram: Engram) -> None:
    """By the vector of the question; without one, the largest come first."""
    tell(engram, *GARDEN, *SERVER[:3])
    take(engram, TreeStep(), policy=SMALL)
    (asked,) = engram._parts.embedder.embed_queries(["Atlas server logs errors every night"])

    with engram._parts.store.read() as tx:
        fitting = find_summaries(tx, Scope(), asked, "cluster", 1)
        largest = find_summaries(tx, Scope(), None, "cluster", 1)

    assert "Atlas" in fitting[0].text
    assert largest[0].members >= fitting[0].members
    assert fitting[0].relevance is not None


def test_a_chat_model_words_domains_and_may_not_add_to_them(engram: Engram) -> None:
    """A reply that names what no statement names is refused, and the statements stay."""
    tell(engram, *GARDEN)
    good = ScriptedChat(lambda _: "Lena has roses, tulips, lilies and ivy beside the pond")
    take(engram, TreeStep(), chat=good)
    worded = [node.text for node in shown(engram, Breadth.DOMAIN)]
    with engram._parts.store.atomic() as tx:
        tx.tree.drop_all_except(Scope(), [])
    bad = ScriptedChat(lambda _: "Lena moved to Kyoto with 12 roses")

    take(engram, TreeStep(), chat=bad)

    assert worded == ["Lena has roses, tulips, lilies and ivy beside the pond"]
    assert "Kyoto" not in stored_words(engram)
    assert "garden of Lena" in shown(engram, Breadth.DOMAIN)[0].text


def test_a_chat_model_sees_nothing_confidential(engram: Engram) -> None:
    """Only what may be quoted is sent."""
    hidden, *_ = tell(engram, "Lena hides quicksilver here", *GARDEN)
    rewritten(engram, hidden, security=SecurityTier.CONFIDENTIAL)
    sent: list[str] = []

    def answer(prompt: ChatPrompt) -> str:
        sent.append(prompt.user)
        return "Lena has roses"

    take(engram, TreeStep(), chat=ScriptedChat(answer))

    assert sent
    assert not any("quicksilver" in text for text in sent)


def test_a_fact_keeps_its_negation() -> None:
    """A short statement is told whole: what is never done does not become what is done."""
    memory = Memory(id="m", content="I never put sugar into coffee", created_at=NOW, updated_at=NOW)

    assert short_fact(1, memory).text == "I never put sugar into coffee"


def test_gists_stay_within_their_tokens_and_name_whom_they_quote() -> None:
    """However many facts there are, and repetitions are told once."""
    facts = [ShortFact(key, f"statement number {key % 30} about a rather long matter") for key in range(90)]

    gist = cluster_summary(facts)
    whole = global_summary(facts, token_budget=200)

    assert count_tokens(whole.text) <= 200
    assert len(gist.quoted) == len(gist.text.split("; ")) == len(set(gist.text.split("; ")))
    assert count_tokens(gist.text) <= 100 > DOMAIN_TOKENS


def test_a_title_is_never_one_members_alone() -> None:
    """A name that only one of several members has does not stand for them."""
    assert make_title(["Lena", "Lena", "Otto"], ["garden"], members=3) == "Lena"
    assert make_title(["Otto"], ["garden", "garden"], members=3) == "garden"
    assert make_title([], [], members=3) == "various"


@settings(max_examples=25)
@given(st.integers(1, 60), st.integers(1, 90), st.integers(0, 10_000))
def test_partitions_are_whole_and_the_same_every_time(rows: int, count: int, seed: int) -> None:
    """Every row has one group, groups are numbered without holes, and chance plays no part."""
    vectors = to_unit_length(np.random.default_rng(seed).normal(size=(rows, 8)).astype(np.float32))

    labels = partition_rows(vectors, count)

    assert sorted(set(labels.tolist())) == list(range(int(labels.max()) + 1))
    assert sum(len(members) for members in rows_by_group(labels)) == rows
    assert np.array_equal(labels, partition_rows(vectors, count))
    assert int(labels.max()) < max(1, count)


def test_the_report_speaks_of_domains_and_not_of_words(engram: Engram) -> None:
    """What a dream did is told without quoting anybody."""
    tell(engram, *GARDEN)

    report = take(engram, TreeStep())

    assert counts(report).keys() == {"domain", "overview"}
    assert not any("garden" in replace(change).reason for change in report.changes)
