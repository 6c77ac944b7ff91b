"""The command line. Light: neither textual nor litellm is imported here, and nothing before it is needed."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

from rundry.agent import quick_imports

from ..ending import fail as _fail
from ..ending import guarded as _guarded
from .options import (
    LIMITED,
    LOOKED_AT,
    PLAYED,
    RESUMED,
    SEARCHED,
    finder_options,
    headless_options,
    run_options,
    search_limits,
)
from .run_commands import beside_a_run
from .usage import ABOUT, FIND, FindCommand, RunCommand, Usage


@click.group(cls=Usage, help=ABOUT, context_settings={"max_content_width": 110})
@click.version_option(package_name="rundry")
def cli() -> None:
    """Group all commands."""


@cli.command(cls=RunCommand, short_help="Run a task; what `rundry TASK` does.")
@click.argument("task", nargs=-1, metavar="[TASK]")
@run_options()
@headless_options
def run(task: tuple[str, ...], headless: bool, json_: bool, **flags: object) -> None:
    """Run TASK (`-` reads standard input), on the screen, or without one with --headless."""
    if json_ and not headless:
        _fail("--json needs --headless: add --headless")
    if headless:
        _guarded(lambda: _headless(_task(task), flags, as_json=json_))
    else:
        _guarded(lambda: _screen(_task(task), flags))


@cli.command(cls=FindCommand, help=FIND, short_help="Search until there are no new results.")
@click.argument("words", nargs=-1, metavar="[FILE.toml | URL | GLOB | PATH]...")
@finder_options
@run_options(SEARCHED, others=False)
@headless_options
def find(words: tuple[str, ...], resume: bool, headless: bool, json_: bool, **flags: object) -> None:
    """Search until there are no new results."""
    if json_ and not headless:
        _fail("--json needs --headless: add --headless")
    _guarded(lambda: _find(words, flags, again=resume, headless=headless, as_json=json_))


@cli.command(short_help="Run a scripted model on a sample project.")
@click.argument("kind", metavar="[goal]", required=False)
@run_options(PLAYED, others=False)
@headless_options
def demo(kind: str | None, headless: bool, json_: bool, **flags: object) -> None:
    """Run a scripted model that fixes a sample project in a temporary folder: real edits, gate and check."""
    if kind not in (None, "goal"):
        _fail(f"demo {kind}: use `rundry demo goal`")
    _guarded(lambda: _demo(flags, headless=headless, as_json=json_))


@cli.command(cls=RunCommand, short_help="Resume a run.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--hint", metavar="TEXT", help="A first message for the model.")
@click.option("--damaged", is_flag=True, help="Continue without events that are damaged or missing.")
@click.option("--from", "from_", type=int, metavar="SEQ", help="With --json: print events after this one; 0 for all.")
@run_options(RESUMED)
@search_limits
@headless_options
def resume(run_: str | None, hint: str | None, from_: int | None, headless: bool, json_: bool, **flags: object) -> None:
    """Resume RUN (an id, a prefix of one, or a journal); default: this folder's newest unfinished run."""
    _guarded(lambda: _resume(run_, flags, hint=hint, since=from_, headless=headless, as_json=json_))


@cli.command()
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
@click.option("--quiet", is_flag=True, help="No bell, no notification, no title.")
def watch(run_: str | None, **flags: object) -> None:
    """Show RUN, live or ended, in any number of terminals."""
    _guarded(lambda: _watch(run_, flags))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--cwd", metavar="DIR", help="Runs of this workspace; default: all.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
def runs(as_json: bool, **flags: object) -> None:
    """List runs and how they ended."""
    from .lists import print_runs

    _guarded(lambda: print_runs(flags, as_json=as_json))


@cli.command(short_help="List the models that can be reached.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--api-base", metavar="URL", help="Also check this server.")
@click.option("--all", "all_", is_flag=True, help="Also list providers that need a key, with its variable.")
def models(as_json: bool, all_: bool, **flags: object) -> None:
    """List the models that can be reached: keys that are set, local servers that answer."""
    from .lists import print_models

    _guarded(lambda: print_models(flags, as_json=as_json, whole=all_))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@run_options(LOOKED_AT)
def doctor(as_json: bool, **flags: object) -> None:
    """Report what is set up, what is missing and how to fix it."""
    from .lists import print_doctor

    _guarded(lambda: print_doctor(flags, as_json=as_json))


@cli.command(short_help="Print the key of an item.")
@click.argument("kind", type=click.Choice(["url", "file", "value"]))
@click.argument("text")
@click.option("--cwd", metavar="DIR", help="Where relative paths start; default: here.")
def key(kind: str, text: str, **flags: object) -> None:
    """Print the key of TEXT in a search. All spellings of the same item have the same key."""
    _guarded(lambda: _key(kind, text, flags))


beside_a_run(cli)


def main() -> NoReturn:
    """The `rundry` command. Ends the process; a usage error is one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows what it can
    try:
        if sys.argv[1:2] != ["key"]:  # a file's name may be any bytes
            _refuse_what_is_no_text(sys.argv[1:])
        cli.main(prog_name="rundry", standalone_mode=False)
    except click.ClickException as error:
        _fail(error.format_message())
    except click.Abort:
        sys.exit(130)
    sys.exit(0)


def _refuse_what_is_no_text(args: Sequence[str]) -> None:
    for arg in args:
        try:
            arg.encode()
        except UnicodeEncodeError:
            shown = arg.encode(errors="surrogateescape").decode(errors="backslashreplace")
            _fail(f"{shown[:60]}: this is not UTF-8 text")


def _task(words: Sequence[str]) -> str | None:
    """The task as one text, or None; `-` reads it from standard input."""
    if len(words) > 1:
        _fail(_unquoted(words))
    if not words or words[0] != "-":
        return words[0] if words else None
    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        _fail(f"the task on standard input is not UTF-8 text: byte {error.start + 1} is 0x{byte:02x}")


def _unquoted(words: Sequence[str]) -> str:
    import shlex
    from difflib import get_close_matches

    near = get_close_matches(words[0], cli.commands, n=1, cutoff=0.75)
    meant = f"; or did you mean `rundry {near[0]}`?" if near else ""
    return f"the task is {len(words)} words: put it in quotes, rundry {shlex.quote(' '.join(words))}{meant}"


def _screen(task: str | None, flags: Mapping[str, object]) -> int:
    if flags.get("continue_"):
        return _resume(None, flags, hint=task, since=None, headless=False, as_json=False)
    from ..opening import open_new

    return open_new(task, flags)


def _headless(task: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    if flags.get("continue_"):
        return _resume(None, flags, hint=task, since=None, headless=True, as_json=as_json)
    with quick_imports():
        from ..headless.plain import run_headless

    return run_headless(task, flags, as_json=as_json)


def _demo(flags: Mapping[str, object], *, headless: bool, as_json: bool) -> int:
    if headless:
        from ..headless.plain import run_headless
        from ..setup.start import demo_flags

        return run_headless(*demo_flags(flags), as_json=as_json)
    from ..opening import open_demo

    return open_demo(flags)


def _find(words: Sequence[str], flags: Mapping[str, object], *, again: bool, headless: bool, as_json: bool) -> int:
    from ..setup.finding import FindSetup, unfinished, wanted_of

    setup = FindSetup(wanted_of(words, flags), flags, headless=headless)
    if again:
        kept = {name: flags.get(name) for name in (*RESUMED, *LIMITED)}
        return _resume(str(unfinished(setup)), kept, hint=None, since=None, headless=headless, as_json=as_json)
    if headless:
        with quick_imports():
            from ..headless.plain import drive_new

        return drive_new(setup, setup.wanted.task, flags, as_json=as_json)
    from ..opening import open_search

    return open_search(setup, flags)


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
        with quick_imports():
            from ..headless.plain import resume_headless

        return resume_headless(ref, flags, hint=hint, since=since, as_json=as_json)
    from ..opening import open_resumed

    return open_resumed(ref, flags, hint=hint)


def _watch(ref: str | None, flags: Mapping[str, object]) -> int:
    from ..opening import open_watched

    return open_watched(ref, flags)


def _key(kind: str, text: str, flags: Mapping[str, object]) -> int:
    from rundry.agent import item_key

    from ..setup.start import workspace_of
    from ..text import one_line

    found = item_key(kind, text, workspace_of(flags), of_user=True)
    print(one_line(found) if sys.stdout.isatty() else found)
    return 0


if __name__ == "__main__":
    main()
