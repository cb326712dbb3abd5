"""Tests of the room `context`; a package, so that its cases can be shared."""
