"""What a verb is: a request, one engine call, and where each surface offers it."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, field

from engramdb.values.scope import Scope

Surface = Literal["cli", "http", "mcp"]


def about(
    description: str = "",
    *,
    metavar: str | None = None,
    positional: bool = False,
    options: tuple[str, ...] = (),
    flat: str | None = None,
    engine: str | None = None,
    only: tuple[Surface, ...] = (),
    choices: tuple[str, ...] = (),
    stdin: bool = False,
    duration: bool = False,
    default: Any = UNSET,
    told: Mapping[str, Any] | None = None,
) -> Meta:
    """
    Describe a field once for every surface.

    `metavar`, `positional` and `options` (the flags, where they are not `--name`) shape the command line;
    `choices` and `default` are narrower choices and another default there, `stdin` lets `-` read the text
    from standard input, `duration` lets a moment be given as `30d` from now. `flat` names a list where it is
    given one value at a time: on the command line and in a query string. `engine` is the engine's name for
    it, `only` the surfaces that have it. `told` is added to the JSON schema but not checked: the engine
    refuses in its own words.
    """
    hints = {
        "metavar": metavar,
        "positional": positional or None,
        "options": options or None,
        "choices": choices or None,
        "stdin": stdin or None,
        "duration": duration or None,
        "flat": flat,
        "engine": engine,
        "only": only or None,
    }
    extra = {name: value for name, value in hints.items() if value is not None}
    if default is not UNSET:
        extra["default"] = default
    return Meta(
        description=description or None,
        extra=extra or None,
        extra_json_schema=dict(told) if told else None,
    )


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verb is asked. Fields are passed to the engine's method of the verb by their names."""

    def arguments(self) -> dict[str, Any]:
        """Return what the engine's method is called with."""
        return {one.engine_name: getattr(self, one.name) for one in fields_of(type(self))}

    def call(self, engram: Any, **options: Any) -> Any:
        """
        Call the engine; `options` are what a surface adds, such as `progress` or `expected_version`.

        A verb whose answer is not what the engine's method returns overrides this.
        """
        return engine_method(engram, verb_of(type(self)))(**self.arguments(), **options)


ScopeField = Annotated[Scope | None, about("The scope; the server's own where left out.")]


class ScopedRequest(Request, frozen=True, kw_only=True):
    """A request inside a scope."""

    scope: ScopeField = None


class ScopeRule(StrEnum):
    """What a verb reaches, which decides who may use it."""

    SCOPE = "scope"
    """One scope: the one named, else the caller's."""
    AGENT = "agent"
    """The same, and `agent` names an agent inside it."""
    STORE = "store"
    """The whole store; nothing for a caller that is limited to a scope."""


class Page(Struct, frozen=True, kw_only=True):
    """How a long list is given page by page over HTTP."""

    cursor: Literal["before", "after"]
    """The parameter that names the last entry shown."""
    key: str = ""
    """The attribute of an entry that is its cursor, where the engine itself pages."""
    is_reversed: bool = False
    """Whether the engine gives the page oldest first although cursors lead into the past."""
    cut: Literal["", "numbers", "fingerprints"] = ""
    """How entries are named where the engine gives all of them and the server cuts."""
    entries: str = ""
    """The attribute of the answer that holds the entries; empty where the answer is the list."""
    size: str = "limit"
    """The parameter that says how many are given, where the server cuts."""
    default: int = 100
    """How many are given where the server cuts and nobody says."""


class Route(Struct, frozen=True, kw_only=True):
    """The HTTP route of a verb; names in braces are fields of the request, `{name:path}` one with slashes."""

    method: Literal["GET", "POST"]
    path: str
    tag: str
    """The heading under which the description of the API shows it."""
    old_paths: tuple[str, ...] = ()
    """Where it was before; still answered, no longer described."""
    computed: tuple[str, ...] = ()
    """Properties of the answer that are given beside its fields."""
    has_etag: bool = False
    """Whether a read answers 304 to those who know the answer. What gives one Memory always has an ETag."""
    refusals: frozenset[int] = frozenset()
    """Statuses of errors that not every route has; those of a memory's id are added by themselves."""
    page: Page | None = None


class Command(Struct, frozen=True, kw_only=True):
    """The command of a verb on the command line."""

    words: str
    """Such as `recall` or `policy compare`."""
    section: str
    """The heading of the help that it stands under."""
    examples: tuple[str, ...]
    """What follows `engram` in lines to copy."""
    old_words: tuple[str, ...] = ()
    """What it was called before; still understood, no longer shown."""
    creates_store: bool = False
    """Whether it makes a store that is not there."""


class Verb(Struct, frozen=True, kw_only=True, dict=True):
    """One thing that Engram does, as every surface sees it."""

    name: str
    """The engine's word, the id of the HTTP operation and the row of the authorization."""
    request: type[Request]
    gives: Any
    """The type of the answer."""
    writes: bool
    """Whether it changes memories; that a question counts as a recall is no change of what is known."""
    scope: ScopeRule = ScopeRule.SCOPE
    idempotent: bool = False
    """Whether doing it twice is doing it once."""
    destructive: bool = False
    """Whether it takes away what cannot simply be brought back."""
    engine: str = ""
    """The engine's method where it is not called like the verb, such as `capture.finding`."""
    http: Route | None = None
    cli: Command | None = None
    mcp: str | None = None
    """The name of the MCP tool; None where models do not get it."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a request that could be sent, by name."""

    @cached_property
    def help(self) -> str:
        """What it does: a sentence, and further paragraphs."""
        return inspect.getdoc(self.request) or ""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return " ".join(self.help.split("\n\n")[0].split())

    @property
    def subject(self) -> str:
        """The module that declares it, which is also the name of the module that renders its answers."""
        return self.request.__module__.rpartition(".")[2]

    @property
    def method(self) -> str:
        """The engine's method."""
        return self.engine or self.name

    @property
    def changes_one_memory(self) -> bool:
        """Whether it changes the memory `id`: it takes `If-Match`, and its method `expected_version`."""
        return self.writes and any(one.engine_name == "memory_id" for one in fields_of(self.request))

    def is_write(self, options: Mapping[str, Any]) -> bool:
        """Return whether a call with these options changes anything: a rehearsal does not, a repair does."""
        return (self.writes and not options.get("dry_run")) or bool(options.get("fix"))


_VERBS: Final[dict[str, Verb]] = {}
_BY_REQUEST: Final[dict[type[Request], Verb]] = {}
Asked = TypeVar("Asked", bound=Request)


def verb(name: str, **declared: Any) -> Callable[[type[Asked]], type[Asked]]:
    """Declare that a request is a verb; the arguments are the fields of `Verb`."""

    def register(request: type[Asked]) -> type[Asked]:
        made = Verb(name=name, request=request, **declared)
        _VERBS[name] = _BY_REQUEST[request] = made
        return request

    return register


def verbs() -> Mapping[str, Verb]:
    """Return every verb that was declared, by name; `engramdb.verbs.table` loads all of ours."""
    return _VERBS


def withdraw(name: str) -> None:
    """Take a verb out again, such as one that a plug-in or a test has declared."""
    del _BY_REQUEST[_VERBS.pop(name).request]


def verb_of(request: type[Request]) -> Verb:
    """Return the verb that a request belongs to."""
    return _BY_REQUEST[request]


def engine_method(engram: Any, declared: Verb) -> Callable[..., Any]:
    """Return the method of the engine that carries a verb out."""
    found = engram
    for part in declared.method.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return] # whatever stands in for the engine


class Field(Struct, frozen=True, kw_only=True):
    """One field of a request, with what is said of it."""

    name: str
    type: Any
    """Without `None` and without what is said of it."""
    default: Any
    """`msgspec.NODEFAULT` where it must be given."""
    description: str
    hints: Mapping[str, Any]
    """What `about` was told for the surfaces."""
    is_optional: bool
    """Whether it may be None."""
    told: Mapping[str, Any]
    """What is added to its JSON schema."""

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is NODEFAULT

    @property
    def is_many(self) -> bool:
        """Whether it holds any number of values."""
        return get_origin(self.type) in (frozenset, tuple, list)

    @property
    def item(self) -> Any:
        """The type of one value."""
        return get_args(self.type)[0] if self.is_many else self.type

    @property
    def engine_name(self) -> str:
        """The engine's name for it."""
        return str(self.hints.get("engine", self.name))

    def flat_name(self, surface: Surface) -> str:
        """Return its name where lists are given one value at a time: in query strings and options."""
        if surface == "cli" and "options" in self.hints:
            return str(self.hints["options"][0]).partition("/")[0].lstrip("-").replace("-", "_")
        return str(self.hints.get("flat", self.name))

    def is_on(self, surface: Surface) -> bool:
        """Return whether a surface offers it."""
        return surface in self.hints.get("only", (surface,))


@cache
def fields_of(owner: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a request or a value in their order."""
    hints = typing.get_type_hints(owner, include_extras=True)
    return tuple(_field(one.name, hints[one.name], _default(one)) for one in msgspec.structs.fields(owner))


def flat_fields(owner: type[Struct], surface: Surface) -> tuple[Field, ...]:
    """Return the fields of a flat surface: those of `scope` and `filters` stand beside the others."""
    found: list[Field] = []
    for one in fields_of(owner):
        if one.is_on(surface):
            found += flat_fields(one.type, surface) if is_struct(one.type) else [one]
    return tuple(found)


def _field(name: str, hint: Any, default: Any) -> Field:
    bare, outer = _unfolded(hint)
    is_optional = _is_union(bare) and type(None) in get_args(bare)
    kind, inner = _unfolded(_without_none(bare) if is_optional else bare)
    hints: dict[str, Any] = {}
    told: dict[str, Any] = {}
    description = ""
    for meta in (*inner, *outer):  # what is said outermost wins
        hints |= meta.extra or {}
        told |= meta.extra_json_schema or {}
        description = meta.description or description
    return Field(
        name=name,
        type=kind,
        default=default,
        description=description,
        hints=hints,
        is_optional=is_optional,
        told=told,
    )


def _unfolded(hint: Any) -> tuple[Any, list[Meta]]:
    if get_origin(hint) is not Annotated:
        return hint, []
    bare, *said = get_args(hint)
    return bare, [one for one in said if isinstance(one, Meta)]


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _without_none(union: Any) -> Any:
    (inner,) = (one for one in get_args(union) if one is not type(None))
    return inner


def _default(one: msgspec.structs.FieldInfo) -> Any:
    if one.default is not NODEFAULT:
        return one.default
    return NODEFAULT if one.default_factory is NODEFAULT else one.default_factory()


def is_struct(kind: Any) -> bool:
    """Return whether a type is a struct, whose fields stand beside the others on a flat surface."""
    return isinstance(kind, type) and issubclass(kind, Struct)
