"""
What requests look like: the JSON objects that posts carry, by family as the routes are.

Parsed by FastAPI, turned into the engine's values here, and unknown anywhere else. A field that does not
exist is an error that names it, so that a misspelt option is never silently ignored. Every body has an
example, which the description, the page /docs and the tests show, send and read.
"""
