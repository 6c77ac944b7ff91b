"""The command line. Light: neither textual nor litellm is imported here, and nothing before it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

ABOUT = """\
A terminal session in which a model drives a loop and you hold the brakes.

\b
rundry                              open the screen
rundry "fix the suite" --until "pytest -q"
rundry run --headless "..." --until "pytest -q"
rundry demo                         a scripted model on a sample project: no key, no network
"""
DEFAULTS = """
\b
Limits, unless an option, .rundry.toml or the user's config says otherwise:
  chat, goal, naive   40 steps, 200,000 tokens, 0.50 USD, 10 minutes
  other loops         200 steps, 2,000,000 tokens, 5 USD, 60 minutes
`none` switches a limit off.
"""

_RUN_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--model", metavar="NAME", help="As litellm knows it, e.g. ollama_chat/qwen3:8b."),
    click.option("--api-base", metavar="URL", help="An OpenAI-compatible server."),
    click.option(
        "--loop", metavar="KIND", help="chat, goal or naive. Default: goal with a check or --headless, else chat."
    ),
    click.option("--until", multiple=True, metavar="CMD", help="Done when this command exits with 0. May be repeated."),
    click.option("--until-file", multiple=True, metavar="PATH", help="Done when this file exists and is not empty."),
    click.option("--until-py", multiple=True, metavar="FILE:FUNCTION", help="Done when this function says so."),
    click.option("--schema", metavar="FILE", help="Done when the final answer fits this JSON Schema."),
    click.option("--require", multiple=True, metavar="ACTION", help="Must have happened: TOOL or TOOL:TEXT."),
    click.option("--any", "any_", is_flag=True, default=None, help="One of these is enough; default: all."),
    click.option(
        "--guard", multiple=True, metavar="GLOB", help="Ask before these change; `none` switches the guard off."
    ),
    click.option("--verify", metavar="WHEN", help="Check on every-step (default), on-change or on-claim."),
    click.option("--steps", metavar="N", help="At most so many steps."),
    click.option("--tokens", metavar="N", help="At most so many billed tokens, e.g. 200k."),
    click.option("--usd", metavar="X", help="At most so many dollars."),
    click.option("--time", metavar="D", help="At most so long at work, e.g. 10m."),
    click.option("--deadline", metavar="WHEN", help="Wall-clock bound: a duration from now, or a time."),
    click.option("--context", metavar="N", help="Tokens of the model's window."),
    click.option("--price", metavar="IN/OUT", help="USD per million tokens."),
    click.option("--gate", metavar="MODE", help="read, ask (default), edits or auto: what passes without you."),
    click.option("--on-ask", metavar="WHAT", help="Headless, where it would ask: refuse (default) or handoff."),
    click.option("--on-stall", metavar="WHAT", help="When it goes in circles: handoff or stop."),
    click.option("--cwd", metavar="DIR", help="The workspace; default: here."),
    click.option("--trust", is_flag=True, help="Use this folder's .rundry.toml for this call."),
    click.option("--runs-dir", metavar="DIR", help="Where journals go (RUNDRY_RUNS_DIR)."),
    click.option("--continue", "continue_", is_flag=True, help="Go on with this folder's newest unfinished run."),
)
_HEADLESS = (
    click.option("--headless", is_flag=True, help="No screen: progress on stderr, the answer on stdout."),
    click.option("--json", "json_", is_flag=True, help="With --headless: one event a line on stdout."),
)


def _options(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


class _Group(click.Group):
    """`rundry TASK` is `rundry run TASK` on the screen: what is no subcommand is the task."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((arg for arg in args if not arg.startswith("-")), None)
        asks = any(arg in ("--help", "--version") for arg in args)
        if (first is None or first not in self.commands or args[0] != first) and not (asks and first is None):
            args = ["open", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Those of `rundry TASK`, before the subcommands."""
        rows = [row for param in self.commands["open"].params if (row := _row(param, ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


def _row(param: click.Parameter, ctx: click.Context) -> tuple[str, str] | None:
    return param.get_help_record(ctx) if isinstance(param, click.Option) else None


@click.group(cls=_Group, help=ABOUT, epilog=DEFAULTS, context_settings={"max_content_width": 110})
@click.version_option(package_name="rundry")
def cli() -> None:
    """All commands."""


@cli.command(hidden=True, name="open", epilog=DEFAULTS)
@click.argument("task", required=False)
@_options(_RUN_OPTIONS)
def open_(task: str | None, **flags: object) -> None:
    """Open the screen; with TASK the run begins at once."""
    _guarded(lambda: _screen(task, flags))


@cli.command(epilog=DEFAULTS)
@click.argument("task", required=False)
@_options(_RUN_OPTIONS)
@_options(_HEADLESS)
def run(task: str | None, headless: bool, json_: bool, **flags: object) -> None:
    """Run TASK (`-`: from standard input), on the screen or with --headless without one."""
    if json_ and not headless:
        _fail("--json belongs to --headless: add --headless")
    if headless:
        _guarded(lambda: _headless(task, flags, as_json=json_))
    else:
        _guarded(lambda: _screen(task, flags))


@cli.command()
@click.argument("kind", metavar="[goal]", required=False)
@_options(_RUN_OPTIONS)
@_options(_HEADLESS)
def demo(kind: str | None, headless: bool, json_: bool, **flags: object) -> None:
    """A scripted model fixes a sample project in a temporary folder: real edits, a real gate, a real check."""
    if kind not in (None, "goal"):
        _fail(f"demo {kind}: there is `rundry demo goal`")
    _guarded(lambda: _demo(flags, headless=headless, as_json=json_))


@cli.command()
@click.argument("run_", metavar="RUN", required=False)
@click.option("--hint", metavar="TEXT", help="A first message for the model.")
@click.option("--from", "from_", type=int, metavar="SEQ", help="With --json: print events after this one; 0 for all.")
@_options(_RUN_OPTIONS)
@_options(_HEADLESS)
def resume(run_: str | None, hint: str | None, from_: int | None, headless: bool, json_: bool, **flags: object) -> None:
    """Go on with RUN (an id, a beginning of one, or a journal); default: this folder's newest unfinished run."""
    _guarded(lambda: _resume(run_, flags, hint=hint, since=from_, headless=headless, as_json=json_))


@cli.command()
@click.argument("run_", metavar="RUN", required=False)
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
def watch(run_: str | None, **flags: object) -> None:
    """Look at RUN, live or ended, from any number of terminals."""
    _guarded(lambda: _watch(run_, flags))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
def runs(as_json: bool, **flags: object) -> None:
    """List runs and how they ended."""
    from .lists import print_runs

    _guarded(lambda: print_runs(flags, as_json=as_json))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--api-base", metavar="URL", help="Also look here.")
def models(as_json: bool, **flags: object) -> None:
    """List the models that can be reached: keys that are set, local servers that answer."""
    from .lists import print_models

    _guarded(lambda: print_models(flags, as_json=as_json))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@_options(_RUN_OPTIONS)
def doctor(as_json: bool, **flags: object) -> None:
    """Say what is set up, what is missing and what to do."""
    from .lists import print_doctor

    _guarded(lambda: print_doctor(flags, as_json=as_json))


def main() -> NoReturn:
    """The `rundry` command. Ends the process; a usage error is one line and exit code 2."""
    try:
        cli.main(prog_name="rundry", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except click.Abort:
        sys.exit(130)
    sys.exit(0)


def _guarded(work: Callable[[], int]) -> NoReturn:
    """Ends the process; what a person can mend is one line on stderr and exit code 2."""
    from rundry.agent import RundryError

    try:
        code = work()
    except RundryError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stdout = None
        code = 141
    sys.exit(code)


def _fail(text: str) -> NoReturn:
    print(f"rundry: {' '.join(text.split())}", file=sys.stderr)
    sys.exit(2)


def _task(task: str | None) -> str | None:
    return sys.stdin.read().strip() if task == "-" else task


def _screen(task: str | None, flags: Mapping[str, object]) -> int:
    if flags.get("continue_"):
        return _resume(None, flags, hint=task, since=None, headless=False, as_json=False)
    from .opening import open_new

    return open_new(_task(task), flags)


def _headless(task: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    if flags.get("continue_"):
        return _resume(None, flags, hint=task, since=None, headless=True, as_json=as_json)
    from .plain import run_headless

    return run_headless(_task(task), flags, as_json=as_json)


def _demo(flags: Mapping[str, object], *, headless: bool, as_json: bool) -> int:
    if headless:
        from .plain import run_headless
        from .start import demo_flags

        return run_headless(*demo_flags(flags), as_json=as_json)
    from .opening import open_demo

    return open_demo(flags)


def _resume(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    hint: str | None,
    since: int | None,
    headless: bool,
    as_json: bool,
) -> int:
    if headless:
        from .plain import resume_headless

        return resume_headless(ref, flags, hint=hint, since=since, as_json=as_json)
    from .opening import open_resumed

    return open_resumed(ref, flags, hint=hint)


def _watch(ref: str | None, flags: Mapping[str, object]) -> int:
    from .opening import open_watched

    return open_watched(ref, flags)


if __name__ == "__main__":
    main()
