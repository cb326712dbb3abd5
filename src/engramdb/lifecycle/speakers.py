"""Who may be called a speaker: a name, and neither a secret nor an instruction."""

from __future__ import annotations

from typing import Final

from engramdb.errors import InvalidContent
from engramdb.lifecycle.drafts import check_label
from engramdb.lifecycle.screening import Authorship, is_harmless
from engramdb.values import SecurityTier
from engramdb.vault.masking import tier_of_text

MAX_SPEAKER_CHARACTERS: Final = 80
_NAME_ONLY: Final = "Give the name of who spoke, and leave everything else to the words."


def check_names(speaker: str | None, session: str | None) -> None:
    """
    Raise where a speaker or a session is not fit to be one.

    A speaker is shown before the words, also in prompts: it is a name, and neither a secret nor an order.
    """
    if session is not None:
        check_label("session", session)
    if speaker is None:
        return
    check_label("speaker", speaker)
    if len(speaker) > MAX_SPEAKER_CHARACTERS or len(speaker.splitlines()) > 1:
        raise InvalidContent(
            f"a speaker is one line of at most {MAX_SPEAKER_CHARACTERS} characters", hint=_NAME_ONLY
        )
    if not is_speaker(speaker):
        raise InvalidContent("the speaker reads like a secret or an instruction", hint=_NAME_ONLY)


def fit_name(name: str | None) -> str | None:
    """Return a name that was read somewhere, where it is one."""
    return name if name is not None and is_speaker(name) else None


def is_speaker(name: str) -> bool:
    """Return whether a text may stand as the name of who spoke."""
    is_short = len(name) <= MAX_SPEAKER_CHARACTERS and len(name.splitlines()) <= 1
    is_open = is_short and tier_of_text(name) is not SecurityTier.CONFIDENTIAL
    return is_open and is_harmless(name, Authorship.OTHER)
