"""Importers for other programs and files."""
