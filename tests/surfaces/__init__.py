"""
The surfaces: command line, HTTP, page.

A package, so that its `conftest` has a name of its own beside the one above.
"""
