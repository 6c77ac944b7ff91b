"""Parse the command line's words and write `--help`. Imports only click."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

import click

ABOUT = """\
Run a coding model in a loop with limits, in a terminal. You approve what it changes.

\b
rundry                                open the screen
rundry "fix the suite" --until "pytest -q"
rundry run "fix the suite" --until "pytest -q" --headless --gate auto
rundry find --recipe crawl URL        search until there are no new results
rundry review --diff main...HEAD      review a diff until there are no new findings
rundry demo                           run a scripted model on a sample project: no key, no network

`rundry TASK` is `rundry run TASK`; options can come before or after it.
"""
LIMITS = (
    ("chat, goal, naive", "40 steps, 200,000 tokens, 0.50 USD, 10 minutes"),
    ("other loops", "200 steps, 2,000,000 tokens, 5 USD, 60 minutes"),
    ("fix, review --fix, find --every", "2,000,000 tokens, 5 USD; one limit must be set"),
)
EXIT_CODES = (
    ("0", "done, answered, dry, plateau; a chat that was left"),
    ("1", "error: the model or the program failed permanently"),
    ("2", "bad input, or refused before the start: nothing was changed"),
    ("3", "budget: a limit was reached"),
    ("4", "stall: stagnation, oscillation, tool-errors"),
    ("5", "handoff: it waits for a person"),
    ("6", "claimed, or partial, or dry but not complete"),
    ("7", "a review that is dry and complete, with confirmed findings"),
    ("75", "error, but a later retry can succeed"),
    ("130", "you stopped it"),
)
"""Exit code for each end of a run (docs/requirements.md 4.1)."""
FIND = """\
Search until there are no new results. An item that was seen is never new again; a failure never counts as empty.

\b
rundry find --recipe crawl http://localhost:8000/
    follows every link within the host; needs no model and no key
rundry find --recipe migrate --check 'ruff check {file}' 'src/**/*.py'
    fixes each file that fails the check, until a full scan finds none
rundry find --recipe research --task "Where does input reach SQL?" src
    uses several lenses, verifiers for each finding, and a critic at the end
rundry find search.toml
    runs your own search: lenses, or a worker for each item
"""
FIX = """\
Fix each confirmed finding of RUN, a finished search: one goal run for each, one after the other, in its workspace.

\b
rundry fix RUN --until "pytest -q" --usd 5
rundry fix RUN --until "ruff check {file}" --tokens 2M --headless --gate auto
    {file}, {line}, {key} and {title} are those of the finding

Each child run has a journal and an outcome of its own, and an equal share of the budget that is left. Together they
never pass the budget, which you must set. A stop or a pause of the run reaches the child that runs.
"""
REVIEW = """\
Review a diff until there are no new findings: lenses search it, verifiers try to refute each finding.

\b
rundry review
    what changed in the working tree since HEAD, with new files that git does not ignore
rundry review --diff main...HEAD --headless --comments review.json
    a branch; the findings on lines of the diff become comments for a pull request
gh pr diff 12 | rundry review --patch - --headless
    a patch on HEAD; it is applied in a copy, never in the workspace
rundry review --fix --until "pytest -q" --usd 5
    repairs each confirmed finding in a layer, then reviews again, until nothing is left; without --steps and --time
    only tokens and USD limit it
rundry review my-lenses.toml
    with the lenses of a spec file or a recipe of yours
"""
SPEC_FILE = """\
task = "Find every place where user input reaches SQL"
[model]
name = "ollama_chat/qwen3:8b"
[budget]
steps = 200
time = "30m"
[[lens]]                      # any number of lenses
name = "taint"
prompt = "Follow each request parameter to where it is used."

Or, instead of lenses, a worker for each item (JSON in, JSON out):
[[seed]]
kind = "file"                 # or url, value
value = "src/app.py"
[worker]
command = ["python3", "worker.py"]   # or python = "module:function"
timeout = "30s"\
"""
_OF_SEARCHES = {"0": "dry, and complete", "6": "dry, but not complete: failures are listed"}
"""Exit codes with another meaning for searches, or without one."""
RUN = "run"
BARE = "rundry.bare"
"""Set in `Context.meta` if the person did not write `run`."""
ABOUT_ITSELF = ("-h", "--help", "-V", "--version")
LONGEST_MISTYPED = 24
"""Characters of the longest word that can be a mistyped command, or the id of a run."""


class Usage(click.Group):
    """`rundry TASK` is `rundry run TASK`: words that are not a subcommand are the task.

    Options may come before either.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the subcommand first."""
        if not ctx.resilient_parsing:
            self._refuse_single_dash(args)
        words = list(self._words(args))
        if not words and (asked := next((arg for arg in args if arg in ABOUT_ITSELF), None)):
            return super().parse_args(ctx, [asked])
        if not words or args[words[0]] not in self.commands:
            if len(words) == 1 and not ctx.resilient_parsing:
                self._refuse_mistyped(args[words[0]])
            ctx.meta[BARE] = True
            return super().parse_args(ctx, [RUN, *args])
        at = words[0]
        return super().parse_args(ctx, [args[at], *args[:at], *args[at + 1 :]])

    def _words(self, args: Sequence[str]) -> Iterator[int]:
        """Yield the position of each word before `--` that is neither an option nor its value."""
        valued = {name for option in self._options() if not option.is_flag for name in option.opts}
        at = 0
        while at < len(args) and args[at] != "--":
            if not args[at].startswith("-") or args[at] == "-":
                yield at
            at += 2 if args[at] in valued or _takes_next(args[at], valued) else 1

    def _refuse_single_dash(self, args: Sequence[str]) -> None:
        """Raise UsageError for `-model NAME`, which would be `-m odel`."""
        names = {name[2:] for option in self._options() for name in option.opts if name.startswith("--")}
        for arg in args:
            if arg == "--":
                return
            given = arg.partition("=")[0]
            if len(given) > 3 and given[0] == "-" and given[1:].replace("-", "").isalpha() and given[1] != "-":
                from .mistyped import near_command

                if near := near_command(given[1:], names):
                    raise click.UsageError(f"No such option '{given}'. Did you mean '--{near}'?")

    def _refuse_mistyped(self, word: str) -> None:
        """Raise UsageError for a mistyped command, which would be the task of a session."""
        if word.isascii() and len(word) <= LONGEST_MISTYPED:
            from .mistyped import parse_problem

            if why := parse_problem(word, self.commands):
                raise click.UsageError(why)

    def _options(self) -> Iterator[click.Option]:
        for command in self.commands.values():
            yield from (param for param in command.params if isinstance(param, click.Option))

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both forms of the usage."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] [TASK]")
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands, then the options of a run."""
        self.format_commands(ctx, formatter)
        options = (param for param in self.commands[RUN].params if isinstance(param, click.Option))
        rows = [record for option in options if (record := option.get_help_record(ctx)) is not None]
        with formatter.section("Options (--headless and --json: run, resume and demo)"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the default limits, the exit codes and the places."""
        del ctx
        _write_ends(formatter)
        with formatter.section("Places"):
            for name, place in _places():
                formatter.write(f"  {name:<9} {place}\n")  # a path that is broken over two lines cannot be copied


class RunCommand(click.Command):
    """A command whose help ends with the default limits and the exit codes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the limits and exit codes."""
        super().format_epilog(ctx, formatter)
        _write_ends(formatter)


class FindCommand(click.Command):
    """The help of a search, with a spec file, the default limits and the exit codes."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a spec file, the limits and the exit codes."""
        super().format_epilog(ctx, formatter)
        with formatter.section("A spec file"):
            for line in SPEC_FILE.splitlines():
                formatter.write(f"  {line}\n" if line else "\n")
        with formatter.section("Limits, unless an option or the file says otherwise"):
            formatter.write_dl([("crawl", "10,000 pages, 60 minutes"), ("others", LIMITS[1][1])])
        with formatter.section("Exit codes"):
            formatter.write_dl([(code, _OF_SEARCHES.get(code, text)) for code, text in EXIT_CODES if code != "4"])


def _takes_next(arg: str, valued: Collection[str]) -> bool:
    """Return whether `arg` is several short options of which the last one takes the next argument: `-pm NAME`."""
    if len(arg) < 3 or arg[1] == "-":
        return False
    return f"-{arg[-1]}" in valued and not any(f"-{letter}" in valued for letter in arg[1:-1])


def _write_ends(formatter: click.HelpFormatter) -> None:
    with formatter.section("Limits, unless an option or a config says otherwise"):
        formatter.write_dl([*LIMITS, ("no limit", "--steps none, --usd none")])
    with formatter.section("Exit codes"):
        formatter.write_dl(EXIT_CODES)


def _places() -> Iterator[tuple[str, str]]:
    from rundry.agent import config_file, runs_dir

    yield "journals", str(runs_dir(None, os.environ))
    yield "", "else: --runs-dir DIR, RUNDRY_RUNS_DIR"
    yield "config", f"{config_file(os.environ)}, yours"
    yield "", ".rundry.toml of the workspace, once you trust it: --trust, /trust"


def line_of(error: click.ClickException) -> str:
    """Return the error as one line that begins with the option or argument that is wrong."""
    if type(error) is not click.BadParameter or error.param is None:
        return error.format_message()
    param = error.param
    name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
    return f"{name}: {error.message}"
