"""
Whether what is stored stays true: what is retired, what is kept, and what is told of it afterwards.

    python -m evals.beliefs [SUITE …] [--sealed] [--way observe] [--reader pack] [--home HOME] [--policy NAME]

Every suite goes through `Engram` as users do, at the dates of its text and by each way in: `remember`,
`observe`, `import` (a log of the conversation) and `notes` (an import of the bare statements). Beside it, in
the same run, every sentence kept as it was said and found by the same embedder alone, as it is or with the
newest of the best five first. The text in `data/` was written blind. The write-up is in docs/lab.
"""
