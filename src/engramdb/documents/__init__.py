"""Documents of other programs, stored verbatim."""
