"""Models behind narrow protocols: embedders, and the packs that some of them live in."""
