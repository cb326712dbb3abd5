"""
The MCP server of `engram mcp`: memory as tools, resources and prompts of a model.

`table` lists the tools, one small file each under `tools`; `server` binds them to the official SDK,
`stdio` and `http` carry it. Who asks, and in which scope, is decided when the server starts and never by
a tool's argument.
"""
