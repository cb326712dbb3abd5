"""
How people and programs reach the engine: parse, make one engine call, render.

`cli/` is the command line, `http/` the server's routes, `web/` its page; each uses the engine's own words.
Nothing below this room prints, reads the real environment or knows a status code.
"""
