"""
How well words become memories: extraction, categories, affect, PII, injection, entities, topics.

    python -m evals.capture [NAME …] [--json FILE]

Each labelled set lies in `data/`, written before the code was tuned, and is split into a tune half and a
held-out half by `evals.capture.labelled`. The write-up is in docs/lab.
"""
