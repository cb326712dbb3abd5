"""Recognize entities when they are mentioned again, and keep their registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from engramdb.store.contract import Transaction
from engramdb.text.mentions import mentions, possible_names, type_of, words_in_place_of_names
from engramdb.text.names import Whose, fold, fold_name, name_lists, speaks_of_self, stated_aliases
from engramdb.text.pii import CONCEALED
from engramdb.values import Entity, EntityType, Memory, Mention, SecurityTier, new_id
from engramdb.vault.masking import Secrets, mask_memory

MIN_SIMILARITY = 0.85
"""Seed 002 §41: below it two names mean two things."""

MIN_SPELLING = 92.0
"""One wrong letter in seven passes, one in six does not: Microsft, but not Maria and Mario Silva."""

MIN_SPELLING_LETTERS = 5
MAX_NAME_CHARACTERS = 100

_SPELT = frozenset(
    {
        EntityType.PERSON,
        EntityType.ORGANIZATION,
        EntityType.LOCATION,
        EntityType.PROJECT,
        EntityType.SERVICE,
        EntityType.CONCEPT,
        EntityType.UNKNOWN,
    }
)
"""Not files and technologies: there, one letter makes another thing (a.py and b.py, Preact and React)."""

_MEANT = frozenset({EntityType.PROJECT, EntityType.SERVICE, EntityType.ORGANIZATION, EntityType.CONCEPT})
"""Types whose names say something. An embedder finds all names of people alike, and Java like JavaScript."""

_NOT_ENTITIES = frozenset(
    {"user", "the user", "assistant", "i", "me", "we", "us", "you", "he", "she", "they", "it", "this"}
)


def register(
    tx: Transaction,
    memory: Memory,
    *,
    speaker: str | None,
    now: datetime,
    names: Sequence[str] = (),
    similarity: Callable[[str, str], float] | None = None,
) -> tuple[Entity, ...]:
    """
    Link a stored memory to every entity that it mentions, new ones included, and return them.

    `names` are what an extractor says it is about; `similarity` says how alike two names are in meaning, on
    the calibrated scale. Doing it twice changes nothing.
    """
    seen_at = min(memory.when, now)
    found: dict[str, Entity] = {}
    for mention, entity in recognise(
        memory.content,
        speaker=speaker,
        names=names,
        candidates=lambda one: tx.entities.candidates(one, scope=memory.scope),
        similarity=similarity,
    ):
        if entity is None:
            current = _new(mention, memory, seen_at=seen_at, now=now)
            tx.entities.add(current)
        else:
            current = _met_again(entity, mention, seen_at=seen_at)
            tx.entities.update(current)
        is_first = tx.entities.link(current.id, memory.id, name=mention.text, at=seen_at)
        found[current.id] = replace(current, mentions=current.mentions + is_first)
    return tuple(found.values())


def recognise(
    text: str,
    *,
    speaker: str | None,
    candidates: Callable[[Mention], Sequence[Entity]],
    names: Sequence[str] = (),
    similarity: Callable[[str, str], float] | None = None,
) -> Iterator[tuple[Mention, Entity | None]]:
    """Yield each mention with what it means, or None where that is new; a doubtful mention must be known."""
    sure = [*mentions(text, speaker=speaker)]
    taken = {fold(mention.text) for mention in sure}
    for name in names:
        if _is_usable(name) and fold(name.strip()) not in taken:
            is_speaker = speaker is not None and fold(name.strip()) == fold(speaker)
            kind = EntityType.PERSON if is_speaker else type_of(name.strip())
            sure.append(Mention(text=name.strip(), type=kind))
            taken.add(fold(name.strip()))
    for mention in sure:
        yield mention, resolve(mention, candidates(mention), similarity=similarity)
    parts = {word for name in taken for word in name.split()}
    for name in (*possible_names(text), *words_in_place_of_names(text)):
        if fold(name) in taken or fold(name) in parts:
            continue
        is_given = fold(name) in name_lists().given
        mention = Mention(text=name, type=EntityType.PERSON if is_given else EntityType.UNKNOWN)
        entity = resolve(mention, candidates(mention))
        if entity is not None:
            yield Mention(text=name, type=entity.type), entity


def resolve(
    mention: Mention, known: Sequence[Entity], *, similarity: Callable[[str, str], float] | None = None
) -> Entity | None:
    """
    Return the one entity of `known` that is meant, or None where none or more than one fits.

    `known` are entities of one scope. An unclear type fits any; two clear types must be the same.
    """
    fitting = [entity for entity in known if _types_fit(mention.type, entity.type)]
    by_name = [entity for entity in fitting if _folded(mention, entity) == _names(entity)[0]]
    if by_name:
        return _only(by_name, mention)
    carriers = [entity for entity in fitting if _carries(entity, mention)]
    if carriers:
        return _only(carriers, mention)
    return (
        _spelt_alike(mention, fitting)
        or _bare_name(mention, fitting)
        or (_meant_alike(mention, fitting, similarity) if similarity else None)
    )


def _types_fit(one: EntityType, other: EntityType) -> bool:
    return one is other or EntityType.UNKNOWN in (one, other)


def _only(entities: Sequence[Entity], mention: Mention) -> Entity | None:
    """Return the entity of the mention's own type, or the only one; None where it could be several."""
    same_type = [entity for entity in entities if entity.type is mention.type]
    best = same_type or list(entities)
    return best[0] if len(best) == 1 else None


def _folded(mention: Mention, entity: Entity) -> str:
    """Return the mention folded as a name of the entity's type, so that "Acme Corp" meets Acme."""
    return fold_name(mention.text, entity.type if mention.type is EntityType.UNKNOWN else mention.type)


def _names(entity: Entity) -> list[str]:
    return [fold_name(name, entity.type) for name in (entity.name, *entity.aliases)]


def _carries(entity: Entity, mention: Mention) -> bool:
    """Return whether it goes by this name: an alias, a given name or, after a title, the family name."""
    name, own = _folded(mention, entity), _names(entity)
    if name in own:
        return True
    if entity.type is not EntityType.PERSON or " " in name:
        return False
    longer = [one.split() for one in own if " " in one and "'s " not in one]
    if _has_title(mention.text) or mention.type is EntityType.UNKNOWN:
        return any(words[-1] == name for words in longer)
    return any(words[0] == name for words in longer)


def _has_title(text: str) -> bool:
    first, _, rest = text.partition(" ")
    return bool(rest) and fold(first).rstrip(".") in name_lists().person_titles


def _bare_name(mention: Mention, known: Sequence[Entity]) -> Entity | None:
    """Return the person so far known by a given or family name alone, whom the mention names in full."""
    words = fold_name(mention.text, EntityType.PERSON).split()
    if mention.type is not EntityType.PERSON or len(words) < 2 or "'s" in words[0] or mention.text[0] == "@":
        return None
    people = [entity for entity in known if entity.type is EntityType.PERSON]
    sharing = [entity for entity in people if any(one.split()[0] == words[0] for one in _names(entity))]
    bare = [entity for entity in people if set(_names(entity)) & {words[0], words[-1]} and _is_bare(entity)]
    return bare[0] if len(bare) == 1 and all(entity is bare[0] for entity in sharing) else None


def _is_bare(entity: Entity) -> bool:
    return all(" " not in name for name in _names(entity))


def _spelt_alike(mention: Mention, known: Sequence[Entity]) -> Entity | None:
    """Return the entity whose name differs by a slip of the pen, if there is just one."""
    from rapidfuzz.fuzz import ratio  # noqa: PLC0415 - needed when a name is new

    alike: dict[str, Entity] = {}
    for entity in known:
        name = _folded(mention, entity)
        if entity.type not in _SPELT or mention.type not in _SPELT or len(name) < MIN_SPELLING_LETTERS:
            continue
        likeness = [ratio(name, own) for own in _names(entity) if _may_be_slip(name, own)]
        if likeness and max(likeness) >= MIN_SPELLING:
            alike[entity.id] = entity
    return next(iter(alike.values())) if len(alike) == 1 else None


def _may_be_slip(one: str, other: str) -> bool:
    """Return whether they may differ by a slip: not in a digit, nor in what parts Maria from Mario."""
    mine, theirs = one.split(), other.split()
    if len(other) < MIN_SPELLING_LETTERS or len(mine) != len(theirs) or _digits(one) != _digits(other):
        return False
    ends = [(a[-1], b[-1]) for a, b in zip(mine, theirs, strict=True)]
    return not any(a != b and "a" in (a, b) for a, b in ends)


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _meant_alike(
    mention: Mention, known: Sequence[Entity], similarity: Callable[[str, str], float]
) -> Entity | None:
    """Return the entity whose name means the same, if it is near enough."""
    same = [entity for entity in known if entity.type is mention.type and entity.type in _MEANT]
    near = [(similarity(mention.text, entity.name), entity) for entity in same]
    best = max(near, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= MIN_SIMILARITY else None


def _is_usable(name: str) -> bool:
    plain = name.strip()
    return 0 < len(plain) <= MAX_NAME_CHARACTERS and plain.isprintable() and fold(plain) not in _NOT_ENTITIES


def _new(mention: Mention, memory: Memory, *, seen_at: datetime, now: datetime) -> Entity:
    return Entity(
        id=new_id(now),
        name=mention.text,
        type=mention.type,
        scope=memory.scope,
        first_seen=seen_at,
        last_seen=seen_at,
        mentions=0,
    )


def _met_again(entity: Entity, mention: Mention, *, seen_at: datetime) -> Entity:
    """Return the entity with what this mention adds: a name, a type, a fuller name, a moment."""
    kind = mention.type if entity.type is EntityType.UNKNOWN else entity.type
    name = mention.text if _is_fuller(mention.text, entity.name, kind) else entity.name
    return replace(
        entity,
        name=name,
        type=kind,
        aliases=_distinct((*entity.aliases, entity.name, mention.text), besides=name, kind=kind),
        first_seen=min(entity.first_seen, seen_at),
        last_seen=max(entity.last_seen, seen_at),
    )


def _is_fuller(new: str, old: str, kind: EntityType) -> bool:
    """Return whether a name has become more complete: Anna, now Anna Schmidt; or kofi, now Kofi."""
    if old.islower() and not new.islower() and fold_name(new, kind) == fold_name(old, kind):
        return True
    is_person = kind is EntityType.PERSON and not new.startswith("@")
    return is_person and len(fold_name(new, kind).split()) > len(fold_name(old, kind).split())


def _distinct(names: Iterable[str], *, besides: str, kind: EntityType) -> tuple[str, ...]:
    """Return the names that differ from one another and from the main one once folded, in order."""
    by_fold: dict[str, str] = {fold_name(besides, kind): besides}
    for name in names:
        by_fold.setdefault(fold_name(name, kind), name)
    return tuple(by_fold.values())[1:]


# Tell the registry whom and what a memory speaks of, and by which names.


def introduce(tx: Transaction, memory: Memory, *, names: Sequence[str] = (), now: datetime) -> None:
    """
    Register whom and what the memory speaks of, the speaker too, and the names that it tells.

    A secret is never a name: of a confidential memory only the other words are read.
    """
    if memory.security is SecurityTier.CONFIDENTIAL:
        names = Secrets.of(memory).without(names)
        memory = memory.evolve(content=mask_memory(memory).content.replace(CONCEALED, "…"), private=UNSET)
    speaker = memory.provenance.speaker
    told = stated_aliases(memory.content, speaker=speaker)
    found = register(
        tx,
        memory if told.rest == memory.content else memory.evolve(content=told.rest, private=UNSET),
        speaker=speaker,
        names=(*names, *_first_person(memory.content, speaker), *_owners(told.rest)),
        now=now,
    )
    for name, other in told.pairs:
        called = [entity for entity in found if _ends_with_name(name, entity)]
        if len(called) == 1:
            _call(tx, called[0], other, memory, at=min(memory.when, now))
    for whose, other in told.nicknames:
        called = [entity for entity in found if _may_mean(whose, entity, speaker)]
        if len(called) == 1:
            _call(tx, called[0], other, memory, at=min(memory.when, now))


def _may_mean(whose: Whose, entity: Entity, speaker: str | None) -> bool:
    """Return whether "me", "her" or "it" may mean an entity of the statement."""
    is_speaker = speaker is not None and fold(entity.name) == fold(speaker)
    if whose is Whose.SPEAKER:
        return is_speaker
    is_person = entity.type is EntityType.PERSON
    return not is_speaker and (
        is_person
        if whose is Whose.SOMEONE
        else not is_person and entity.type not in (EntityType.LOCATION, EntityType.FILE)
    )


def _first_person(content: str, speaker: str | None) -> tuple[str, ...]:
    """Return the speaker's name, whatever it is, where somebody speaks of himself."""
    return (speaker,) if speaker is not None and speaks_of_self(content) else ()


def _owners(text: str) -> tuple[str, ...]:
    """Return whose relations are spoken of: what is said of Bob's daughter is said of Bob."""
    if "'s " not in text and "’s " not in text:
        return ()
    owned = [one.text.partition("'s ") for one in mentions(text)]
    return tuple(owner for owner, is_owned, _ in owned if is_owned)


def _ends_with_name(text: str, entity: Entity) -> bool:
    """Return whether a text is a name of the entity, maybe after what it is: the tool Moneta."""
    folded = [fold_name(one, entity.type) for one in (entity.name, *entity.aliases)]
    return any(f" {form}".endswith(f" {one}") for one in folded for form in (fold(text), fold_name(text)))


def _call(tx: Transaction, entity: Entity, other: str, memory: Memory, *, at: datetime) -> None:
    """Note that a memory gives an entity another name, under which it is known from now on."""
    tx.entities.update(replace(entity, aliases=(*entity.aliases, other)))
    tx.entities.link(entity.id, memory.id, name=other, at=at)
