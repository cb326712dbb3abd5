"""The page in a real browser: what a visitor does, with and without scripts, at any width."""

from __future__ import annotations

import re
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect, sync_playwright
from speaking import say

from engramdb import Engram, Settings
from engramdb.http.server import Server, bind
from engramdb.http.tokens import OWN_FILE, NamedTokens, Tokens, stored_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on PATH"),
    pytest.mark.xdist_group("chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this file; each test has a context of its own."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


@contextmanager
def serving(engram: Engram, tokens: Tokens | None = None) -> Iterator[str]:
    """Yield the address of a real server."""
    with bind("127.0.0.1", 0) as listener:
        server, is_ready = Server(engram, listener, host="127.0.0.1", tokens=tokens), threading.Event()
        thread = threading.Thread(target=server.run, kwargs={"ready": lambda _url: is_ready.set()})
        thread.start()
        try:
            assert is_ready.wait(30)
            yield server.url
        finally:
            server.stop()
            thread.join()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a real server on a fresh store."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(settings=settings, background=False) as engram, serving(engram) as address:
        yield address


@pytest.fixture(params=["with scripts", "without scripts"])
def page(request: pytest.FixtureRequest, browser: Browser, url: str) -> Iterator[Page]:
    """A visitor's page that collects what the browser complains of."""
    context = browser.new_context(java_script_enabled=request.param == "with scripts")
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(url)
    yield opened
    context.close()
    assert complaints == []


def remember(page: Page, text: str) -> None:
    """Write a statement into the page as a visitor does."""
    page.get_by_label("One statement").fill(text)
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("status")).to_contain_text("Remembered")
    page.wait_for_load_state("load")  # the text is there before the style sheet is


def test_a_visitor_remembers_asks_and_forgets(page: Page) -> None:
    """The whole life of a memory, by the labels that a screen reader would speak."""
    remember(page, "My editor is Helix")

    page.get_by_label("What would you like to know?").fill("which editor?")
    page.get_by_role("button", name="Ask").click()
    answer = page.get_by_role("region", name="What fits")
    expect(answer.get_by_role("listitem").first).to_contain_text("My editor is Helix")
    expect(answer).to_contain_text("Score")

    answer.get_by_text("Why this one?").click()
    expect(answer.get_by_text("Found by its words")).to_be_visible()

    answer.get_by_text("Forget", exact=False).first.click()
    answer.get_by_role("button", name="Yes, forget it").click()
    expect(page.get_by_role("status")).to_contain_text("Forgotten")
    expect(page.get_by_text("My editor is Helix")).to_have_count(0)
    expect(page.get_by_text("Nothing that is remembered fits")).to_be_visible()


def ask(page: Page, question: str) -> Locator:
    """Ask a question as a visitor does and return the answer."""
    page.get_by_label("What would you like to know?").fill(question)
    page.get_by_role("button", name="Ask").click()
    return page.get_by_role("region", name="What fits")


def test_what_was_only_said_stands_apart(browser: Browser, tmp_path: Path) -> None:
    """Below a heading that says so, with who said it, and nothing to forget or to judge."""
    settings = Settings(home=tmp_path, embedder="static")
    with Engram.open(settings=settings, background=False) as engram, serving(engram) as address:
        say(engram, "The spare key is under the blue flowerpot.", speaker="Ada")
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)

        answer = ask(page, "where is the spare key?")

        expect(answer.get_by_role("heading", name="Said, not kept as a memory")).to_be_visible()
        expect(answer.get_by_role("listitem")).to_contain_text("under the blue flowerpot")
        expect(answer.get_by_role("listitem")).to_contain_text("Ada")
        expect(answer.get_by_role("button")).to_have_count(0)
        expect(page.get_by_text("Nothing that is remembered fits")).to_have_count(0)
        context.close()


def test_a_hit_says_why_it_is_here(page: Page) -> None:
    """What found it and how far it is trusted stand below it, without a click."""
    remember(page, "My editor is Helix")

    hit = ask(page, "which editor?").get_by_role("listitem").first

    expect(hit.get_by_text(re.compile("^\\s*found by"))).to_be_visible()
    expect(hit.get_by_role("listitem")).to_have_text(["meaning", "words"])
    expect(hit).to_contain_text("fact · trust 0.")


def test_a_supposition_is_marked_as_one(page: Page) -> None:
    """In an answer and in the list alike."""
    remember(page, "If I won the lottery I'd live in Norway")

    expect(ask(page, "Norway?").get_by_role("listitem").first).to_contain_text("supposed")
    expect(page.locator(".recent")).to_contain_text("supposed")


def test_a_visitor_says_what_helped(page: Page) -> None:
    """Helpful keeps it in the answer; not helpful takes it out of this answer and of no other."""
    remember(page, "My editor is Helix")

    ask(page, "which editor?").get_by_role("button", name=re.compile("^Helpful.*Helix")).click()
    expect(page.get_by_role("status")).to_contain_text("it helped")
    answer = page.get_by_role("region", name="What fits")
    expect(answer).to_contain_text("My editor is Helix")

    answer.get_by_role("button", name=re.compile("^Not helpful.*Helix")).click()
    expect(page.get_by_role("status")).to_contain_text("will not find it for a while")
    expect(page.get_by_text("Nothing that is remembered fits")).to_be_visible()
    expect(ask(page, "what is Helix?")).to_contain_text("My editor is Helix")


def test_a_visitor_of_an_empty_page_loads_the_sample_life(page: Page) -> None:
    """One click fills the page with memories to ask; there is no second one."""
    page.get_by_role("button", name="Load the sample life").click()

    expect(page.get_by_role("status")).to_contain_text("what Mira said")
    expect(page.get_by_text("no peanuts for me").first).to_be_visible()
    expect(page.get_by_role("button", name="Load the sample life")).to_have_count(0)
    hit = ask(page, "where does her sister Nora live?").get_by_role("listitem").first
    expect(hit).to_contain_text("Lisbon")


def test_the_sample_life_is_offered_to_an_empty_store_alone(page: Page, url: str, browser: Browser) -> None:
    """Somebody who remembers first is not offered it, and a page that still shows the button is refused."""
    late = browser.new_context().new_page()
    late.goto(url)
    remember(page, "My editor is Helix")

    expect(page.get_by_role("button", name="Load the sample life")).to_have_count(0)
    late.get_by_role("button", name="Load the sample life").click()
    expect(late.get_by_role("alert")).to_contain_text("holds memories")
    expect(late.get_by_text("peanuts")).to_have_count(0)
    late.context.close()


def test_a_visitor_asks_the_past(page: Page) -> None:
    """A day before the statement knows nothing of it; the way back to now is one link."""
    remember(page, "My editor is Helix")

    page.get_by_role("textbox", name="as known on").fill("2020-05-08")
    answer = ask(page, "which editor?")
    expect(answer.get_by_role("heading")).to_contain_text("as known on 2020-05-08")
    expect(answer).to_contain_text("Nothing that was known then fits")
    expect(page.get_by_role("textbox", name="as known on")).to_have_value("2020-05-08")

    answer.get_by_role("link", name="Ask again as of now").click()
    expect(page.get_by_role("region", name="What fits")).to_contain_text("My editor is Helix")
    expect(page.get_by_role("textbox", name="as known on")).to_have_value("")


def test_markup_in_a_memory_stays_text(page: Page) -> None:
    """What looks like a script is shown and not run."""
    remember(page, "<script>document.title = 'owned'</script><b>bold</b>")

    expect(page.get_by_text("<b>bold</b>").first).to_be_visible()
    assert page.title() == "Engram"


def test_the_keyboard_is_enough(page: Page) -> None:
    """Tab reaches the question first after the skip link and the name, and Enter asks."""
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.type("anything")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="What fits")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_sideways_scrolling(
    browser: Browser, url: str, scheme: Literal["light", "dark"]
) -> None:
    """A long word wraps, and both colour schemes have a background of their own."""
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(url)
    remember(opened, "x" * 500)
    ask(opened, "x" * 500)
    expect(opened.get_by_role("button", name="Not helpful")).to_be_visible()
    opened.wait_for_load_state("load")

    width = opened.evaluate("document.documentElement.scrollWidth")
    background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()

    assert width <= 390
    assert (background == "rgb(20, 23, 28)") is (scheme == "dark")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Engram, Tokens, str]]:
    """A real server that asks for a token: its engine, the tokens and the address."""
    settings = Settings(home=tmp_path, embedder="static")
    tokens = Tokens(stored_token(tmp_path / OWN_FILE), NamedTokens(tmp_path))
    with Engram.open(settings=settings, background=False) as engram, serving(engram, tokens) as url:
        yield engram, tokens, url


def test_a_visitor_signs_in_by_the_link_or_by_the_form(
    browser: Browser, guarded: tuple[Engram, Tokens, str]
) -> None:
    """The link leaves no token in the address; the form does the same; a stranger sees no memory."""
    engram, tokens, url = guarded
    engram.remember("Bees dance in the morning")
    by_link, by_form = browser.new_context(), browser.new_context()
    invited, stranger = by_link.new_page(), by_form.new_page()
    invited.goto(f"{url}?token={tokens.own}")
    expect(invited.locator("p.content", has_text="Bees dance")).to_be_visible()
    assert invited.url == url
    remember(invited, "The bakery opens at seven")

    stranger.goto(url)
    expect(stranger.get_by_text("Bees dance")).to_have_count(0)
    stranger.get_by_label("The token").fill(tokens.own)
    stranger.get_by_role("button", name="Sign in").click()
    expect(stranger.locator("p.content", has_text="Bees dance")).to_be_visible()
    by_link.close()
    by_form.close()


def test_only_who_signed_in_loads_the_sample_life(
    browser: Browser, guarded: tuple[Engram, Tokens, str]
) -> None:
    """It is a form of the page like the others: the cookie is enough, and nothing is not."""
    engram, tokens, url = guarded
    context = browser.new_context()
    refused = context.request.post(f"{url}sample", headers={"Accept": "text/html"})
    untouched = engram.status().turns
    opened = context.new_page()
    opened.goto(f"{url}?token={tokens.own}")
    opened.get_by_role("button", name="Load the sample life").click()

    expect(opened.get_by_role("status")).to_contain_text("what Mira said")
    assert (refused.status, untouched) == (401, 0)
    context.close()
