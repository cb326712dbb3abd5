"""`engram completion`: the script that lets a shell complete commands and options."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from engramdb.cli.output import out

PROGRAMS = ("engramdb", "engram")
SHELLS = ("bash", "zsh", "fish", "powershell")


class PowerShellComplete(ShellComplete):
    """Completion for PowerShell, which click does not know itself."""

    name = "powershell"
    source_template = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $Env:%(complete_var)s = "powershell_complete"
    $Env:COMP_WORDS = $commandAst.ToString()
    $Env:COMP_CWORD = $wordToComplete
    %(prog_name)s | ForEach-Object {
        $value, $meaning = $_ -Split "`t", 2
        [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $meaning)
    }
    $Env:%(complete_var)s = ""
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one at the cursor, and that one."""
        words = split_arg_string(os.environ["COMP_WORDS"])[1:]
        begun = os.environ["COMP_CWORD"]
        return (words[:-1] if begun and words else words), begun

    def format_completion(self, item: CompletionItem) -> str:
        """Return a word and its meaning, which must not be empty."""
        return f"{item.value}\t{item.help or item.value}"


add_completion_class(PowerShellComplete)


@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS), help=f"The shell: {', '.join(SHELLS)}.")
def completion(shell: str) -> None:
    """Print the script of a shell."""
    from engramdb.cli.main import app  # noqa: PLC0415 - the application names this module

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - one of the shells above
    for name in PROGRAMS:
        out(kind(app, {}, name, f"_{name.upper()}_COMPLETE").source())
