"""
The sync of a notebook: `sync` opens it, `take` brings files into the store, `give` memories into files.

Called by `engine.notebooks`, the verbs; `hand` is what both halves may do to a store, `labels` what of front
matter was edited. How a note looks is the business of `portability.notebook`, which knows no store.
"""
