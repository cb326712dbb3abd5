"""
How well a question is understood before anything is searched: its intent, its time phrases, its names.

    python -m evals.queries [NAME …] [--json FILE]

Each labelled set lies in `data/`, written before the code was tuned, and is split into a tune half and a
held-out half by `evals.capture.labelled.half_of`. The write-up is in docs/lab.
"""
