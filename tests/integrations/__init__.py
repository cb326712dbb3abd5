"""The integrations for other frameworks, each against the real package, offline."""
