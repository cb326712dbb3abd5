"""
`engram completion`: the script that lets a shell complete commands and options.

Calls typer, which makes it. It only prints: the user puts it where the shell reads it, and no file of theirs
is changed.
"""

from enum import StrEnum
from typing import Annotated

import typer

from engram.surfaces.cli.options import among
from engram.surfaces.cli.output import out


class Shell(StrEnum):
    """The shells that can be served."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help=among("The shell", Shell))],
) -> None:
    """
    Print the script that makes a shell complete this command.

    Example: engram completion bash >> ~/.bashrc
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415

    out(get_completion_script(prog_name="engram", complete_var="_ENGRAM_COMPLETE", shell=shell.value))
