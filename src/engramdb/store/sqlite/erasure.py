"""
What erasing reaches across tables: whatever holds the words of a memory, or of a user, beside its own row.

Called through the store by `capture.erase`. Looks through whole tables where there is no index, because it is
asked for seldom and must miss nothing. `secure_delete` overwrites what is deleted here; `SqliteStore.scrub`
rewrites the file afterwards.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engramdb.store.sqlite.connection import single_value
from engramdb.store.sqlite.filters import ScopesTable, scope_columns
from engramdb.store.sqlite.rows import SELECTED, from_row, scope_from, to_json, to_microseconds
from engramdb.values import ErasureMention, Memory, MemoryId, MentionKind, Scope, TurnId
from engramdb.values.memory import SUMMED_UP

if TYPE_CHECKING:
    import apsw

MIN_WORDS = 3
"""A shorter statement is not looked for inside messages: "tea" stands in too many that are about others."""

_KEY = "(SELECT key FROM memories WHERE id = ?1)"
_COPIES = f"""
SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope
WHERE m.scope = (SELECT scope FROM memories WHERE id = ?1) AND m.id <> ?1 AND m.status <> 'erased' AND (
    m.fingerprint = (SELECT fingerprint FROM memories WHERE id = ?1)
    OR (m.episodes <> '[]' AND EXISTS (SELECT 1 FROM json_each(m.episodes) WHERE value = ?1))
    OR m.key IN (SELECT source FROM edges WHERE target = {_KEY} AND type IN ('derived_from', 'inferred_from'))
    OR m.key IN (SELECT loser FROM merges WHERE keeper = {_KEY} AND undone_at IS NULL)
    OR (m.extractor LIKE '{SUMMED_UP}%' AND m.session = (SELECT session FROM memories WHERE id = ?1))
) ORDER BY m.key
"""
_IN_SCOPE = (
    f"SELECT {SELECTED} FROM memories m JOIN scopes s ON s.id = m.scope "
    "WHERE m.scope = ? AND m.status <> 'erased' ORDER BY m.key"
)
_WORD_FOR_WORD = "SELECT id FROM turns WHERE scope = ? AND instr(lower(content), lower(?)) > 0"
_STILL_THERE = "SELECT id FROM turns WHERE id IN (SELECT value FROM json_each(?))"
_WITHIN = (
    "(?1 = '' OR project = ?1) AND (?2 = '' OR squad = ?2) AND (?3 = '' OR agent = ?3) "
    "AND (?4 = '' OR channel = ?4) AND (?5 = '' OR user = ?5)"
)
_ATTENTION = (
    "SELECT a.topics, s.project, s.squad, s.agent, s.channel, s.user FROM attention a "
    f"JOIN scopes s ON s.id = a.scope WHERE {_WITHIN}"
)
_GAPS = "SELECT DISTINCT gap FROM gap_memories WHERE memory IN (SELECT key FROM memories WHERE id IN "
_HAS_WORDS = f"length(m.content) - length(replace(m.content, ' ', '')) >= {MIN_WORDS - 1}"
_RETELLING = f"""
SELECT t.id FROM turns t WHERE t.id IN (SELECT value FROM json_each(?)) AND EXISTS (
    SELECT 1 FROM memories m WHERE m.scope = t.scope AND m.status = 'forgotten' AND {_HAS_WORDS}
    AND (instr(lower(t.content), lower(rtrim(m.content, '.!?'))) > 0
         OR instr(lower(t.content), lower(rtrim(m.verbatim, '.!?'))) > 0))
"""
_QUOTED = "substr(json_quote(m.content), 2, length(json_quote(m.content)) - 2)"
"""The words as they stand inside the JSON of a document."""
_DELETE_NOTES = (
    f"DELETE FROM feedback WHERE memory = {_KEY}",
    f"DELETE FROM gaps WHERE id IN (SELECT gap FROM gap_memories WHERE memory = {_KEY})",
    "UPDATE history SET reason = '' WHERE memory_id = ?1",
    f"DELETE FROM withdrawn_words WHERE memory = {_KEY} "
    "OR act IN (SELECT act FROM history WHERE memory_id = ?1)",
    "DELETE FROM shelf WHERE scope = (SELECT scope FROM memories WHERE id = ?1) AND EXISTS ("
    f"SELECT 1 FROM memories m WHERE m.id = ?1 AND {_HAS_WORDS} "
    f"AND instr(lower(shelf.value), lower({_QUOTED})) > 0)",
)
_CLEAR_BOX_TOPICS = (
    """UPDATE boxes SET topics = '{"all":[],"recent":[]}', sealed_at = coalesce(sealed_at, ?2) """
    "WHERE id = (SELECT box FROM memories WHERE id = ?1)"
)
_CLEAR = (
    "DELETE FROM shelf WHERE scope = ?",
    "DELETE FROM turns WHERE scope = ?",
    "DELETE FROM gaps WHERE scope = ?",
    "DELETE FROM askings WHERE scope = ?",
    "DELETE FROM tree_nodes WHERE scope = ?",
    "DELETE FROM attention WHERE scope = ?",
    "DELETE FROM handed_out WHERE scope = ?",
    "DELETE FROM forgotten WHERE scope = ?",
    "DELETE FROM entity_names WHERE scope = ?",
    "DELETE FROM entities WHERE scope = ?",
    "UPDATE memories SET box = NULL WHERE scope = ?",
    "DELETE FROM boxes WHERE scope = ?",
)
_OF_USER = f"SELECT m.id FROM memories m JOIN scopes s ON s.id = m.scope WHERE {_WITHIN}"
_RENAME = (
    f"UPDATE history SET actor = ?6 WHERE actor = ?5 AND memory_id IN ({_OF_USER})",
    f"UPDATE audit SET actor = ?6 WHERE actor = ?5 AND target IN ({_OF_USER})",
    "UPDATE audit SET scope = json_set(scope, '$.user', ?6) WHERE scope ->> 'user' = ?5 "
    "AND (?1 = '' OR scope ->> 'project' = ?1) AND (?2 = '' OR scope ->> 'squad' = ?2) "
    "AND (?3 = '' OR scope ->> 'agent' = ?3) AND (?4 = '' OR scope ->> 'channel' = ?4)",
    f"UPDATE acts SET actor = ?6 WHERE actor = ?5 AND scope IN (SELECT id FROM scopes WHERE {_WITHIN})",
    f"UPDATE scopes SET user = ?6 WHERE {_WITHIN}",
)
_SCOPES_WITHIN = f"(SELECT id FROM scopes WHERE {_WITHIN})"
_SAID = "content || ' ' || coalesce(verbatim, '') || ' ' || coalesce(statement, '')"
_HOLDING = "EXISTS (SELECT 1 FROM json_each(?6) WHERE instr(engram_fold({text}), value) > 0)"
_MENTIONS = {
    MentionKind.MEMORY: (
        f"SELECT id, scope, {_SAID} FROM memories WHERE scope IN {_SCOPES_WITHIN} AND status <> 'erased' "
        "AND id NOT IN (SELECT value FROM json_each(?7)) AND " + _HOLDING.format(text=_SAID)
    ),
    MentionKind.TURN: (
        f"SELECT id, scope, content FROM turns WHERE scope IN {_SCOPES_WITHIN} AND ?7 IS NOT NULL AND "
        + _HOLDING.format(text="content")
    ),
    MentionKind.DOCUMENT: (
        f"SELECT id, scope, value FROM shelf WHERE scope IN {_SCOPES_WITHIN} AND ?7 IS NOT NULL AND "
        + _HOLDING.format(text="value")
    ),
    MentionKind.QUESTION: (
        f"SELECT id, scope, question FROM gaps WHERE scope IN {_SCOPES_WITHIN} AND ?7 IS NOT NULL AND "
        + _HOLDING.format(text="question")
    ),
}
"""What holds words, by what it is; each gives the id, the scope's number and the text."""
_DROP_MENTIONS = {
    MentionKind.TURN: "DELETE FROM turns WHERE id IN (SELECT value FROM json_each(?))",
    MentionKind.DOCUMENT: "DELETE FROM shelf WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))",
    MentionKind.QUESTION: "DELETE FROM gaps WHERE id IN (SELECT value FROM json_each(?))",
}
_FORGOTTEN_BESIDE = (
    "SELECT t.id, m.content FROM turns t JOIN memories m ON m.scope = t.scope AND m.session IS t.session "
    "WHERE t.id IN (SELECT value FROM json_each(?)) AND m.status = 'forgotten'"
)


def fold_words(text: str) -> str:
    """Return a text as it is searched for words: without regard to case and to forms of characters."""
    return unicodedata.normalize("NFKC", text).casefold()


class ErasuresTable:
    """Not one table but parts of many."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._scopes = ScopesTable(connection)

    def copies_of(self, memory: Memory) -> Sequence[Memory]:
        """Return what says the same as a memory, was merged into it or concluded from it, in its scope."""
        return [from_row(row) for row in self._connection.execute(_COPIES, (memory.id,))]

    def evidence(self, memory: Memory) -> Sequence[TurnId]:
        """Return the turns that a memory was read from, and those of its scope that hold it word for word."""
        is_concluded = bool(memory.provenance.episodes) or memory.is_session_summary
        read_from = [] if is_concluded else list(memory.provenance.turns)
        found = [turn for (turn,) in self._connection.execute(_STILL_THERE, (to_json(read_from),))]
        for words in {memory.content, memory.verbatim or memory.content}:
            if len(words.split()) >= MIN_WORDS:
                place = (self._scopes.find(memory.scope), words)
                found += [turn for (turn,) in self._connection.execute(_WORD_FOR_WORD, place)]
        return list(dict.fromkeys(found))

    def retelling_forgotten(self, turn_ids: Sequence[TurnId]) -> set[TurnId]:
        """Return those of the turns that hold a forgotten memory of their scope word for word."""
        rows = self._connection.execute(_RETELLING, (to_json(list(turn_ids)),))
        return {turn for (turn,) in rows}

    def forgotten_words(self, turn_ids: Sequence[TurnId]) -> dict[TurnId, list[str]]:
        """Return by turn the words of the forgotten memories of its session, where there are any."""
        found: dict[TurnId, list[str]] = {}
        for turn, words in self._connection.execute(_FORGOTTEN_BESIDE, (to_json(list(turn_ids)),)):
            found.setdefault(turn, []).append(words)
        return found

    def attention_scopes(
        self, references: Sequence[str], texts: Sequence[str], *, scope: Scope
    ) -> Sequence[Scope]:
        """
        Return the scopes, this and narrower ones, whose working memory points to one of these or
        holds such words.
        """
        needles = [*references, *(to_json(text)[1:-1] for text in texts if len(text.split()) >= MIN_WORDS)]
        folded = [needle.casefold() for needle in needles]
        rows: list[Any] = self._connection.execute(_ATTENTION, scope_columns(scope)).fetchall()
        return [
            scope_from(place)
            for topics, *place in rows
            if any(needle in topics.casefold() for needle in folded)
        ]

    def count_gaps(self, memory_ids: Sequence[MemoryId]) -> int:
        """Return how many questions, open or closed, are about any of these memories."""
        sql = f"SELECT count(*) FROM ({_GAPS} (SELECT value FROM json_each(?))))"
        return int(single_value(self._connection, sql, (to_json(list(memory_ids)),)))

    def delete_notes(self, memory_id: MemoryId, *, now: datetime) -> None:
        """Take away what is noted about a memory: feedback, questions, reasons, the topics of its box."""
        for sql in _DELETE_NOTES:
            self._connection.execute(sql, (memory_id,))
        self._connection.execute(_CLEAR_BOX_TOPICS, (memory_id, to_microseconds(now)))

    def drop_attention(self, scopes: Sequence[Scope]) -> None:
        """Drop the working memory of exactly these scopes."""
        numbers = [self._scopes.find(scope) for scope in scopes]
        sql = "DELETE FROM attention WHERE scope IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(numbers),))

    def drop_turns(self, turn_ids: Sequence[TurnId]) -> int:
        """Drop turns with their words, and return how many there were."""
        sql = "DELETE FROM turns WHERE id IN (SELECT value FROM json_each(?))"
        self._connection.execute(sql, (to_json(list(turn_ids)),))
        return self._connection.changes()

    def scopes_within(self, scope: Scope) -> Sequence[Scope]:
        """Return the scope and every narrower one, those in which something was ever stored."""
        sql = f"SELECT project, squad, agent, channel, user FROM scopes WHERE {_WITHIN} ORDER BY id"
        return [scope_from(row) for row in self._connection.execute(sql, scope_columns(scope))]

    def erased_among(self, memory_ids: Sequence[MemoryId]) -> Sequence[MemoryId]:
        """Return those of the memories that are erased."""
        sql = "SELECT id FROM memories WHERE status = 'erased' AND id IN (SELECT value FROM json_each(?))"
        return [one for (one,) in self._connection.execute(sql, (to_json(list(memory_ids)),))]

    def users_within(self, scope: Scope) -> Sequence[str]:
        """Return the names of the users of the scope and of every narrower one."""
        sql = f"SELECT DISTINCT user FROM scopes WHERE {_WITHIN} AND user <> '' ORDER BY user"
        return [user for (user,) in self._connection.execute(sql, scope_columns(scope))]

    def mentions(
        self, words: Sequence[str], *, scope: Scope, without: Sequence[MemoryId] = ()
    ) -> Sequence[tuple[ErasureMention, str]]:
        """Return what holds one of the words, with its text, in the scope and every narrower one."""
        fold: Any = fold_words
        self._connection.create_scalar_function("engram_fold", fold, 1, deterministic=True)
        bound = (*scope_columns(scope), to_json([fold_words(word) for word in words]), to_json(list(without)))
        found: list[tuple[ErasureMention, str]] = []
        for kind, sql in _MENTIONS.items():
            rows: list[Any] = self._connection.execute(sql, bound).fetchall()
            for name, place, text in rows:
                found.append((ErasureMention(kind=kind, id=str(name), scope=self._scopes.get(place)), text))
        return found

    def drop_mentions(self, mentions: Sequence[ErasureMention]) -> None:
        """Delete turns, documents and questions; memories are erased as such."""
        for kind, sql in _DROP_MENTIONS.items():
            self._connection.execute(sql, (to_json([one.id for one in mentions if one.kind is kind]),))

    def memories_in(self, scope: Scope) -> Sequence[Memory]:
        """Return every memory of exactly this scope that is not erased."""
        return [from_row(row) for row in self._connection.execute(_IN_SCOPE, (self._scopes.find(scope),))]

    def count_turns(self, scope: Scope) -> int:
        """Return how many turns exactly this scope has."""
        return self._count("turns", scope)

    def count_gaps_in(self, scope: Scope) -> int:
        """Return how many questions exactly this scope has, open or closed."""
        return self._count("gaps", scope)

    def clear(self, scope: Scope) -> None:
        """Drop turns, questions, summaries, boxes, working memory and names of exactly this scope."""
        for sql in _CLEAR:
            self._connection.execute(sql, (self._scopes.find(scope),))

    def rename_user(self, scope: Scope, token: str) -> None:
        """Put a token in the place of the user's name, in the scope, every narrower one, and their trail."""
        for sql in _RENAME:
            self._connection.execute(sql, (*scope_columns(scope), token))

    def _count(self, table: str, scope: Scope) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE scope = ?"
        return int(single_value(self._connection, sql, (self._scopes.find(scope),)))
