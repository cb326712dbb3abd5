"""Shell commands: what they run, whether they only look, and what one that worked teaches after a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramdb.text.commands import (
    CommandRun,
    command_steps,
    has_failure,
    is_notable,
    lesson_of,
    only_looks,
    parse_run,
    telling_steps,
)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("git -C app commit -m x", ["git"]),
        ('cd app && git commit -m "a; b && c"', ["git commit"]),
        ("TOKEN=abc npm run build -- --prod", ["npm run build"]),
        ("sudo systemctl restart web", ["systemctl restart"]),
        ("timeout 60 pytest tests/a | tail -5", ["pytest"]),
        ("python -m pytest -q", ["python -m pytest"]),
        ("docker compose up -d && just t sink", ["docker compose up", "just t"]),
        ("sed -i s/a/b/ x && ./gradlew test", ["gradlew test"]),
        ("cat <<'EOF' > x\nrm -rf /\nEOF", []),
        ("echo 'unclosed", []),
        ("", []),
    ],
)
def test_a_command_line_is_read_as_what_it_runs(command: str, names: list[str]) -> None:
    """Without what looks or prepares, without assignments and options, whatever stands in quotes."""
    assert [step.name for step in telling_steps(command)] == names


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls -la | head", True),
        ("git status && git diff", True),
        ("rg -n ack src | sort | uniq -c", True),
        ("sed -n 1,20p x.py", True),
        ("gh run list --limit 3", True),
        ("sed -i s/a/b/ x.py", False),
        ("pytest -q | tail", False),
        ("git push", False),
        ("curl -s localhost", False),
    ],
)
def test_looking_around_is_told_from_doing(command: str, looks: bool) -> None:
    """A command that only looks starts no process of ours beyond the one that finds out."""
    assert only_looks(command) is looks


@pytest.mark.parametrize(
    ("command", "notable"),
    [
        ("git commit -m x", True),
        ("gh pr create --draft", True),
        ("npm publish", True),
        ("pip install httpx", True),
        ("pip install -r requirements.txt", False),
        ("npm install", False),
        ("make deploy ENV=prod", True),
        ("make test", False),
        ("git status", False),
    ],
)
def test_what_ships_or_installs_is_notable(command: str, notable: bool) -> None:
    """A release is one, a run of the tests is none."""
    assert is_notable(command) is notable


def run(command: str, result: str = "", *, failed: bool = False) -> CommandRun:
    """Return a run of a command."""
    return CommandRun(command=command, result=result, is_failed=failed)


@pytest.mark.parametrize(
    ("runs", "lesson"),
    [
        (
            [run("pip install x", "no pip here", failed=True), run("uv pip install x")],
            "`uv pip install x` worked after `pip install x` failed: no pip here",
        ),
        (
            [
                run("cross build --target musl -p api", "no", failed=True),
                run("cargo zigbuild --target gnu -p api"),
            ],
            "`cargo zigbuild --target gnu -p api` worked after `cross build --target musl -p api` failed: no",
        ),
        (
            [run("make test", "no such table", failed=True), run("make migrate"), run("make test")],
            "`make test` worked after `make migrate`; before that it failed: no such table",
        ),
        ([run("make test", "1 failed", failed=True), run("make test")], None),
        ([run("npm run build", "x", failed=True), run("npm run lint")], None),
        ([run("pytest tests/a", "x", failed=True), run("pytest tests/b")], None),
        ([run("git push", "x", failed=True), run("git push -f"), run("git push -f origin x")], None),
        ([run("git push", "x", failed=True)], None),
        ([], None),
    ],
)
def test_what_worked_after_a_failure_is_a_lesson(runs: list[CommandRun], lesson: str | None) -> None:
    """The changed form, or what was run in between; a mended file or another command teaches nothing."""
    found = lesson_of(runs)

    assert (None if found is None else found[0]) == lesson


@given(st.text(max_size=300), st.text(max_size=300), st.booleans())
def test_a_run_that_is_told_can_be_read_back(command: str, output: str, failed: bool) -> None:
    """Whatever stands in it; one that holds no word of a command is none."""
    one = CommandRun.of(command, output, is_failed=failed)

    assert parse_run(one.told) == one or not one.command or "`" in one.command + one.result


@given(st.text(max_size=500))
def test_no_command_line_is_too_odd_to_be_read(text: str) -> None:
    """Neither open quotes nor heredocs stop it."""
    assert all(step.program for step in command_steps(text))


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("error: no such table", True),
        ("Traceback (most recent call last):\n  …\nKeyError: 'x'", True),
        ("sh: 1: uvx: command not found", True),
        ("2 failed, 3 passed", True),
        ("0 failed, 3 passed", False),
        ("Finished release in 3m", False),
        ("no errors found", False),
    ],
)
def test_an_output_tells_a_failure_where_the_program_does_not(output: str, failed: bool) -> None:
    """Codex gives a hook the text and no exit code."""
    assert has_failure(output) is failed
