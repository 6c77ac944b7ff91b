"""The man page, written from the commands. `.dev/reference` writes it to a file that the wheel installs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version as installed_version
from pathlib import Path

import click

from ..text.show_text import show
from .help_texts import EXIT_CODES, LIMITS, RUN

_FILES = (
    ("$XDG_CONFIG_HOME/rundry/config.toml", "Your settings; usually ~/.config/rundry/config.toml."),
    (".rundry.toml", "Settings of a workspace, used once you trust it."),
    ("$XDG_STATE_HOME/rundry/runs/", "The journals of all runs; usually ~/.local/state/rundry/runs/."),
)
_VARIABLES = (
    ("RUNDRY_RUNS_DIR", "The folder of the journals."),
    ("RUNDRY_MODEL, RUNDRY_API_BASE, RUNDRY_STEPS, ...", "The value of the option with that name."),
    ("NO_COLOR", "The screen uses no colours."),
    ("RUNDRY_PLAIN", "1: lines of words instead of a screen, as with --plain."),
    ("EDITOR, VISUAL", "The editor for long texts. Without them it is vi."),
)


def man_page(cli: click.Group, version: str) -> str:
    """Return the page of all commands, in the man(7) macros."""
    return "\n".join(_page(cli, version)) + "\n"


def show_man_page(cli: click.Group) -> int:
    """Show the page with man on a terminal; print its source otherwise. Return the exit code."""
    text, man = man_page(cli, installed_version("rundry")), shutil.which("man")
    if man is None or not sys.stdout.isatty():
        print(show(text), end="")
        return 0
    with tempfile.TemporaryDirectory(prefix="rundry-man-") as folder:
        page = Path(folder) / "rundry.1"
        page.write_text(text, encoding="utf-8")
        return subprocess.run([man, str(page)], check=False).returncode


def _page(cli: click.Group, version: str) -> Iterator[str]:
    yield f'.TH RUNDRY 1 "" "rundry {version}" "User commands"'
    yield from (".SH NAME", r"rundry \- run a coding model in a loop with limits, in a terminal")
    yield from (".SH SYNOPSIS", r".B rundry", r"[OPTIONS] [TASK]", ".br", ".B rundry", r"COMMAND [OPTIONS] ...")
    yield ".SH DESCRIPTION"
    yield from _prose(cli.help or "")
    yield ".SH OPTIONS"
    with click.Context(cli, info_name="rundry") as ctx:
        yield from _options(cli.commands[RUN], ctx)
        yield ".SH COMMANDS"
        for name, command in sorted(cli.commands.items()):
            if not command.hidden:
                yield from _command(name, command, ctx)
    yield from (".SH LIMITS", "Unless an option or a config says otherwise:")
    yield from _rows(LIMITS)
    yield ".SH EXIT STATUS"
    yield from _rows(EXIT_CODES)
    yield ".SH ENVIRONMENT"
    yield from _rows(_VARIABLES)
    yield ".SH FILES"
    yield from _rows(_FILES)


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    with click.Context(command, info_name=name, parent=parent) as ctx:
        usage = " ".join(command.collect_usage_pieces(ctx))
        yield f".SS rundry {_escaped(name)} {_escaped(usage)}"
        yield from _prose(command.help or "")
        if name == RUN:
            yield from (".PP", "Its options are those above.")
            return
        if name == "ctl":
            yield from (".PP", r"rundry ctl \-\-help lists the verbs.")
        yield from _options(command, ctx)


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    records = (param.get_help_record(ctx) for param in command.params if isinstance(param, click.Option))
    yield from _rows(record for record in records if record is not None)


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, about in rows:
        yield from (".TP", f".B {_escaped(term)}", _escaped(" ".join(about.split())))


def _prose(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; one that click must not wrap keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.lstrip().startswith("\b"):
            lines = paragraph.strip("\b\n ").splitlines()
            yield from (".PP", ".nf", *(_escaped(line.strip("\b")) for line in lines), ".fi")
        else:
            yield from (".PP", _escaped(" ".join(paragraph.split())))


def _escaped(text: str) -> str:
    """Return text that roff shows as it is: a hyphen stays one, a leading dot or quote is not a macro."""
    shown = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga").replace("'", r"\(aq")
    return rf"\&{shown}" if shown.startswith(".") else shown
