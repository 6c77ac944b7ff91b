"""The tables of programs and options: each row names its source, and each row decides something."""

from __future__ import annotations

import re

import pytest

from rundry.agent.shell import flags, program_names
from rundry.agent.shell.command_line import PlainCommand, Word
from rundry.agent.shell.flags import base, hides, risk
from rundry.agent.shell.line_parser import parse_line
from rundry.agent.shell.option_table_of_programs import harmless_rows
from rundry.agent.shell.program_table import git, programs, risky_options
from rundry.agent.shell.unwrap import unwrapped

SOURCE = re.compile(r"[\w.+-]+\(\d\)(, [A-Z ]+)?|https://\S+")


def part(*words: str) -> PlainCommand:
    return PlainCommand(tuple(Word(word) for word in words), False)


def sources() -> list[tuple[str, str]]:
    known, options, of_git = programs(), risky_options(), git()
    tables = [known.shells, known.writers, known.readers, known.placed, known.inert, known.neutral, known.whole]
    tables += [known.single_dash, known.lists, of_git.risky, of_git.may_edit, of_git.commands, of_git.reads]
    tables += [row.programs for row in known.always]
    rows = [(row.program, row.source) for row in (*known.wrapper, *options.interpreter, *options.risky)]
    rows += [(row.command, row.source) for row in of_git.edits] + [("before", of_git.before.source)]
    rows += [(name, row.source) for name, row in known.alike.items()] + [("modules", options.python_modules.source)]
    return rows + [each for table in tables for each in table.items()]


def test_every_row_names_a_manual_or_an_address() -> None:
    assert len(sources()) > 400
    assert [row for row in sources() if not SOURCE.fullmatch(row[1])] == []


def test_no_program_stands_twice_in_a_table_or_in_two_that_exclude_each_other() -> None:
    always = [name for row in programs().always for name in row.programs]
    assert len(always) == len(set(always))
    for rows in (programs().wrapper, risky_options().risky, risky_options().interpreter):
        found = [row.program for row in rows]
        assert len(found) == len(set(found))
    assert set(always) & program_names.SHELLS == set()
    assert set(always) & {*program_names.RISKY, *program_names.INTERPRETERS, *program_names.READERS} == set()


@pytest.mark.parametrize("name", [*program_names.NEVER, *sorted(program_names.SHELLS)])
def test_a_program_that_always_asks_does(name: str) -> None:
    assert risk(part(name, "x")) is not None
    assert (hides(part(name, "x")) is not None) == (
        program_names.NEVER.get(name) in program_names.HIDING or name in program_names.SHELLS
    )


@pytest.mark.parametrize("program", list(program_names.RISKY))
def test_each_risky_option_asks_and_no_other_table_makes_the_row_superfluous(program: str) -> None:
    assert program not in harmless_rows(), "what harmless.toml does not list asks already"
    for option in program_names.RISKY[program]:
        assert risk(part(program, "x", option)) is not None, option
    if program not in ("tar", "env"):
        assert risk(part(program, "x")) is None


@pytest.mark.parametrize("language", list(program_names.INTERPRETERS))
def test_each_option_of_an_interpreter_that_runs_code_asks(language: str) -> None:
    for option in program_names.INTERPRETERS[language]:
        assert risk(part(language, option, "x.script")) is not None, option
    assert risk(part(language, "x.script")) is None


def test_each_row_about_git_asks() -> None:
    for option in program_names.GIT_RISKY:
        assert risk(part("git", "status", option)) is not None, option
    for command in program_names.GIT_COMMANDS:
        assert risk(part("git", command)) is not None, command
    for command in program_names.GIT_MAY_EDIT:
        assert risk(part("git", command, "-e", "-m", "x")) is not None, command
    for command, unless in program_names.GIT_EDITS.items():
        assert risk(part("git", command)) is not None
        for word in unless - {"-C", "-F"}:
            assert risk(part("git", command, word, "x")) is None, (command, word)
    for option in program_names.GIT_BEFORE:
        assert risk(part("git", option, "status")) is None, option


@pytest.mark.parametrize("name", list(program_names.WRAPPERS))
def test_what_a_wrapper_runs_is_seen(name: str) -> None:
    flag = [f"-{letter}" for letter in program_names.WRAPPERS[name][0][:1]]
    words = [name, *flag, *(["3"] if name == "timeout" else []), "ping", "x"]
    assert "ping" in {base(found.name) for found in unwrapped(parse_line(" ".join(words))).parts}


def test_each_name_of_the_same_program_is_judged_like_it() -> None:
    for name, program in program_names.ALIKE.items():
        assert program in {*program_names.RISKY, *harmless_rows()}, name
    assert {*program_names.SINGLE_DASH} <= {*program_names.RISKY, *harmless_rows()}
    assert flags.risk(part("gmake", "--eval=x")) is not None
