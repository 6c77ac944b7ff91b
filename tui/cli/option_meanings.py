"""The meaning of each option, for references and schemas."""

from __future__ import annotations

import click

from rundry.agent import ABOUT, OPTIONS


def option_meanings(cli: click.Group) -> dict[str, str]:
    """Return a line for each option by its name: the help of its flag, or what the table of options says."""
    flags: dict[str, str] = {}
    for command in cli.commands.values():
        for param in command.params:
            if isinstance(param, click.Option) and param.help:
                for name in param.opts:
                    flags.setdefault(name, param.help)
    return {name: ABOUT.get(name) or flags[f"--{name.replace('_', '-')}"] for name in OPTIONS}
