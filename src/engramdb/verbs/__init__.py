"""
Verbs: what Engram does, each declared once; every surface derives itself from the declaration.

A verb is a request struct with `@verb(...)` above it. The struct's docstring says what the verb does, its
fields say what it takes: `about(...)` in the annotation describes a field for all surfaces and shapes it
where they differ. `@verb` says what it gives, whether it writes, what it reaches (`ScopeRule`), whether it is
idempotent or destructive, and where it is offered: `http=Route(...)`, `cli=Command(...)`, `mcp="name"`.
`request.call(engram)` is the one engine call: the fields by name to the method of the verb's name, unless the
request overrides `arguments` or `call`.

- `verb.py` declares and registers, `table.py` loads all of ours, `fields.py` holds fields that several have.
- `decoding.py` reads requests: `decode` JSON objects, `decode_flat` options and query strings, in which the
  fields of `scope` and `filters` stand beside the others and lists are given one value at a time.
- `schema.py` writes described JSON schemas of what a surface offers.
- The command line builds options from `flat_fields(request, "cli")` and renders in `cli/<subject>.py`.
- HTTP builds routes from `Route`, reads bodies with `decode` and addresses with `decode_flat`.
- MCP builds tools for verbs with an `mcp` name; the words that models read stay by hand.
- Authorization asks `Verb.is_write` and `Verb.scope`.

To add a verb: declare it in the module of its subject, write the engine's method, and, where plain rows are
not enough, a renderer. Nothing else names it.
"""
