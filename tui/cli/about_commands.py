"""Commands about rundry itself: settings, what is set up, help, man page, completion. Imports only click."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ..text.end_command import guarded
from .click_options import LOOKED_AT, run_options
from .mistyped import near_command
from .option_kinds import Words

_NAME = 24
"""Width of the name of a skill or slash command."""


def about_the_program(cli: click.Group) -> None:
    """Add these commands to the group."""
    for command in (config, doctor, models, help_, completion, man, skills):
        cli.add_command(command)


@click.command(short_help="Show the settings, keys or themes.")
@click.argument("what", metavar="[keys | themes | check]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@run_options(LOOKED_AT, others=False)
def config(what: str | None, as_json: bool, **flags: object) -> None:
    """Show each setting with its value and where it was set.

    keys: each action with its keys, and what is remapped. themes: each theme with its file. check: what is wrong.
    Exit code 2: a key cannot be used or two actions share it, a theme is unknown or its file has a mistake.
    """
    if what not in (None, "keys", "themes", "check"):
        raise click.UsageError(f"config {what}: use `rundry config`, or it with keys, themes or check")
    from .config import print_check, print_config, print_keys, print_themes

    prints = {None: print_config, "keys": print_keys, "themes": print_themes, "check": print_check}[what]
    guarded(lambda: prints(flags, as_json=as_json))


@click.command(short_help="List the models that can be reached.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--api-base", metavar="URL", help="Also check this server.")
@click.option("--all", "all_", is_flag=True, help="Also list providers that need a key, with its variable.")
@click.option(
    "--try", "name", metavar="NAME", help="Try this model for two minutes: edit formats, speed, prompt cache."
)
@click.option("--yes", is_flag=True, help="With --try: call a model that is not free.")
def models(as_json: bool, all_: bool, name: str | None, yes: bool, **flags: object) -> None:
    """List the models that can be reached: keys that are set, local servers that answer.

    With --try NAME: ask the model for three tiny changes in each edit format, and measure how fast its server reads and
    writes. The recommended format and the speeds are remembered for this model on this server. Nothing is executed or
    written to a file of yours. Exit code 1: no format led to a right answer.
    """
    if name is not None:
        from .trying import try_out

        guarded(lambda: try_out({**flags, "model": name}, as_json=as_json, yes=yes))
    if yes:
        raise click.UsageError("--yes belongs to --try NAME")
    from .lists import print_models

    guarded(lambda: print_models(flags, as_json=as_json, whole=all_))


@click.command(short_help="Report what is set up, what is missing and how to fix it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@run_options(LOOKED_AT)
def doctor(as_json: bool, **flags: object) -> None:
    """Report what is set up, what is missing and how to fix it.

    Exit code 0: nothing is missing. 1: something is, such as a model or git. 2: an option, the config, a key or a theme
    is wrong.
    """
    from .lists import print_doctor

    guarded(lambda: print_doctor(flags, as_json=as_json))


@click.command(short_help="List skills and slash commands.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
def skills(as_json: bool, **flags: object) -> None:
    """List the skills and the slash commands of your config folder and of the workspace, and which are trusted."""
    guarded(lambda: _print_skills(flags, as_json=as_json))


def _print_skills(flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print one line for each skill and each slash command. Their texts are foreign. Return 0."""
    from ..start.connected import skill_data, state_words
    from ..start.run_extensions import Extensions
    from ..start.run_folders import workspace_of
    from ..text.json_out import print_json
    from ..text.show_text import one_line

    found = Extensions(workspace_of(flags))
    if as_json:
        print_json({"skills": [skill_data(one) for one in found.skills], "commands": list(found.commands)})
        return 0
    if not found.skills and not found.commands:
        print(
            "no skills and no slash commands: a skill is .agents/skills/NAME/SKILL.md, "
            "a slash command .rundry/commands/NAME.md"
        )

    def print_line(name: str, origin: str, state: str, about: str) -> None:
        print(f"{one_line(name):<{_NAME}}  {origin:<7}  {one_line(state)}{'  ' if about else ''}{about}")

    for one in found.skills:
        about = one_line(one.skill.description)
        if one.allowed_tools:
            about += f"  (names the tools {one_line(one.allowed_tools)}: this gives no permission)"
        print_line(f"skill {one.skill.name}", one.skill.origin, state_words(one.trusted, one.problem), about)
    for command in found.commands:
        name = f"/{command.name} {command.argument_hint}".strip()
        print_line(name, command.origin, state_words(command.trusted, command.problem), one_line(command.description))
    return 0


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=Words(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options, runs and models in SHELL.

    \b
    bash: rundry completion bash > ~/.local/share/bash-completion/completions/rundry
    zsh:  rundry completion zsh > "${fpath[1]}/_rundry"
    fish: rundry completion fish > ~/.config/fish/completions/rundry.fish
    """  # noqa: D301 - click reads the escape
    from .completion_shells import script

    group = ctx.find_root().command
    assert isinstance(group, click.Group)  # the program is one
    click.echo(script(group, shell), nl=False)


@click.command(short_help="Show the manual page.")
@click.pass_context
def man(ctx: click.Context) -> None:
    """Show the manual page of all commands and options; without a terminal, print its source for man or groff."""
    from .man import show_man_page

    group = ctx.find_root().command
    assert isinstance(group, click.Group)  # the program is one
    guarded(lambda: show_man_page(group))


@click.command("help", short_help="Show the help of rundry or of a command.")
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of COMMAND; default: that of rundry."""
    group = ctx.parent
    assert group is not None and isinstance(group.command, click.Group)  # it was added to one
    if len(words) > 1:
        raise click.UsageError(f'help takes one command, not "{" ".join(words)}": use `rundry help {words[0]}`')
    if not words:
        click.echo(group.get_help())
        return
    command = group.command.commands.get(words[0])
    if command is None:
        near = near_command(words[0], group.command.commands)
        fix = f"did you mean `rundry help {near}`?" if near else "`rundry help` lists all commands"
        raise click.UsageError(f'"{words[0]}" is not a command: {fix}')
    with click.Context(command, info_name=words[0], parent=group) as inner:
        click.echo(command.get_help(inner))
