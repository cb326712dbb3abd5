"""Verbs of questions: recall, reason, timeline, entity, confidence, gaps, domains, summaries, feedback."""

from __future__ import annotations

from typing import Annotated

from engramdb.values import (
    Answered,
    Breadth,
    Confidence,
    Domain,
    EntityProfile,
    Filters,
    Gap,
    Memory,
    Mode,
    Reasoned,
    Recall,
    Reflection,
    Summary,
    Timeline,
)
from engramdb.values.query import RECALL_LIMIT
from engramdb.verbs.fields import (
    EXAMPLE_ID,
    GapName,
    Limit,
    Moment,
    OneMemory,
    Question,
    Session,
    Text,
    Tokens,
    Why,
)
from engramdb.verbs.verb import Command, Page, Route, ScopedRequest, about, verb

ASK = "Ask"


@verb(
    "recall",
    gives=Recall,
    writes=False,
    http=Route(method="POST", path="/v1/recall", tag="questions"),
    cli=Command(
        words="recall", section=ASK, examples=('recall "which editor do I use?" --limit 3 --explain',)
    ),
    mcp="recall",
    example={"query": "which editor do I use?", "limit": 5},
)
class RecallRequest(ScopedRequest, frozen=True, kw_only=True):
    """Ask a question and see the memories that fit, best first."""

    query: Annotated[Question, about("The question.")]
    limit: Limit = RECALL_LIMIT
    mode: Annotated[Mode, about("How much of what is known may be given.", metavar="NAME")] = (
        Mode.FULL_CONTEXT
    )
    filters: Annotated[Filters, about("What a memory must be to count.")] = Filters()
    session: Annotated[Session | None, about("The conversation that asks.")] = None
    as_of: Annotated[
        Moment | None,
        about("Answer from what was believed at this moment; such an answer counts as no recall."),
    ] = None
    valid_at: Annotated[
        Moment | None,
        about("Answer with what was true at this moment, also if it was said later or has changed since."),
    ] = None
    strategy: Annotated[
        str | None,
        about(
            "Order by score, rrf, mmr, rrf_then_mmr or cross_encoder; else as the policy says.",
            metavar="NAME",
        ),
    ] = None
    explain: Annotated[bool, about("Show the plan, every signal, all timings, and what was left out.")] = (
        False
    )
    turns: Annotated[
        bool,
        about(
            "Where memories fall short, also give what was said and not kept.",
            options=("--turns/--no-turns",),
        ),
    ] = True
    abstain: Annotated[bool, about("Give no hits where the answer is not known.")] = False


@verb(
    "reason",
    gives=Reasoned,
    writes=False,
    http=Route(method="POST", path="/v1/reason", tag="questions", computed=("is_answered", "tokens")),
    cli=Command(
        words="reason", section=ASK, examples=('reason "where does the lead of Falcon live?" --depth 3',)
    ),
    mcp="reason",
    example={"question": "Why did we leave MySQL, and who decided it?", "depth": 2},
)
class ReasonRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Ask a question that one recall does not answer: follow its parts and gaps, and answer with evidence.

    Asks a chat model, if one is configured, never more often than it may; without one there is the evidence,
    and `why` says so.
    """

    question: Annotated[Question, about("The question.")]
    depth: Annotated[
        int | None,
        about(
            "Levels of questions to ask, from 1 to 5.", metavar="LEVELS", told={"minimum": 1, "maximum": 5}
        ),
    ] = None
    limit: Annotated[Limit, about("Memories that each question looks at.")] = 20
    calls: Annotated[Tokens | None, about("Maximum calls of the chat model.", metavar="NUMBER")] = None
    tokens: Annotated[Tokens | None, about("Maximum tokens of the chat model.", metavar="NUMBER")] = None
    session: Annotated[Session | None, about("The conversation that asks.")] = None


@verb(
    "timeline",
    gives=Timeline,
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/timeline",
        tag="questions",
        has_etag=True,
        page=Page(cursor="after", cut="numbers", entries="entries", size="entries", default=200),
    ),
    cli=Command(words="timeline", section=ASK, examples=('timeline "the deployment" --entity Falcon',)),
    mcp="timeline",
    example={"topic": "editor"},
)
class TimelineRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show how what is known of a topic came to be, oldest first."""

    topic: Annotated[Text, about("What it is about.", metavar="TOPIC")]
    entities: Annotated[
        tuple[str, ...],
        about("Only what speaks of this person or thing (repeatable).", metavar="NAME", flat="entity"),
    ] = ()
    limit: Annotated[Limit, about("Memories about the topic to look at.")] = 50


@verb(
    "entity",
    gives=EntityProfile,
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/entities/{name:path}",
        tag="questions",
        has_etag=True,
        refusals=frozenset({404}),
    ),
    cli=Command(words="entity", section=ASK, examples=('entity "Project Alpha" --limit 5',)),
    mcp="entity",
    example={"name": "Ada Lovelace"},
)
class EntityRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show everything about a person, project or thing: memories, relations, company, months."""

    name: Annotated[Text, about("A name, or the id of an entity.", metavar="NAME")]
    limit: Annotated[Limit, about("The maximum number of memories of each layer.")] = 20


@verb(
    "confidence",
    gives=Confidence,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/confidence", tag="questions"),
    cli=Command(words="confidence", section=ASK, examples=('confidence "when is Ada\'s birthday?"',)),
    mcp="confidence",
    example={"query": "when is Ada's birthday?"},
)
class ConfidenceRequest(ScopedRequest, frozen=True, kw_only=True):
    """Say how well a question is covered: confident, uncertain or unknown, and why."""

    query: Annotated[Question, about("The question.")]


@verb(
    "gaps",
    gives=list[Gap],
    writes=False,
    idempotent=True,
    http=Route(
        method="GET",
        path="/v1/gaps",
        tag="insight",
        has_etag=True,
        refusals=frozenset({404}),
        page=Page(cursor="after", key="id"),
    ),
    cli=Command(words="gaps", section=ASK, examples=("gaps --limit 5",)),
    mcp="gaps",
)
class GapsRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show open questions, the weightiest first: missing facts, contradictions, beliefs grown old."""

    limit: Limit = 20
    after: Annotated[str | None, about("Only those that follow this one.", metavar="GAP")] = None


@verb(
    "answer",
    gives=Answered,
    writes=True,
    http=Route(method="POST", path="/v1/answer", tag="insight", refusals=frozenset({404})),
    cli=Command(
        words="answer",
        section=ASK,
        examples=("answer 77ab0d52 yes", 'answer 77ab0d52 "no, we moved to Ghent"'),
    ),
    mcp="answer",
    example={"id": "4f1c77ab0d52", "answer": "no, we moved to Ghent"},
)
class GapAnswerRequest(ScopedRequest, frozen=True, kw_only=True):
    """
    Answer an open question: yes, no, first, second, both, neither, "not now", or what holds instead.

    Yes confirms what was asked about, no invalidates it. What is stated instead is remembered and supersedes
    it. What was kept as both true is not asked about again.
    """

    id: GapName
    answer: Annotated[Text, about("The answer, in the words of the person.")]


@verb(
    "close_gap",
    gives=Gap,
    writes=True,
    http=Route(method="POST", path="/v1/close_gap", tag="insight", refusals=frozenset({404})),
    cli=Command(
        words="close-gap", section=ASK, examples=('close-gap 4f1c77ab0d52 --reason "nobody needs to know"',)
    ),
    example={"id": "4f1c77ab0d52", "reason": "nobody needs to know"},
)
class CloseGapRequest(ScopedRequest, frozen=True, kw_only=True):
    """Settle a question without an answer; it is not asked again."""

    id: GapName
    reason: Annotated[Why, about("Why, for the record.")] = ""


@verb(
    "reflect",
    gives=Reflection,
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/reflect", tag="insight"),
    cli=Command(words="reflect", section=ASK, examples=("reflect --limit 5",)),
    mcp="reflect",
)
class ReflectionRequest(ScopedRequest, frozen=True, kw_only=True):
    """Look at the knowledge itself: what is there twice, old, disputed, doubtful, open, never recalled."""

    limit: Annotated[Limit, about("The maximum number of each finding.")] = 10


@verb(
    "domains",
    gives=list[Domain],
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/domains", tag="insight", has_etag=True),
    cli=Command(words="domains", section=ASK, examples=("domains --project shop",)),
)
class DomainsRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show the fields of knowledge, the best known first, and how well each is known."""


@verb(
    "summaries",
    gives=list[Summary],
    writes=False,
    idempotent=True,
    http=Route(method="GET", path="/v1/summaries", tag="insight", has_etag=True),
    cli=Command(words="summaries", section=ASK, examples=('summaries "the deployment" --breadth cluster',)),
)
class SummariesRequest(ScopedRequest, frozen=True, kw_only=True):
    """Show what is known in short: by cluster, by domain or all of it."""

    query: Annotated[Question | None, about("What fits this comes first.")] = None
    breadth: Annotated[Breadth, about("How much one summary speaks of.", metavar="NAME")] = Breadth.DOMAIN
    limit: Limit = 5


@verb(
    "feedback",
    gives=Memory,
    writes=True,
    http=Route(method="POST", path="/v1/feedback", tag="questions"),
    cli=Command(
        words="feedback",
        section=ASK,
        examples=('feedback 3f2a9c1b --unhelpful --question "which editor do I use?"',),
    ),
    mcp="feedback",
    example={"id": EXAMPLE_ID, "helpful": True, "query": "which editor do I use?"},
)
class FeedbackRequest(OneMemory, frozen=True, kw_only=True):
    """
    Report whether a memory helped, and for which question.

    One that was of no help for a question does not answer such questions for a while; others it does.
    """

    helpful: Annotated[bool, about("Whether it helped; required.", options=("--helpful/--unhelpful",))]
    query: Annotated[
        str | None,
        about(
            "The question; stored as a fingerprint and a vector, not as words.",
            metavar="TEXT",
            options=("--question", "--query"),
            stdin=True,
        ),
    ] = None
