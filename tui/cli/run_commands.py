"""Commands that control one run or report on several. Imports only click; a command imports what it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..export.formats import ExportFormat
from ..text.end_command import guarded
from .click_options import EDITED, RESUMED, headless_options, run_options
from .option_kinds import RealNumber, WholeNumber, Words

if TYPE_CHECKING:
    from rundry.agent import GateVerdict

    from ..text.output_kind import Output
    from .decide_command import ResumeDecided

_WHERE = (
    click.option("--cwd", metavar="DIR", help="The workspace; default: here."),
    click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR)."),
)


_FOLDERS = ("cwd", "runs_dir")
_SERVED = ("bind", "port", "cert", "key", "accept_self_signed", "for_")
"""Options of `approve --serve`."""
_MOST_LEFT = 12
"""Number of files that a fork lists as left unchanged."""
_TRUST = click.option("--trust", is_flag=True, help="Trust a journal that is not in your folder of journals.")


def beside_a_run(cli: click.Group) -> None:
    """Add these commands to the group."""
    for command in (ctl, fork, verify, handoffs, export, report, approve, reject, check, backup):
        for option in reversed(_WHERE):
            option(command)
        cli.add_command(command)
    for command in (acp, mcp, runs):
        cli.add_command(command)


class _Verbs(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List all verbs."""
        from .verbs import VERBS

        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(f"{name} {verb.takes}".strip(), verb.about) for name, verb in VERBS.items()])
        formatter.write_paragraph()
        codes = "Exit code 0: the run accepted it. 1: the run refused it. 2: bad input; nothing was sent."
        formatter.write_text(f"{codes} 5: `stage apply`, as `rundry apply`.")


@click.command(cls=_Verbs, short_help="Control a run from a script.")
@click.argument("words", nargs=-1, metavar="[RUN] VERB [...]")
@click.option("--now", is_flag=True, help="pause, stop: immediately.")
@click.option("--reason", metavar="TEXT", help="reject, judge: the reason.")
@click.option("--digest", metavar="D", help="approve, reject, stage apply: the digest, or a prefix.")
@click.option("--api-base", metavar="URL", help="model: its server.")
@click.option("--unsandboxed", is_flag=True, help="gate auto: also without a sandbox.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ctl(words: tuple[str, ...], as_json: bool, **flags: object) -> None:
    """Send a command to RUN (an id, a prefix of one, or a journal; default: this folder's newest live run)."""
    from .ctl import control

    guarded(lambda: control(words, flags, as_json=as_json))


@click.command(short_help="Start a new run from a step of another one.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--at", type=WholeNumber(0), metavar="STEP", help="State after this step; default: the newest.")
@_TRUST
@click.option("--files", is_flag=True, help="Also restore the files, except those that someone else changed since.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fork(run_: str | None, at: int | None, files: bool, as_json: bool, **flags: object) -> None:
    """Start a new run with the conversation and spend of RUN (default: this folder's newest). RUN is unchanged."""
    guarded(lambda: _fork(run_, flags, at=at, files=files, as_json=as_json))


def _fork(ref: str | None, flags: Mapping[str, object], *, at: int | None, files: bool, as_json: bool) -> int:
    """Create the run and print how to continue it. Return 0, or 1 if files were not restored. Raises RundryError."""
    import shlex

    from rundry.agent import fork_run, plural

    from ..start.resuming import find_any_own
    from ..start.run_folders import folder_of
    from ..text.json_out import print_json
    from ..text.show_text import one_line, show

    forked = fork_run(find_any_own(ref, flags), folder_of(flags), at=at, files=files)
    if as_json:
        print_json(forked)
        return 1 if forked.left else 0
    of = "" if forked.step == forked.steps else f" of {forked.steps}"
    print(show(f"{forked.run_id}  forked from {forked.forked_from} after step {forked.step}{of}"))
    if files:
        print(show(f"{plural(len(forked.restored), 'file')} restored to that step"))
    for line in forked.left[:_MOST_LEFT]:
        print(f"left unchanged: {one_line(line)}")
    if len(forked.left) > _MOST_LEFT:
        print(show(f"left unchanged: {len(forked.left) - _MOST_LEFT} more"))
    where = f" --runs-dir {shlex.quote(str(flags['runs_dir']))}" if flags.get("runs_dir") else ""
    print(show(f'continue with: rundry resume {forked.run_id}{where} --hint "..."'))
    return 1 if forked.left else 0


class _Verify(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        del ctx
        with formatter.section("Exit codes"):
            rows = [("0", "it passed"), ("1", "it failed"), ("2", "bad input: no check ran")]
            formatter.write_dl([*rows, ("6", "not confirmed: a clean checkout could not be made")])


@click.command(cls=_Verify, short_help="Check the result of an ended run in a clean checkout.")
@click.argument("run_", metavar="[RUN]", required=False)
@_TRUST
@click.option("--with", "command", metavar="CMD", help="Run this command there; default: the checks of the run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(run_: str | None, command: str | None, as_json: bool, **flags: object) -> None:
    """Run the checks of RUN (default: this folder's newest) once in a clean checkout of its result.

    The files that the run changed must still be as it left them.
    """
    guarded(lambda: _verify(run_, flags, command=command, as_json=as_json))


def _verify(ref: str | None, flags: Mapping[str, object], *, command: str | None, as_json: bool) -> int:
    """Run the checks and print one line. Return the exit code. Raises RundryError."""
    import asyncio
    import os

    from rundry.agent import Confirmation, Confirmed, confirmation_words, some_files, verify_run

    from ..start.resuming import find_any_own
    from ..text.json_out import print_json
    from ..text.show_text import one_line, show

    codes = {Confirmed.PASSED: 0, Confirmed.FAILED: 1, Confirmed.NOT_CONFIRMED: 6}
    verified = asyncio.run(verify_run(find_any_own(ref, flags), command, os.environ))
    if as_json:
        print_json(verified)
        return codes[verified.result]
    if verified.output.strip():
        print(show(verified.output.rstrip("\n")), file=sys.stderr)
    confirmation = Confirmation(result=verified.result, command=verified.command, detail=verified.detail)
    words = f"{confirmation_words(confirmation)} ({verified.command}, {verified.seconds:.1f} s)"
    if verified.left_out:
        words += f", without what nobody decided on: {some_files(verified.left_out)}"
    print(one_line(f"{verified.run_id}  {words}"))
    if not verified.recorded:
        print("the run is open elsewhere, so the result was not recorded", file=sys.stderr)
    return codes[verified.result]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--cwd", metavar="DIR", help="Runs of this workspace; default: all.")
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
def runs(as_json: bool, **flags: object) -> None:
    """List runs and how they ended."""
    from .lists import print_runs

    guarded(lambda: print_runs(flags, as_json=as_json))


@click.command(short_help="List the runs that wait for a person.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def handoffs(as_json: bool, **flags: object) -> None:
    """List the runs that wait for a person: why, since when, what to do, how to resume them."""
    from .reports import print_handoffs

    guarded(lambda: print_handoffs(flags, as_json=as_json))


def _deciding(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a decision and those of the resumed run."""
    own = (
        click.argument("run_", metavar="[RUN]", required=False),
        click.option("--digest", metavar="D", help="Digest of the proposal, or a prefix; without it you are asked."),
        click.option("--reason", metavar="TEXT", help="The model reads it in the result of its call."),
        run_options([name for name in RESUMED if name not in ("cwd", "runs_dir")], others=False),
        partial(headless_options, json_alone=True),
    )
    for option in reversed(own):
        command = option(command)
    return command


@click.command(short_help="Approve a proposal that waits, then resume its run.")
@_deciding
@click.option("--hunks", metavar="1,3", help="Accept only these hunks.")
@click.option("--serve", is_flag=True, help="Let one paired device of the local network decide, in its browser.")
@click.option("--bind", metavar="ADDRESS", help="With --serve: an address or name of this machine.")
@click.option("--port", type=WholeNumber(0, 65535), metavar="N", help="With --serve: the port; default: a free one.")
@click.option("--cert", metavar="FILE", help="With --serve: your certificate, with its chain.")
@click.option("--key", metavar="FILE", help="With --serve: its key.")
@click.option("--accept-self-signed", is_flag=True, help="With --serve: let the device approve; compare fingerprints.")
@click.option("--for", "for_", metavar="TIME", help="With --serve: how long; default: 2h.")
@click.pass_obj
def approve(resume: ResumeDecided, run_: str | None, hunks: str | None, output: Output | None, **flags: object) -> None:
    """Apply exactly the proposal of RUN that --digest names, then resume the run. `rundry handoffs` lists proposals.

    If its file changed, the proposal is rebased or in conflict: nothing is applied, and it needs a new decision.
    The digest of a suspect check accepts its result. Exit code 75: the decision was not recorded; try later.
    """
    served = {name: flags.pop(name) for name in _SERVED}
    if flags.pop("serve"):
        others = {"RUN": run_, "--hunks": hunks, "--json, --headless or --print": output, **_named(flags)}
        guarded(lambda: _serve(flags, others, served))
    for name, value in _named(served).items():
        if value not in (None, False):
            raise click.UsageError(f"{name} works only with --serve: add it, or leave this option out")
    _decide("approve", run_, hunks, flags, output, resume)


def _named(flags: Mapping[str, object]) -> dict[str, object]:
    """Return options by the name that the user types, without those that say where runs are."""
    return {f"--{name.strip('_').replace('_', '-')}": each for name, each in flags.items() if name not in _FOLDERS}


def _serve(flags: Mapping[str, object], others: Mapping[str, object], served: Mapping[str, object]) -> int:
    """Serve what waits. `others`: options that decide on one proposal. Return the exit code. Raises RundryError."""
    from rundry.agent import UserError

    from ..web.device_command import Options, read_seconds, serve_device

    for name, value in others.items():
        if value not in (None, False, ()):
            raise UserError(f"{name} does not go with --serve, where the device decides: leave it out")
    text = {name: None if value is None else str(value) for name, value in served.items()}
    options = Options(
        bind=text["bind"],
        port=int(text["port"] or 0),
        cert=text["cert"],
        key=text["key"],
        accept_self_signed=bool(served["accept_self_signed"]),
        seconds=read_seconds(text["for_"] or "2h"),
    )
    return serve_device(flags, options)


@click.command(short_help="Reject a proposal that waits, then resume its run.")
@_deciding
@click.pass_obj
def reject(resume: ResumeDecided, run_: str | None, output: Output | None, **flags: object) -> None:
    """Reject the proposal, or the suspect check, of RUN that --digest names, then resume the run.

    Exit code 75: the decision was not recorded; try later.
    """
    _decide("reject", run_, None, flags, output, resume)


def _decide(
    verdict: GateVerdict,
    run_: str | None,
    hunks: str | None,
    flags: dict[str, object],
    output: Output | None,
    resume: ResumeDecided,
) -> None:
    from .decide_command import decide

    digest, reason = flags.pop("digest"), flags.pop("reason")
    guarded(
        lambda: decide(
            run_,
            flags,
            verdict=verdict,
            digest=None if digest is None else str(digest),
            hunks=hunks,
            reason=None if reason is None else str(reason),
            output=output,
            resume=resume,
        )
    )


@click.command(short_help="Write a run, or the findings of a search.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option(
    "--format",
    "kind",
    type=Words([each.value for each in ExportFormat]),
    default="jsonl",
    help="Default: jsonl.",
)
@click.option("-o", "--output", metavar="FILE", help="A new file; default: standard output.")
@click.option("--otel-content", "content", is_flag=True, help="With --format otlp: spans contain texts of the run.")
def export(run_: str | None, kind: str, output: str | None, content: bool, **flags: object) -> None:
    """Write RUN (default: this folder's newest) for a person or a program. Keys are hidden.

    The formats jsonl, md and html hold the whole run; sarif, csv and findings-md the findings of a search; otlp its
    spans for OpenTelemetry; atif its trajectory for programs that evaluate agents.
    """
    guarded(lambda: _export(run_, flags, kind=ExportFormat(kind), output=output, content=content))


def _export(
    ref: str | None, flags: Mapping[str, object], *, kind: ExportFormat, output: str | None, content: bool
) -> int:
    """Write a run to the file `output`, or to standard output. Return 0. Raises RundryError."""
    from rundry.agent import Journal

    from ..export.writing import chunks, write_export
    from ..start.resuming import find_any
    from ..text.show_text import one_line

    journal = Journal.open(find_any(ref, flags))
    try:
        if output is None or output == "-":
            for chunk in chunks(journal, kind, content=content):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        else:
            write_export(journal, kind, Path(output), content=content)
            print(f"{journal.spec.run_id}  written to {one_line(output)}")
    finally:
        journal.close()
    return 0


@click.command(short_help="Summarize the runs of the last days.")
@click.option(
    "--days",
    type=RealNumber(0, min_open=True),
    default=7.0,
    metavar="N",
    help="Runs that began in the last N days; default: 7.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", metavar="FILE", help="Write a page to a new file; -: to standard output.")
def report(days: float, as_json: bool, html: str | None, **flags: object) -> None:
    """Summarize exits, use of limits, detectors, hand-offs and spend, and report limits that do not fit."""
    from .reports import print_report

    guarded(lambda: print_report(flags, days=days, as_json=as_json, html=html))


class _Mcp(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs."""
        from .mcp_verbs import VERBS

        del ctx
        with formatter.section("Verbs, for the servers that your runs use"):
            formatter.write_dl([(f"{name} {takes}".strip(), about) for name, (takes, about) in VERBS.items()])


@click.command(cls=_Mcp, short_help="Serve runs to an MCP client; add and list MCP servers.")
@click.argument("words", nargs=-1, metavar="[VERB ...]")
@click.option("-t", "--transport", type=Words(["stdio", "http"]), help="add: how the server is reached.")
@click.option("-e", "--env", multiple=True, metavar="NAME[=VALUE]", help="add: a variable of the command.")
@click.option("-H", "--header", multiple=True, metavar="NAME:VALUE", help="add: a header of each request.")
@click.option("--network", is_flag=True, help="add, import: the command may use the network.")
@click.option("--write", is_flag=True, help="add, import: the command may write to the workspace.")
@click.option("--json", "as_json", is_flag=True, help="list: print JSON.")
@click.option("--no-browser", is_flag=True, help="login: only print the address.")
@click.option(
    "--folder", "folders", multiple=True, metavar="DIR", help="Runs below it; default: here. May be repeated."
)
@click.option("--runs-dir", metavar="DIR", help="Where journals are (RUNDRY_RUNS_DIR).")
@click.option("-m", "--model", metavar="NAME", help="Model of new runs; default: as in the config.")
@click.option("--api-base", metavar="URL", help="An OpenAI-compatible server for --model.")
@click.option("--until", multiple=True, metavar="CMD", help="Check of each run. The client may pick among several.")
@click.option("--allow-checks", is_flag=True, help="The client may name any check, which runs without approval.")
@click.option("--max-steps", default="200", metavar="N", help="Highest limit of steps of a run (200), or none.")
@click.option("--max-tokens", default="2m", metavar="N", help="Highest limit of billed tokens of a run (2m), or none.")
@click.option("--max-usd", default="5", metavar="X", help="Highest limit of USD of a run (5), or none.")
@click.option("--max-time", default="1h", metavar="D", help="Highest limit of working time of a run (1h), or none.")
@click.option("--max-runs", type=WholeNumber(1), default=3, metavar="N", help="Runs at the same time (3).")
@click.option("--max-starts", type=WholeNumber(1), default=50, metavar="N", help="Starts and resumes in all (50).")
@click.option("--gate", type=Words(["read", "ask", "edits"]), metavar="MODE", help="Widest mode of the gate (ask).")
@click.option("--allow-auto", is_flag=True, help="Runs may use the gate's mode auto.")
@click.option("--allow-approve", is_flag=True, help="The client may approve and reject proposals, by digest.")
@click.option("--any-run", is_flag=True, help="The client may also control runs that no MCP client started.")
@click.option("--stop-on-exit", is_flag=True, help="Stop the server's runs when it exits; default: they continue.")
@click.pass_context
def mcp(ctx: click.Context, words: tuple[str, ...], folders: tuple[str, ...], **flags: object) -> None:
    """Serve the Model Context Protocol on standard input and output: start runs, read, control and wait for them.

    The client sees runs below the folders only. It cannot approve anything without --allow-approve, and never what
    needs a person: guarded files, suspect checks, more than the sandbox allows.

    With a verb, it serves nothing: it adds, lists or removes MCP servers that your runs use.

    \b
    rundry mcp add time -- mcp-server-time
    rundry mcp add --transport http docs https://docs.example.org/mcp
    rundry mcp import servers.json
    """  # noqa: D301 - click reads the escape
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    of_verbs = {"transport", "env", "header", "network", "write", "as_json", "no_browser"}
    misplaced = given - {"words"} - of_verbs if words else given & of_verbs
    if misplaced:
        option = next(param.opts[-1] for param in ctx.command.params if param.name in misplaced)
        raise click.UsageError(f"{option} {'is for serving' if words else 'needs a verb'}: see rundry mcp --help")
    if words:
        from .mcp_verbs import carry_out

        guarded(lambda: carry_out(words, flags))
    from ..mcp.mcp_command import serve

    guarded(lambda: serve({name: value for name, value in flags.items() if name not in of_verbs}, folders))


class _Check(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        del ctx
        with formatter.section("Exit codes"):
            rows = [("0", "the journal is sound"), ("1", "it is damaged"), ("2", "bad input: nothing was read")]
            formatter.write_dl(rows)


@click.command(cls=_Check, short_help="Read a whole journal and report all damage.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(run_: str | None, as_json: bool, **flags: object) -> None:
    """Read the whole journal of RUN (default: this folder's newest) and print each finding on a line.

    Checks the file, the checksums of events and stored contents, the end, and the spend.
    """
    guarded(lambda: _check(run_, flags, as_json=as_json))


def _check(ref: str | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print each finding on a line. Return the exit code, which is 1 if the journal is damaged. Raises UserError."""
    from rundry.agent import check_journal, plural

    from ..start.resuming import find_any
    from ..text.json_out import print_json
    from ..text.show_text import one_line

    found = check_journal(find_any(ref, flags))
    if as_json:
        print_json(found)
        return 0 if found.is_sound else 1
    for finding in found.findings:
        print(f"{finding.part}: {one_line(finding.text)}")
    if found.is_sound:
        counted = f"{plural(found.events, 'event')}, {plural(found.contents, 'stored content')}"
        print(one_line(f"{found.run_id}  sound: {counted}"))
        return 0
    return 1


@click.command(cls=_Check, short_help="Copy a run into one file, even while it runs.")
@click.argument("run_", metavar="[RUN]", required=False)
@click.argument("target", metavar="[TARGET]", required=False)
def backup(run_: str | None, target: str | None, **flags: object) -> None:
    """Copy the journal of RUN (default: this folder's newest) to TARGET, a new file or a folder; default: this folder.

    The copy is complete even while the run continues, and can be watched, exported and resumed.
    """
    guarded(lambda: _backup(run_, target, flags))


def _backup(ref: str | None, target: str | None, flags: Mapping[str, object]) -> int:
    """Copy the journal.

    Return the exit code, which is 1 if the journal, and so the copy, is damaged. Raises RundryError.
    """
    from rundry.agent import backup_journal

    from ..start.resuming import find_any
    from ..text.show_text import one_line

    place, damage = backup_journal(find_any(ref, flags), None if target is None else Path(target))
    print(one_line(str(place)))
    if damage:
        print(f"rundry: the journal is damaged, and so is the copy: {one_line(damage)}", file=sys.stderr)
        return 1
    return 0


@click.command(short_help="Serve an editor: Zed, Neovim and others (ACP).")
@run_options(EDITED, others=False)
def acp(**flags: object) -> None:
    """Speak the Agent Client Protocol on standard input and output: an editor shows runs and decides on changes.

    The options are those of each session that the editor opens; its folder is the one that the editor names.
    Needs the extra rundry[acp]. Exit code 2: it is missing, or an option is wrong.
    """
    from ..acp.acp_command import serve

    guarded(lambda: serve(flags))
