"""
Pure functions on text: no I/O but their own word lists, no clock, no store.

`normal` gives a statement one form and a fingerprint, `terms` cuts it for the text index, `passage` writes it
for an embedder. `sentences` and `moments` read it; `affect`, `traits`, `topics`, `mentions` and `detail` say
what is in it, `pii` and `injection` what to beware of, `tokens` what it costs.
"""
