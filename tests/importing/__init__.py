"""Tests of imports and of what they read; a package, so that they can share their made-up sources."""
