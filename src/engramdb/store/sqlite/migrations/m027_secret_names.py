"""
Take back the names and tags that older versions made of secrets.

Confidential memories lose their mentions and vectors, entities that nothing else mentions go, and every
memory is looked at again in the background: what is found secret now is classified so, and names, tags and
vectors are made of the other words. The text indexes are made anew by their version.
docs/reference/file-format.md explains every column.
"""

from __future__ import annotations

import apsw

_NAMES = """
CREATE TEMP TABLE named_by_secrets AS
    SELECT DISTINCT e.entity AS key FROM entity_mentions e JOIN memories m ON m.key = e.memory
    WHERE m.security = 'confidential';
DELETE FROM entity_mentions WHERE memory IN (SELECT key FROM memories WHERE security = 'confidential');
DELETE FROM entities WHERE key IN (SELECT key FROM named_by_secrets)
    AND NOT EXISTS (SELECT 1 FROM entity_mentions m WHERE m.entity = entities.key);
DELETE FROM entity_names WHERE entity IN (SELECT key FROM named_by_secrets)
    AND NOT EXISTS (
        SELECT 1 FROM entity_mentions m
        WHERE m.entity = entity_names.entity AND m.folded = entity_names.folded
    )
    AND EXISTS (
        SELECT 1 FROM entity_mentions m JOIN entity_names n ON n.entity = m.entity AND n.folded = m.folded
        WHERE m.entity = entity_names.entity
    );
UPDATE entities SET (name, folded) = (
    SELECT n.name, n.folded FROM entity_names n WHERE n.entity = entities.key
    ORDER BY length(n.name) DESC LIMIT 1
)
WHERE key IN (SELECT key FROM named_by_secrets)
    AND EXISTS (SELECT 1 FROM entity_names n WHERE n.entity = entities.key)
    AND NOT EXISTS (
        SELECT 1 FROM entity_names n WHERE n.entity = entities.key AND n.folded = entities.folded
    );
DROP TABLE named_by_secrets;
DELETE FROM vectors WHERE memory IN (SELECT key FROM memories WHERE security = 'confidential');
DELETE FROM vector_snapshots;
DELETE FROM memory_traits WHERE memory IN (SELECT key FROM memories WHERE security = 'confidential');
UPDATE memories SET enriched = 0 WHERE status IN ('active', 'challenged');
"""


def up(connection: apsw.Connection) -> None:
    """Drop what secrets were called, and let everything be read again."""
    connection.execute(_NAMES)
