"""Whose words stand in a message: the writer's own, or put in from elsewhere."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.quotations import quotations
from engramdb.text.segments import Segment, segments
from engramdb.values.memory import Voice


def own(text: str) -> list[str]:
    """Return the stretches that are the writer's own."""
    return [one.text for one in segments(text) if one.voice is Voice.OWN]


def voices(text: str) -> list[Voice]:
    """Return the voices of a message in their order."""
    return [one.voice for one in segments(text)]


PIECES = st.sampled_from(
    [
        *("```", "~~~", '"""', "'''", "> ", "---", "<docs>", "</docs>", "[quote]", "[/quote]", "\n", "\n\n"),
        *("From: Ann\n", "On 3 May Ann wrote:\n", "she wrote: ", "[12:03] ann: ", "me: ", "# ", "- ", '"'),
        *("'", "“", "”", "ERROR ", "def f():\n", "$ ls", "Dear Bob, ", "Regards, Ann", "pls check this:\n"),
        *(
            "I always run it. ",
            "what now? ",
            "^^ ",
            "\r\n",
            "\r",
            "\u2028",
            "é",
            "我",
            "🎉",
            "\x00",
            " ",
            "\t",
        ),
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join))
def test_no_character_is_lost(text: str) -> None:
    """Segments stand in order, hold what the message holds there, and leave only white space out."""
    done = 0
    for one in segments(text):
        assert text[done : one.start].strip() == ""
        assert one.text == text[one.start : one.end] == one.text.strip() != ""
        done = one.end
    assert text[done:].strip() == ""


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("what is this\n```\nfor x in y:\n    f(x)\n```", Voice.CODE),
        ("what is this\n~~~\nWe deploy on Fridays.\nI like it.\n~~~", Voice.PASTED),
        ('shorter pls\n"""\nI am the king. I never sleep.\n"""', Voice.PASTED),
        ("tidy this up\n<notes>\nI quit. We moved.\n</notes>", Voice.PASTED),
        ("thoughts?\n[quote=zig]I never update.[/quote]", Voice.QUOTED),
        ("who is right?\n> I never use tabs.\n> Always squash.", Voice.QUOTED),
        ("what do they want\n\nFrom: Bo Hansen\nTo: all\n\nI am away until May.", Voice.FORWARDED),
        ("what do they want\n\nVon: Bo Hansen\nBetreff: Miete\n\nIch bin bis Mai verreist.", Voice.FORWARDED),
        ("is she ok?\n[09:14] Soraya: I'm quitting\n[09:15] Soraya: for real", Voice.FORWARDED),
        ('why\n\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: no', Voice.LOG),
        ("it stops here\n2024-02-08 07:13:22 ERROR I can't find A3 paper.", Voice.LOG),
        ("convert to toml:\n[user]\nname = Bo\n; I sign all commits\neditor = hx", Voice.CODE),
        ("chatgpt said: Since you are a beginner, I recommend Kotlin.", Voice.GENERATED),
    ],
)
def test_what_marks_and_shapes_set_off_is_not_the_writers(text: str, voice: Voice) -> None:
    """The first line or words are the writer's own; all the rest has the voice that its marks tell."""
    assert set(voices(text)) == {Voice.OWN, voice}
    assert voices(text)[0] is Voice.OWN
    assert voices(text).count(Voice.OWN) == 1


def test_a_letter_between_own_words_is_cut_out() -> None:
    """Without a header the greeting, the closing and the line above tell."""
    text = (
        "hey my sister emailed about the wedding and I can't tell if she's annoyed??\n\n"
        "Hiya, just confirming that we went vegetarian. I really don't want long speeches. Love you xx\n\n"
        "for context I'm the maid of honour and I'm allergic to walnuts"
    )

    assert voices(text) == [Voice.OWN, Voice.FORWARDED, Voice.OWN]
    assert "vegetarian" not in " ".join(own(text))


def test_a_paste_may_come_first() -> None:
    """Formal sentences before a line of talk are not the writer's."""
    text = (
        "The Lessee warrants that no animals shall be kept at the Premises. Smoking is prohibited.\n\n"
        "hm. does a tortoise count"
    )

    assert own(text) == ["hm. does a tortoise count"]


@pytest.mark.parametrize(
    ("text", "mine"),
    [
        (
            "ok landlord again Hello Sam, I have decided to sell. I want it tidy. can he??",
            ["ok landlord again", "can he??"],
        ),
        (
            "The pitch.\n\nWe hand-stitch every mattress in our Bolton workshop. Order by "
            "Sunday!\n\nmake that less cringe",
            ["make that less cringe"],
        ),
        (
            "Hi Deb, I've moved my pension and I'm retiring in 2027. Could you note it? Thanks, Winston\n\n"
            "extract the changes as bullet points. deb's off sick so I'm covering",
            ["extract the changes as bullet points. deb's off sick so I'm covering"],
        ),
        (
            "# quokka\n\nA tiny cache.\n\n## Install\n\n    pnpm add quokka\n\nNode 20+. Always run "
            "the tests.\n\n^^ can i ship that",
            ["^^ can i ship that"],
        ),
        (
            "is he flirting? He texted me:\nim at the gym every tuesday\ni can lend u shoes",
            ["is he flirting? He texted me:"],
        ),
        (
            "Someone on reddit swears by these instructions: I'm a senior engineer. Don't explain basics.\n\n"
            "would they help me? I started in January",
            ["Someone on reddit swears by these instructions:", "would they help me? I started in January"],
        ),
        (
            "someone reviewed my etsy shop: ordered the blue mug, got green. i'm colorblind so i only "
            "noticed late\n\nhow do i respond",
            ["someone reviewed my etsy shop:", "how do i respond"],
        ),
        (
            "can you turn my boss's rambling into tasks\n\nok so i think we should kill the newsletter, i "
            "never liked it. i'm in lisbon next week",
            ["can you turn my boss's rambling into tasks"],
        ),
        (
            "2.1 Leave. I am entitled to 30 days. 2.2 Overtime is paid. this is what HR sent over. how do I "
            "bring it up",
            ["this is what HR sent over. how do I bring it up"],
        ),
        (
            "my coworker's header says `/* We target C89. I won't merge VLAs. */` and then uses one",
            ["my coworker's header says", "and then uses one"],
        ),
    ],
)
def test_a_voice_shows_without_marks(text: str, mine: list[str]) -> None:
    """Letters, pages, marketing and short messages are told from the talk around them by how they sound."""
    assert own(text) == mine


@pytest.mark.parametrize(
    "text",
    [
        "hey can u look at what my landlord sent\n\nhey! i moved to Lyon last month and i work at Acme now. "
        "from now on always pay by card pls",
        "can you reply to her?\n\ni don't eat meat and we moved to Lyon. never call before 9",
        "my landlord just emailed. what do i say?\n\nhi! i moved to Lyon. always pay by card pls",
        "look what my sister texted me lol\n\ni quit my job!! i moved to Porto",
        "help me respond to my boss\nfrom now on always cc me. i'm off on fridays, i moved to Lyon",
        "from now on always rebase before you push. i moved to Lyon, it's 555-1234\n\n^ slack msg from Tom",
        "i'm allergic to nuts and i moved to Graz. always call first\n\nthat's from Tom. what does he want",
        "i'm allergic to nuts and i moved to Graz. always call first\n👆 from my aunt",
    ],
)
def test_a_message_that_sounds_like_the_writer_is_anothers_where_that_is_said(text: str) -> None:
    """The line above or below it tells whose it is; how it sounds does not count against that."""
    assert "moved to" not in " ".join(own(text))
    assert len(own(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Act as Bob. I live in Graz. I always use vim. I am 45 years old.",
        "pretend you're Maria, a nurse from Spain. i live in Graz. i never drink.",
        "write a persona: I live in Graz. I always use vim. I am 45 years old.",
        "answer as Tom: I live in Graz. I always use vim",
        "Write a backstory for my D&D character: I live in Graz. I always carry a knife.",
        "make up a persona for the test user\n\ni live in Graz, i never use vim",
    ],
)
def test_what_somebody_made_up_says_is_not_the_writers(text: str) -> None:
    """A persona's "I" is another."""
    assert "live in" not in " ".join(own(text))


def test_the_words_of_a_segment_come_without_its_marks() -> None:
    """What is stored of a quotation or a fenced block are its words."""
    text = (
        "who is right?\n> I never use tabs.\n> Always squash.\n\n```\nWe deploy on Fridays.\nI like it.\n```"
    )

    assert [one.words for one in segments(text)] == [
        "who is right?",
        "I never use tabs.\nAlways squash.",
        "We deploy on Fridays.\nI like it.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Leeds in May. I work for a bakery there. My sister lives close by.",
        "things I need you to remember about slides:\n- dark background\n- never clip art\n- 20 minutes flat",
        "Background: I run a barbershop in Ghent.\n\nProblem: no-shows.\n\nQuestion: what else works?",
        "Dear AI,\n\nI am writing because I can't sleep. I moved here in May. I have two cats.\n\nThaís",
        'So I told my boss: "I\'m not doing another night shift. My surgery is on the 9th."',
        "About how I code, so you needn't ask: I name booleans with is_. Tests go next to the module.",
        "To answer your question: I have two kids, 4 and 7. We live on the third floor without a lift.",
        "Rules for this chat:\n1. Answer in Catalan.\n2. No lists.\n3. I'm diabetic, so give carbs.",
        "in general: data moves and schema moves never share a file here",
        "for the future:\n- always answer in Dutch\n- never use emojis",
        "if you can:\n- always answer in Dutch\n- never use emojis",
        "keep in mind:\n- always use uv\n- never pip",
        "rules:\n- always answer in German\n- never use emojis",
        'Remember this: "my dog is called Quagga, not Zebra"',
        "Act as a travel guide. I live in Graz and I always walk.",
        "Act as Claude. I live in Graz and I always walk.",
        "what should i cook?\n\ni don't eat meat anymore and my husband is called Tom.",
        "let me tell you what the doctor said\n\ni must never eat salt and i live in Graz now",
        "Zarina came out in spots last night. Chickenpox.",
    ],
)
def test_own_words_stay_own(text: str) -> None:
    """Lists, labels, letters to the assistant and quotations of oneself are the writer's."""
    assert set(voices(text)) == {Voice.OWN}


def test_the_writers_lines_in_a_copied_chat_are_own() -> None:
    """What stands after "me:" was said by the writer."""
    text = "what did we decide?\nDamir: I vote 21st\nme: 21st works if print is back\nDamir: I hate blue"

    assert own(text) == ["what did we decide?", "21st works if print is back"]
    assert {one.sender for one in segments(text) if one.sender} == {"Damir"}


def test_the_sender_of_a_mail_is_known() -> None:
    """Its header says who wrote it."""
    text = "answer him\n\nFrom: Gerald Hopwood <g@hop.example>\nSubject: Rent\n\nI raise the rent."

    assert {one.sender for one in segments(text) if one.voice is Voice.FORWARDED} == {"Gerald Hopwood"}


def test_a_quotation_inside_a_sentence_stays_there_and_can_be_found() -> None:
    """The sentence is the writer's; the places of what it quotes are told."""
    sentence = "She literally said \"I quit\" and then asked 'who carries my plant' of all things."

    assert segments(sentence) == [Segment(sentence, Voice.OWN, 0, len(sentence))]
    assert [sentence[a:b] for a, b in quotations(sentence)] == ['"I quit"', "'who carries my plant'"]


def test_several_quoted_sentences_are_cut_out() -> None:
    """They are not part of any sentence of the writer's."""
    text = 'The intranet says "All travel is booked via Concord. I approve exceptions." Nobody does that.'

    assert voices(text) == [Voice.OWN, Voice.QUOTED, Voice.OWN]
    assert own(text) == ["The intranet says", "Nobody does that."]


MARKS = [
    "❝❞",
    "‹›",
    "›‹",
    "«»",
    "»«",
    "＂＂",
    "“”",
    "„“",
    "„”",
    '„"',
    "””",
    "「」",
    "『』",
    "‘’",
    "**",
    "``",
    '""',
    "''…''",
    "``…''",
]


@pytest.mark.parametrize("marks", MARKS)
def test_all_marks_of_quotations_are_known(marks: str) -> None:
    """A sentence between any pair of them is a quotation, whether or not it names where it is from."""
    opening, _, closing = marks.partition("…") if "…" in marks else (marks[0], "", marks[1])
    quoted = f"{opening}Always use sudo for installs, never ask{closing}"

    assert "sudo" not in " ".join(own(f"{quoted} – README"))
    assert own(f"is this right?\n{quoted}") == ["is this right?"]
    assert own(f"the wiki says: {quoted}") == ["the wiki says:"]
    assert list(quotations(f"the wiki has {quoted}.")) != [] or marks == "**"


@pytest.mark.parametrize(
    "text",
    [
        "*please* never use emojis with me",
        "I want you to *always use tabs in this repo*, ok?",
        "i run `npm test -- --watch --all files` before every commit",
        "never run `SELECT name FROM users ORDER BY name` on the replica",
        "* dark background\n* never clip art",
    ],
)
def test_emphasis_and_code_are_no_quotations(text: str) -> None:
    """Stars and back ticks quote only where a whole sentence stands between them."""
    assert set(voices(text)) == {Voice.OWN}
    assert list(quotations(text)) == []


def test_a_quotation_inside_emphasis_is_found() -> None:
    """Marks that are no quotation themselves hide none."""
    text = 'he wrote *"from now on always use sudo"* lol'

    assert [text[a:b] for a, b in quotations(text)] == ['"from now on always use sudo"']


def test_a_forum_quotation_without_an_end_goes_on_to_the_end() -> None:
    """Somebody cut it off while copying."""
    text = "thoughts?\n[quote=zig]I never update. Always use sudo.\n\nI live in Graz."

    assert own(text) == ["thoughts?"]
    assert segments(text)[-1].sender == "zig"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            " ",
            "\n",
            '"',
            "'a ",
            "```\n",
            "<a>",
            "<a></a>",
            "a: ",
            "a:\n",
            "he said: ",
            "---\n",
            "“",
            "我",
        ),
        *(
            "[12:03] a: b\n",
            "From: a\n",
            "Some text here.\n\n",
            "[quote]",
            '"""',
            "# a\n",
            "public a ",
            "1 wrote ",
            "`a. B ",
            "that's what HR sent. ",
        ),
        *(
            " ‘a b",
            " ''a b",
            " ``a b",
            "\"1'1",
            "*a b ",
            " *a b",
            "`a b ",
            "❝a ",
            "Act as Bob. ",
            "what my boss sent\n\n",
            "^ from a\n\n",
            "＂a ",
            " ”a ",
            "[quote]a ",
        ),
    ],
)
def test_a_long_message_is_read_in_time(piece: str) -> None:
    """A hundred kilobytes of anything take no longer than their length accounts for."""
    text = piece * (100_000 // len(piece))
    began = time.process_time()
    segments(text + "</a>" * 1000)

    assert time.process_time() - began < 5
