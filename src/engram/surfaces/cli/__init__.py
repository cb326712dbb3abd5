"""
The command line `engram`: one file per command, named as the user says it.

`main` puts the commands together; `verb` gives each the options that all share and turns errors into exit
codes. Heavy rooms are imported when a command runs, so that `--help` and `--version` answer at once.
"""
