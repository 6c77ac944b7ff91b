"""The command line. It imports neither textual nor litellm, so that it starts fast."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from rundry.agent import quick_imports

from ..text.end_command import fail as _fail, guarded as _guarded
from ..text.output_kind import Output
from ..text.standard_streams import OutputFailed, drop_output, prepare_streams
from .about_commands import about_the_program
from .click_options import (
    FIXED,
    LIMITED,
    PLAYED,
    RESUMED,
    SEARCHED,
    finder_options,
    headless_options,
    review_options,
    run_options,
    search_limits,
    set_option,
)
from .help_texts import ABOUT, FIND, FIX, REVIEW, FindCommand, RunCommand, Usage, line_of
from .option_kinds import WholeNumber, Words
from .recipe_commands import about_recipes
from .run_commands import beside_a_run

if TYPE_CHECKING:
    from rundry.agent import ItemKind, ResumeChanges

    from ..start.new_run import Setup


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        from .version_line import version_line

        click.echo(version_line())
        ctx.exit()


@click.group(cls=Usage, help=ABOUT, context_settings={"max_content_width": 110, "help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Group all commands."""


@cli.command(cls=RunCommand, short_help="Run a task; what `rundry TASK` does.")
@click.argument("task", nargs=-1, metavar="[TASK]")
@set_option
@run_options()
@headless_options
def run(task: tuple[str, ...], output: Output | None, **flags: object) -> None:
    """Run TASK (`-` reads standard input), on the screen, or without one with --headless or --print.

    A single word that ends in `.toml` is the file of a goal run, and one that names a recipe is that recipe.
    """
    _guarded(lambda: _run(task, flags, output))


@cli.command(cls=FindCommand, help=FIND, short_help="Search until there are no new results.")
@click.argument("words", nargs=-1, metavar="[FILE.toml | RECIPE | URL | GLOB | PATH]...")
@set_option
@finder_options
@run_options(SEARCHED, others=False)
@headless_options
def find(words: tuple[str, ...], resume: bool, output: Output | None, **flags: object) -> None:
    """Search until there are no new results."""
    _guarded(lambda: _find(words, flags, again=resume, output=output))


@cli.command(cls=RunCommand, help=FIX, short_help="Fix each confirmed finding of a search.")
@click.argument("run_", metavar="RUN", nargs=-1, required=True)
@run_options(FIXED, others=False)
@headless_options
def fix(run_: tuple[str, ...], output: Output | None, **flags: object) -> None:
    """Fix each confirmed finding of a search."""
    _guarded(lambda: _fix(run_, flags, output))


@cli.command(cls=RunCommand, help=REVIEW, short_help="Review a diff until there are no new findings.")
@click.argument("words", nargs=-1, metavar="[FILE.toml | RECIPE]")
@set_option
@review_options
@run_options(FIXED, others=False)
@headless_options
def review(words: tuple[str, ...], output: Output | None, **flags: object) -> None:
    """Review a diff until there are no new findings."""
    _guarded(lambda: _review(words, flags, output))


@cli.command(short_help="Run a scripted model on a sample project.")
@click.argument("kind", metavar="[goal]", required=False)
@run_options(PLAYED, others=False)
@headless_options
def demo(kind: str | None, output: Output | None, **flags: object) -> None:
    """Run a scripted model that fixes a sample project in a temporary folder: real edits, gate and check."""
    if kind not in (None, "goal"):
        _fail(f"demo {kind}: use `rundry demo goal`")
    _guarded(lambda: _demo(flags, output))


@cli.command(cls=RunCommand, short_help="Resume a run.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--hint", metavar="TEXT", help="A first message for the model.")
@click.option("--executor", metavar="WHERE", help="Another Dask cluster for the items of a search.")
@click.option("--damaged", is_flag=True, help="Continue without events that are damaged or missing.")
@click.option(
    "--from", "from_", type=WholeNumber(0), metavar="SEQ", help="With --json: print events after this one; 0 for all."
)
@run_options(RESUMED)
@search_limits
@headless_options
def resume(run_: str | None, hint: str | None, from_: int | None, output: Output | None, **flags: object) -> None:
    """Resume RUN (an id, a prefix of one, or a journal); default: this folder's newest unfinished run."""
    _guarded(lambda: _resume(run_, flags, hint=hint, since=from_, output=output))


@cli.command()
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
@click.option("--plain", is_flag=True, help="Lines of words instead of a screen.")
@click.option("--quiet", is_flag=True, help="No bell, no notification, no title.")
@click.option("--web", is_flag=True, help="In a browser on this machine, read-only, behind a link that works once.")
@click.option("--port", type=WholeNumber(0, 65535), metavar="N", help="With --web: the port; default: a free one.")
def watch(run_: str | None, web: bool, port: int | None, **flags: object) -> None:
    """Show RUN, live or ended, in terminals or browser tabs (--web)."""
    _guarded(lambda: _watch(run_, flags, web=web, port=port))


@cli.command(short_help="Print the key of an item.")
@click.argument("kind", type=Words(["url", "file", "value"]))
@click.argument("text")
@click.option("--cwd", metavar="DIR", help="Where relative paths start; default: here.")
def key(kind: ItemKind, text: str, **flags: object) -> None:
    """Print the key of TEXT in a search. All spellings of the same item have the same key."""
    _guarded(lambda: _key(kind, text, flags))


class _Apply(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        del ctx
        with formatter.section("Exit codes"):
            rows = [("0", "the checks pass in the workspace, and that counts; without checks: all was applied")]
            more = "something is left staged, a check does not pass, rests on undecided changes, or is not confirmed"
            formatter.write_dl([*rows, ("5", more)])


@cli.command(cls=_Apply, short_help="Show and apply what a run staged.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--cwd", metavar="DIR", help="The workspace; default: here.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
@click.option("--trust", is_flag=True, help="Trust a journal that is not in your folder of journals.")
@click.option("--digest", metavar="D", help="Apply exactly the result with this digest, without protected files.")
@click.option("--patch", metavar="FILE", help="Write it as a patch for git; it stays staged.")
@click.option("--branch", metavar="NAME", help="Commit it to a new branch; it stays staged.")
@click.option("--keep", is_flag=True, help="Accept what is in the workspace and nobody decided on.")
@click.option("--drop", is_flag=True, help="Delete it.")
@click.option("--drop-all", is_flag=True, help="Delete all that runs of this folder left staged.")
@click.option("--plain", is_flag=True, help="Show and ask in lines of words, not on a screen.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def apply(
    run_: str | None,
    digest: str | None,
    patch: str | None,
    branch: str | None,
    drop: bool,
    drop_all: bool,
    keep: bool,
    as_json: bool,
    **flags: object,
) -> None:
    """Show what RUN (default: the newest here with something staged) staged as one diff, and apply what you accept.

    On a terminal this is a screen; else it only prints the diff and its digest. Then the checks of the run run here.
    """
    from .applying import apply as act, has_screen, keep as keep_undecided, staged_run

    is_asking = digest is None and patch is None and branch is None and not (drop or drop_all or as_json)
    if keep:
        is_alone = patch is None and branch is None and not (drop or drop_all)
        _guarded(lambda: keep_undecided(run_, flags, digest=digest, is_alone=is_alone, as_json=as_json))
        return
    if is_asking and has_screen(flags):
        from .open_screen import open_review

        _guarded(lambda: open_review(staged_run(run_, flags), flags))
        return
    _guarded(
        lambda: act(
            run_,
            flags,
            digest=digest,
            patch=patch,
            branch=branch,
            drop=drop,
            drop_all=drop_all,
            as_json=as_json,
        )
    )


beside_a_run(cli)
about_recipes(cli)
about_the_program(cli)


def main() -> NoReturn:
    """The `rundry` command. Ends the process; a usage error is one line and exit code 2."""
    try:
        prepare_streams()
        try:
            _main()
        finally:
            sys.stdout.flush()
    except OutputFailed as error:
        drop_output()
        code = 2 if error.errno == errno.EBADF else 1  # closed: nothing was done yet
        _fail(f"standard output cannot be written: {error.strerror}. Redirect it to a file or to {os.devnull}", code)
    except BrokenPipeError:  # the reader has gone
        drop_output()
        sys.exit(141)


def _main() -> NoReturn:
    try:
        if sys.argv[1:2] != ["key"]:  # the name of a file may consist of any bytes
            _refuse_what_is_no_text(sys.argv[1:])
        if os.environ.get("_RUNDRY_COMPLETE"):
            from .completion_shells import prepare

            prepare(cli)
        cli.main(prog_name="rundry", standalone_mode=False, obj=_resume_decided)
    except click.ClickException as error:
        _fail(line_of(error))
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


def _run(words: Sequence[str], flags: Mapping[str, object], output: Output | None) -> int:
    from .task import goal_of, task_of

    if (setup := goal_of(words, flags, output)) is not None:
        return _drive_or_open(setup, setup.wanted.task, flags, output, "run")
    task = task_of(words, cli.commands, adds_input=output is Output.ANSWER)
    if flags.get("continue_"):
        from ..start.resuming import find_continued

        return _resume(str(find_continued(task, flags)), flags, hint=task, since=None, output=output)
    if output is None:
        from .open_screen import open_new

        return open_new(task, flags)
    return _drive_task(task, flags, output)


def _demo(flags: Mapping[str, object], output: Output | None) -> int:
    if output is not None:
        from ..start.new_run import demo_flags

        return _drive_task(*demo_flags(flags), output)
    from .open_screen import open_demo

    return open_demo(flags)


def _find(words: Sequence[str], flags: Mapping[str, object], *, again: bool, output: Output | None) -> int:
    from ..start.find_setup import FindSetup, requested_search, unfinished

    if flags.get("every") is not None:
        from ..start.repeat_setup import RepeatSetup

        setup = RepeatSetup(requested_search(words, flags), {**flags, "resume": again}, headless=output is not None)
    else:
        setup = FindSetup(requested_search(words, flags), flags, headless=output is not None)
    if again:
        kept = {name: flags.get(name) for name in (*RESUMED, *LIMITED, "executor")}
        return _resume(str(unfinished(setup)), kept, hint=None, since=None, output=output)
    return _drive_or_open(setup, setup.wanted.task, flags, output, "find")


def _fix(words: Sequence[str], flags: Mapping[str, object], output: Output | None) -> int:
    from ..start.fix_setup import FixSetup, source_of
    from .task import task_of

    if len(words) > 1:  # `rundry fix the tests`: a task that begins with the name of a command
        task_of(["fix", *words], (), adds_input=False)
    setup = FixSetup(source_of(words[0], flags), flags, headless=output is not None)
    return _drive_or_open(setup, setup.task, flags, output, "fix")


def _review(words: Sequence[str], flags: Mapping[str, object], output: Output | None) -> int:
    from ..start.review_setup import comments_file, review_setup

    comments = comments_file(flags, headless=output is not None)
    setup = review_setup(words, flags, headless=output is not None)
    code = _drive_or_open(setup, setup.task, flags, output, "review")
    if comments is not None:
        from ..export.writing import write_comments

        write_comments(setup.journal, comments)
    return code


def _drive_or_open(setup: Setup, task: str, flags: Mapping[str, object], output: Output | None, command: str) -> int:
    if output is None:
        from .open_screen import open_prepared

        return open_prepared(setup, task, flags, command)
    return _drive(setup, task, flags, output)


def _drive_task(task: str | None, flags: Mapping[str, object], output: Output) -> int:
    with quick_imports():
        from ..plain.headless.drive_headless import headless_setup

    return _drive(*headless_setup(task, flags, output), flags, output)


def _drive(setup: Setup, task: str, flags: Mapping[str, object], output: Output) -> int:
    with quick_imports():
        from rundry.agent import begin_in_process  # the runner, which a screen never needs

        from ..plain.headless.drive_headless import drive_new

    return drive_new(setup, task, flags, output, begin_in_process)


def _resume(
    ref: str | None,
    flags: Mapping[str, object],
    *,
    hint: str | None,
    since: int | None,
    output: Output | None,
    decided: ResumeChanges | None = None,
) -> int:
    if output is None:
        from .open_screen import open_resumed

        return open_resumed(ref, flags, hint=hint, decided=decided)
    with quick_imports():
        from ..plain.headless.drive_headless import resumption

    resumed = resumption(ref, flags, hint=hint, since=since, output=output, decided=decided)
    with quick_imports():
        from rundry.agent import run_in_process

    return resumed.drive(run_in_process)


def _resume_decided(ref: str, flags: Mapping[str, object], decided: ResumeChanges, output: Output | None) -> int:
    return _resume(ref, flags, hint=decided.hint, since=None, output=output, decided=decided)


def _watch(ref: str | None, flags: Mapping[str, object], *, web: bool, port: int | None) -> int:
    if web:
        from ..web.web_command import watch_in_browser

        return watch_in_browser(ref, flags, port or 0)
    if port is not None:
        from rundry.agent import UserError

        raise UserError(f"--port {port} works only with --web: add --web, or remove --port")
    from .open_screen import open_watched

    return open_watched(ref, flags)


def _key(kind: ItemKind, text: str, flags: Mapping[str, object]) -> int:
    from rundry.agent import item_key

    from ..start.run_folders import workspace_of
    from ..text.show_text import one_line

    found = item_key(kind, text, workspace_of(flags), of_user=True)
    print(one_line(found) if sys.stdout.isatty() else found)
    return 0


if __name__ == "__main__":
    main()
