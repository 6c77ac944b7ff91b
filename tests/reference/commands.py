"""Pages of the command line: commands.md and options.md, from the click commands."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from rundry.tui.cli.help_texts import LIMITS, RUN
from rundry.tui.cli.root import cli
from rundry.tui.cli.verbs import VERBS

from .markdown import code, packed, page, table
from .words import head

_RUNS = (RUN, "find", "resume")
"""Commands whose options stand in options.md; other commands link to them there."""


def pages() -> dict[str, str]:
    return {**_commands(), "options.md": _options()}


def _shown(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


def _taken(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def _spelling(option: click.Option) -> str:
    """Return `-o, --output FILE`."""
    metavar = option.metavar or ("" if option.is_flag else option.make_metavar(click.Context(cli)))
    return f"{', '.join(option.opts)} {metavar}".strip()


def _shared() -> dict[tuple[str, str], list[str]]:
    """Map each option of a run or a search to the names of the commands that show it."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in _RUNS:
        for option in _shown(cli.commands[name]):
            found.setdefault((_spelling(option), option.help or ""), [])
    for name, command in cli.commands.items():
        for option in _shown(command):
            if (_spelling(option), option.help or "") in found:
                found[_spelling(option), option.help or ""].append(name)
    return found


def _options() -> str:
    rows = [
        (code(spelling), about, " ".join(sorted(names)), "yes" if _repeats(spelling) else "")
        for (spelling, about), names in sorted(_shared().items(), key=lambda row: row[0][0].lstrip("-"))
    ]
    return page([
        *head("options"),
            *table(("option", "meaning", "commands that list it", "repeatable"), rows),
        "## Default limits",
        "",
        *table(("run", "limits"), [*LIMITS, ("no limit", "`--steps none`, `--usd none`")]),
    ])  # fmt: skip


def _repeats(spelling: str) -> bool:
    return any(
        option.multiple for name in _RUNS for option in _taken(cli.commands[name]) if _spelling(option) == spelling
    )


def _commands() -> dict[str, str]:
    shared = _shared()
    sections = [[*_command(name, command, shared)] for name, command in _sorted()]
    return packed("commands", head("commands"), sections)


def _sorted() -> Iterator[tuple[str, click.Command]]:
    yield from sorted(cli.commands.items())


def _command(name: str, command: click.Command, shared: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    words = " ".join(param.make_metavar(context) for param in command.params if isinstance(param, click.Argument))
    yield from (f"## rundry {name}", "", code(f"rundry {name} [OPTIONS] {words}".strip()), "")
    yield from (*_help(command), "")
    own, common = [], []
    for option in _shown(command):
        spelling, about = _spelling(option), option.help or ""
        common.append(option.opts[-1]) if (spelling, about) in shared else own.append((code(spelling), about))
    if own:
        yield from table(("option", "meaning"), own)
    if common and name not in ("run", "find"):
        yield f"Shared options: {', '.join(map(code, common))}."
        yield ""
    elif common:
        yield f"Shared options: those that [options.md](options.md) lists for `{name}`."
        yield ""
    if name == "ctl":
        rows = [(code(f"{verb} {each.takes}".strip()), each.about) for verb, each in VERBS.items()]
        yield from table(("verb", "what it does"), rows)


def _help(command: click.Command) -> list[str]:
    """Return the help text; a paragraph that keeps its line breaks becomes a code block."""
    lines: list[str] = []
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["```", *paragraph.splitlines()[1:], "```", ""]
        else:
            lines += [*(line.strip() for line in paragraph.splitlines()), ""]
    return lines[:-1]
