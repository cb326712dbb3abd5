"""
Twenty memories of one person and twelve prompts to a coding agent, with which memories fit which prompt.

Used by `test_hooks_fitting`. Written before the floor was chosen: the first half of the prompts was looked at
for choosing it, the second half was only counted. A third of the prompts is about nothing that is known.
"""

from __future__ import annotations

from typing import Final

MEMORIES: Final[dict[str, tuple[str, str]]] = {
    "helix": ("I use the Helix editor", "preference"),
    "english": ("I prefer commit messages in English", "preference"),
    "pytest": ("We run the tests with pytest -n 2", "general"),
    "postgres": ("The shop's orders are stored in Postgres 16", "general"),
    "port": ("The staging server listens on port 8443", "general"),
    "deploy": ("Deployments go out on Tuesdays, never on Fridays", "general"),
    "ana": ("My sister Ana lives in Porto", "general"),
    "peanuts": ("I am allergic to peanuts", "general"),
    "uv": ("Dependencies of the backend are managed with uv", "general"),
    "retries": ("Payment calls are retried three times with exponential backoff", "general"),
    "vat": ("VAT is rounded for each invoice line, not for the total", "general"),
    "redis": ("We moved the session cache from Memcached to Redis", "general"),
    "marathon": ("I am training for the Lisbon marathon in October", "general"),
    "logs": ("Logs are written as JSON lines to stdout", "general"),
    "react": ("The admin page is written in React with TypeScript", "general"),
    "token": ("API tokens of customers expire after 90 days", "general"),
    "boss": ("My manager is called Ingrid", "general"),
    "branch": ("Feature branches are squashed when they are merged", "general"),
    "cat": ("Our cat is named Miso", "general"),
    "mail": ("Invoices are sent by mail through Postmark", "general"),
}
"""Each with its category."""

PROMPTS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("open the config in my editor", frozenset({"helix"})),
    ("how do I run the tests here?", frozenset({"pytest"})),
    ("why is the invoice total off by a cent? look at the VAT rounding", frozenset({"vat"})),
    ("rename this variable to count", frozenset()),
    ("write a function that reverses a linked list", frozenset()),
    ("can we deploy the new version on Friday?", frozenset({"deploy"})),
    ("add a dependency on httpx to the backend", frozenset({"uv"})),
    ("which port does the staging server use?", frozenset({"port"})),
    ("what happens when a payment call fails?", frozenset({"retries"})),
    ("explain what this regular expression does", frozenset()),
    ("the session cache loses entries after a restart", frozenset({"redis"})),
    ("thanks, looks good, go on", frozenset()),
)
CHOSEN_ON: Final = 6
"""So many of the prompts were looked at when the floor was chosen."""
