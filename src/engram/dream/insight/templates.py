"""
What is usually known of a person, a project, a service or an organisation: fields whose lack is a question.

Read by the step `gaps`; data only. A field is known once a memory about the entity has one of its predicates,
in the vocabulary of extraction, or one of its cues in its words. The cues are English and wide on purpose:
asking for what was said in other words annoys more than a question that is never asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engram.values import EntityType


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Something that is usually known, by which predicates and words it shows, and how to ask for it."""

    name: str
    question: str
    predicates: frozenset[str]
    cues: re.Pattern[str]
    weight: float
    """How much its lack matters, 0 to 1."""


def _field(name: str, question: str, predicates: str, cues: str, weight: float) -> Field:
    pattern = re.compile(rf"\b(?:{cues})", re.IGNORECASE)
    return Field(
        name=name, question=question, predicates=frozenset(predicates.split()), cues=pattern, weight=weight
    )


TEMPLATES: dict[EntityType, tuple[Field, ...]] = {
    EntityType.PERSON: (
        _field(
            "role",
            "What does {} do for a living?",
            "works_as works_at works works_in works_on job role position occupation manages leads teaches "
            "studies",
            r"work|job|role|position|manage|engineer|teach|stud(?:y|ies)|develop|nurse|doctor|retired|boss"
            r"|colleague|lead|founder|coach|dentist|designer|lawyer|director|intern\b",
            0.8,
        ),
        _field(
            "home",
            "Where does {} live?",
            "lives_in lives based_in resides_in hometown address",
            r"liv(?:e|es|ing)\b|mov(?:ed|ing) to|based in|from \w|resid|home is|flat in|apartment|house in",
            0.6,
        ),
        _field(
            "birthday",
            "When is the birthday of {}?",
            "born_on age birthday date_of_birth",
            r"birthday|born|turn(?:s|ed) \d|years? old|age\b",
            0.5,
        ),
        _field(
            "relation",
            "How do you know {}?",
            "is_married_to is relationship sister brother mother father friend manager knows",
            r"sister|brother|mother|father|mom|mum|dad|wife|husband|partner|friend|colleague|boss|manager|cousin|aunt"
            r"|uncle|daughter|son\b|neighbou?r|team|client|teacher|coach|dentist|doctor|landlord|married|girlfriend"
            r"|boyfriend|grand(?:ma|pa|mother|father)|nephew|niece|roommate|flatmate|know\b",
            0.7,
        ),
    ),
    EntityType.PROJECT: (
        _field(
            "language",
            "Which programming language is {} written in?",
            "language programming_language stack tech_stack written_in",
            r"written in|language|built (?:with|in)|stack|(?:python|rust|go|golang|java|kotlin|typescript"
            r"|javascript|swift|ruby|php|elixir|scala|haskell|c\+\+|c#)(?!\w)",
            0.8,
        ),
        _field(
            "deployment",
            "Where does {} run, and how is it deployed?",
            "deploys deployed_to hosts runs ships deploy_target hosting",
            r"deploy|host|runs? (?:on|in)|kubernetes|docker|server|cloud|aws|azure|heroku|fly\.io|vercel"
            r"|ship",
            0.7,
        ),
        _field(
            "owner",
            "Who is responsible for {}?",
            "manages leads maintains owns owner maintainer lead responsible",
            r"own(?:s|er|ed)\b|maintain|lead|manage|responsible|in charge|team",
            0.6,
        ),
        _field(
            "purpose",
            "What is {} for?",
            "is purpose goal aims",
            r"purpose|goal|is an? |is the |in order to|for (?:the|our|my|all)|helps?|lets|allows|aims",
            0.5,
        ),
    ),
    EntityType.SERVICE: (
        _field(
            "deployment",
            "Where does {} run?",
            "deploys deployed_to hosts runs listens",
            r"deploy|host|runs? (?:on|in)|kubernetes|docker|server|cloud|port\b|url|region",
            0.6,
        ),
        _field(
            "owner",
            "Who is responsible for {}?",
            "manages leads maintains owns owner responsible",
            r"own(?:s|er|ed)\b|maintain|lead|manage|responsible|in charge|team|on[- ]call",
            0.6,
        ),
    ),
    EntityType.ORGANIZATION: (
        _field(
            "relation",
            "What do you have to do with {}?",
            "is relationship works_at works_for client customer employer",
            r"work|client|customer|employ|partner|supplier|member|compan|study|school|interview|contract|account|bank",
            0.5,
        ),
    ),
}
"""By what sort of thing an entity is; the others have no fields that everyone would know."""
