"""
Find what else holds the words of an erased memory, or the name of an erased user.

Beyond the copies that go along by themselves: what only contains the sentence, tells most of it, or shares a
word that hardly anything else has (a name, a code). It is listed, and erased only where that is asked for.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from engramdb.store.contract import Transaction
from engramdb.text.english_words import is_english_word
from engramdb.text.normalize import lazy, normalize_text
from engramdb.text.sentences import sentences
from engramdb.text.terms import query_terms, retells, telling_words
from engramdb.values import ErasureMention, Memory, Scope

MIN_WORD_CHARACTERS = 4
"""A shorter word is not looked for by itself, unless it holds a digit."""
MIN_NAME_CHARACTERS = 3
"""A shorter name of a user stands in too many words that are nobody's name."""
MAX_HOLDERS = 20
"""A word that more than this many others hold tells nothing of the erased statement."""
MAX_MENTIONS = 1000
"""How many are listed."""
_DIGIT = lazy(r"\d")


def mentions_of(
    tx: Transaction, memories: Sequence[Memory], *, scope: Scope, without_turns: Sequence[str] = ()
) -> list[ErasureMention]:
    """Return what mentions any of the memories, in the scope and every narrower one, oldest first."""
    told = list(dict.fromkeys(one.verbatim or one.content for one in memories))
    words = {word for text in told for word in telling_words(text) if _is_worth_a_look(word)}
    if not words:
        return []
    ids = [one.id for one in memories]
    found = [
        (one, text)
        for one, text in tx.erasures.mentions(sorted(words), scope=scope, without=ids)
        if one.id not in set(without_turns)
    ]
    rare = _rare_words(words, [text for _, text in found])
    return [one for one, text in found if _mentions(text, told, rare)][:MAX_MENTIONS]


def mentions_of_user(tx: Transaction, user: str, *, scope: Scope, within: Scope) -> list[ErasureMention]:
    """Return what names a user, in a scope and every narrower one, outside of the user's own."""
    names = [name for name in dict.fromkeys((user, user.rpartition(":")[2])) if _is_name(name)]
    if not names:
        return []
    own = set(tx.erasures.scopes_within(within))
    found = tx.erasures.mentions(names, scope=scope)
    folded = [normalize_text(name) for name in names]
    return [
        one
        for one, text in found
        if one.scope not in own and any(_holds_name(normalize_text(text), name) for name in folded)
    ][:MAX_MENTIONS]


def _mentions(text: str, told: Sequence[str], rare: set[str]) -> bool:
    plain = normalize_text(text)
    if rare & set(telling_words(text)):
        return True
    if any(normalize_text(one) in plain for one in told if len(one.split()) > 1):
        return True
    return any(_retells(one, other) for one in sentences(text) for other in told)


def _retells(words: str, told: str) -> bool:
    """Return whether words hold most of what was told; a mere part of it in a few words is another thing."""
    return retells(words, told) and len(set(query_terms(words)) & set(query_terms(told))) > 2


def _rare_words(words: set[str], texts: Sequence[str]) -> set[str]:
    """Return the words that are no common ones and that few of the texts hold."""
    counts = Counter(word for text in texts for word in words & set(telling_words(text)))
    return {word for word in words if counts[word] <= MAX_HOLDERS and _is_uncommon(word)}


def _is_worth_a_look(word: str) -> bool:
    return len(word) >= MIN_WORD_CHARACTERS or bool(_DIGIT.search(word))


def _is_uncommon(word: str) -> bool:
    return not word.isdigit() and not is_english_word(word)


def _is_name(name: str) -> bool:
    return len(name) >= MIN_NAME_CHARACTERS and not name.isdigit()


def _holds_name(text: str, name: str) -> bool:
    """Return whether a text holds a name as a word of its own."""
    start = text.find(name)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        start = text.find(name, start + 1)
    return False


def similar_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names that differ from one only in case, blanks, marks of form or a prefix."""
    return [one for one in known if one != name and _skeleton(one) & _skeleton(name)]


def _skeleton(name: str) -> set[str]:
    """Return what a name is compared by: folded as a whole, and without a prefix such as `discord:`."""
    folded = "".join(unicodedata.normalize("NFKC", name).casefold().split())
    return {folded, folded.rpartition(":")[2]}
