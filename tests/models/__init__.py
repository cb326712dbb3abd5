"""Providers: embedders and chat models. A package, so that its tests can share the server beside them."""
