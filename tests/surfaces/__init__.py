"""What the tests of the command line, HTTP, MCP, hooks and connect share."""
