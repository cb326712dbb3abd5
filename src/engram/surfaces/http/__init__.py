"""
The HTTP server of `engram serve`.

`app` builds the application, `server` runs it, `guard` decides which requests reach it, `routes` and `bodies`
are the API. The engine is synchronous, so every route is a plain function and runs in a worker thread.
"""
