"""The page without a browser: forms, redirects, escaping, errors in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from engramdb import Engram, Scope

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from engramdb.testing import TinyEmbedder

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} \"'>"


def test_a_form_that_changed_something_redirects(client: TestClient, engine: Engram) -> None:
    """Reloading the page that follows repeats nothing."""
    answer = client.post("/remember", data={"content": "Helix is my editor"})

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/?note=remembered&undo=")
    assert "Remembered." in client.get(answer.headers["Location"]).text
    assert [memory.content for memory in engine.list()] == ["Helix is my editor"]


def test_a_known_statement_is_said_to_be_known(client: TestClient, engine: Engram) -> None:
    """The visitor learns that nothing new was stored."""
    engine.remember("Helix is my editor")

    answer = client.post("/remember", data={"content": "Helix is my editor"}, follow_redirects=True)

    assert "known already" in answer.text


def test_an_answer_shows_score_reasons_and_quality(client: TestClient, engine: Engram) -> None:
    """What found a memory, how much that counted, and how long it took."""
    engine.remember("Helix is my editor", speaker="Ada")

    text = client.get("/", params={"q": "which editor?"}).text

    for expected in ("Helix is my editor", "Ada", "Found by its words: place 1", "Trust ", " ms."):
        assert expected in text
    for quiet in ("<li>words</li>", "fact · trust 0."):
        assert quiet in text


def test_the_time_that_a_question_names_is_told(client: TestClient, engine: Engram) -> None:
    """A visitor sees how "in June 2023" was understood, and nothing where no time was named."""
    engine.remember("Helix is my editor")

    named = client.get("/", params={"q": "which editor in June 2023?"}).text
    plain = client.get("/", params={"q": "which editor?"}).text

    assert "from 01 Jun 2023 to before 01 Jul 2023" in " ".join(named.split())
    assert "about the time" not in plain


def test_the_page_answers_from_the_past(client: TestClient, engine: Engram) -> None:
    """As known on a day is as known at its end; what cannot be helped any more asks for no verdict."""
    engine.remember("Helix is my editor")
    today = datetime.now(UTC).date()

    known = client.get("/", params={"q": "which editor?", "as_of": f"{today + timedelta(days=1)}"}).text
    before = client.get("/", params={"q": "which editor?", "as_of": f"{today - timedelta(days=1)}"}).text

    assert f'value="{today + timedelta(days=1)}"' in known
    assert "Score " in known
    assert "Not helpful" not in known
    assert "Nothing that was known then fits" in before
    assert "Ask again as of now" in before


@pytest.mark.parametrize("day", ["soon", "2026-13-01", "9999-12-31", "<b>"])
def test_a_day_that_is_none_is_told_in_words(client: TestClient, engine: Engram, day: str) -> None:
    """The question is still in its field, and nothing was guessed."""
    answer = client.get("/", params={"q": "which editor?", "as_of": day})

    assert answer.status_code == 422
    assert "is not a date" in answer.text
    assert 'value="which editor?"' in answer.text
    assert "<b>" not in answer.text


@pytest.mark.parametrize(
    ("helpful", "note", "counts"), [("yes", "Noted: it helped.", (1, 0)), ("no", "Noted. Such", (0, 1))]
)
def test_feedback_returns_to_the_question(
    client: TestClient, engine: Engram, helpful: str, note: str, counts: tuple[int, int]
) -> None:
    """What did not help is gone from the answer that is shown next, and from no other."""
    memory = engine.remember("Helix is my editor")

    form = {"id": memory.id, "q": "which editor?", "helpful": helpful}
    answer = client.post("/feedback", data=form, follow_redirects=True)

    assert answer.url.params["q"] == "which editor?"
    assert note in answer.text
    assert ("Score " in answer.text) is (helpful == "yes")
    assert "Score " in client.get("/", params={"q": "Helix"}).text
    told = engine.get(memory.id)
    assert (told.helped, told.unhelpful) == counts


def test_what_did_not_take_part_is_told(client: TestClient, engine: Engram, embedder: TinyEmbedder) -> None:
    """A recall that lost an index says so on the page, and shows what the others found."""
    engine.remember("Helix is my editor")
    embedder.failure = "the model is asleep"

    text = client.get("/", params={"q": "editor"}).text

    assert "Not everything took part" in text
    assert "the model is asleep" in text
    assert "Helix is my editor" in text


def test_every_text_is_escaped(client: TestClient, engine: Engram) -> None:
    """Memories, questions and speakers are text and never markup."""
    engine.remember(ATTACK, speaker="<b>Eve</b>")

    for parameters in ({"q": ATTACK}, {"q": "alert"}, {"note": ATTACK}, {"before": ATTACK}):
        text = client.get("/", params=parameters).text

        assert "<script" not in text
        assert "<img src=x" not in text
        assert "<b>Eve" not in text
    refused = client.post("/remember", data={"content": ATTACK * 200})
    assert refused.status_code == 413
    assert "<script" not in refused.text


@pytest.mark.parametrize(
    ("path", "form", "status", "words"),
    [
        ("/remember", {"content": "  "}, 422, "the memory is empty"),
        ("/remember", {}, 422, "the memory is empty"),
        ("/remember", {"content": "draft " * 2000}, 413, "too large"),
        ("/forget", {"id": "nobody"}, 404, "no memory"),
        ("/feedback", {"id": "nobody", "helpful": "yes"}, 404, "no memory"),
        ("/feedback", {"id": "nobody", "helpful": "perhaps"}, 422, "whether it helped is not said"),
        ("/feedback", {"id": "nobody"}, 422, "whether it helped is not said"),
    ],
)
def test_an_error_is_told_in_words(
    client: TestClient, path: str, form: dict[str, str], status: int, words: str
) -> None:
    """The page comes back with what went wrong and with the text still in its field."""
    answer = client.post(path, data=form)

    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert words in answer.text
    assert form.get("content", "").strip() in answer.text


def test_forgetting_returns_to_the_question(client: TestClient, engine: Engram) -> None:
    """The memory is gone from the answer that is shown next."""
    memory = engine.remember("Tea is served at four")

    answer = client.post("/forget", data={"id": memory.id, "q": "a & b?"}, follow_redirects=True)

    assert answer.url.params["q"] == "a & b?"
    assert "Forgotten." in answer.text
    assert "served at four" not in answer.text


def test_what_was_just_done_can_be_undone(client: TestClient, engine: Engram) -> None:
    """The notice has a button that brings everything back; a link to it alone does nothing."""
    memory = engine.remember("Tea is served at four")
    told = client.post("/forget", data={"id": memory.id, "q": "tea?"}, follow_redirects=True)
    assert 'action="/undo"' in told.text
    assert memory.id in told.text

    back = client.post("/undo", data={"id": memory.id, "q": "tea?"}, follow_redirects=True)

    assert "Undone." in back.text
    assert "served at four" in back.text
    assert back.url.params["q"] == "tea?"
    assert 'action="/undo"' not in back.text
    assert client.post("/undo", data={"id": "nobody", "q": ""}).status_code == 404


def test_older_memories_have_pages_of_their_own(client: TestClient, engine: Engram) -> None:
    """Twenty at a time, with a way on and a way back."""
    for number in range(25):
        engine.remember(f"statement number {number}")

    first = client.get("/").text
    oldest_shown = engine.list(limit=20)[-1].id
    second = client.get("/", params={"before": oldest_shown}).text

    assert f"before={oldest_shown}" in first
    assert "statement number 4<" not in first
    assert "statement number 4<" in second
    assert "Back to the newest" in second


def test_an_empty_store_invites(client: TestClient) -> None:
    """The first visit says what to do."""
    assert "Write the first statement" in client.get("/").text


def test_a_sample_life_can_be_loaded_into_an_empty_store(client: TestClient, engine: Engram) -> None:
    """What Mira said lies in the past, what changed is superseded, and a second time is refused."""
    offered = client.get("/").text
    loaded = client.post("/sample")
    again = client.post("/sample")

    contents = [memory.content for memory in engine.list(limit=100)]
    assert "Load the sample life" in offered
    assert loaded.headers["Location"] == "/?note=sample"
    assert "Load the sample life" not in client.get("/").text
    assert again.status_code == 409
    assert "E1012" in again.text
    assert [memory.content for memory in engine.list(limit=100)] == contents
    assert any("Lisbon" in content for content in contents)
    assert not any("Ghent" in content for content in contents)
    assert all(memory.when < datetime.now(UTC) - timedelta(days=5) for memory in engine.list(limit=100))


@pytest.mark.parametrize("scope", [Scope(), Scope(user="ada")], ids=["here", "in another scope"])
def test_no_sample_life_is_mixed_into_a_store_in_use(
    client: TestClient, engine: Engram, scope: Scope
) -> None:
    """A global memory would be seen from every scope, so a store that holds anything is left alone."""
    engine.remember("Ada likes green tea", scope=scope)

    refused = client.post("/sample")

    assert refused.status_code == 409
    assert "Load the sample life" not in client.get("/").text
    assert engine.status().memories == 1


def test_another_site_cannot_load_the_sample_life(client: TestClient, engine: Engram) -> None:
    """Like every form of the page, it takes no request from elsewhere."""
    refused = client.post("/sample", headers={"Sec-Fetch-Site": "cross-site"})

    assert refused.status_code == 403
    assert engine.status().turns == 0


def test_memories_of_other_scopes_are_pointed_to(client: TestClient, engine: Engram) -> None:
    """An agent was connected for Ada; who opens the page without her name is told how to see them."""
    engine.remember("Ada likes green tea", scope=Scope(user="ada"))

    text = client.get("/").text

    assert "green tea" not in text
    assert "Other scopes hold memories, such as user=ada" in text


def test_an_unknown_note_says_nothing(client: TestClient) -> None:
    """Nobody can put words on the page with a link."""
    assert "You have won" not in client.get("/", params={"note": "You have won"}).text
