"""Run rundry as a step of GitHub Actions. Exit code 0 only if the run is done and its report was posted and read back.

With the input `diff`, the run is a review: it is done if it ended dry and no confirmed finding is left. Each other end
has exit code 1 and one sentence that says why. Inputs are the environment variables that `action.yml` sets. Needs only
the standard library.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[3]
"""The checkout of rundry that this Action is a part of."""
EVENTS = ("merge_group", "pull_request", "push", "repository_dispatch", "schedule", "workflow_dispatch")
"""Events whose code and texts come from people who may write to the repository, or that get no secrets."""
NOT_FOR_THE_RUN = ("ACTIONS_", "GITHUB_", "INPUT_", "GH_TOKEN", "RUNDRY_")
"""Prefixes of variables that the run does not get: tokens, and the files through which a step changes later steps."""
NAME = re.compile(r"[\w.-]{1,100}")
MAX_SUMMARY = 1_000_000
"""Bytes. GitHub drops a larger job summary without failing the job."""
MAX_LISTED, MAX_LISTED_LINE = 100, 400
"""Lines of the report about findings and files, and characters of each. GitHub refuses 64 KB in a comment."""
MAX_LINE = 3_000
"""Characters of one fact in the report."""
ENDS = {
    1: "it ended with an error",
    2: "it was refused before it began",
    3: "a limit was reached",
    4: "it made no progress",
    5: "it waits for a person",
    6: "its result is not complete",
    7: "its review confirmed findings",
    75: "the model's server did not answer; a later run can succeed",
    130: "somebody stopped it",
}


class Red(Exception):
    """The step fails. The text is the sentence that says why."""


def main() -> int:
    """Do everything; return the exit code of the step."""
    try:
        sentence = carry_out()
    except Red as red:
        return report_red(str(red))
    except Exception as error:  # noqa: BLE001  whatever happened, the step must not look as if it had worked
        return report_red(f"the Action itself failed: {type(error).__name__}: {error}")
    print(sentence)
    return 0


def report_red(sentence: str) -> int:
    """Print the sentence as an error of the step, and put it into the summary if that is possible."""
    sentence = " ".join(sentence.split())
    print(f"::error title=rundry::{sentence.replace('%', '%25')}")
    try:
        add_to("GITHUB_STEP_SUMMARY", f"**rundry: not green.** {in_code(sentence)}\n")
    except (OSError, Red) as error:
        print(f"the job summary could not be written: {error}")
    return 1


def carry_out() -> str:
    """Run, report, read back. Return what to print when everything holds. Raises Red."""
    require_inputs()
    if given("forks") not in ("fail", "neutral"):
        raise Red("the input `forks` must be `fail` or `neutral`")
    event, number = event_of_job()
    if comes_from_fork(event):
        return not_run_for_fork()
    if not given("api_key"):
        raise Red("the input `api-key` is empty: the secret is missing, or this event has none (`none`: no key needed)")
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", given("api_key_variable")):
        raise Red("the input `api-key-variable` must be the name of an environment variable, such as OPENAI_API_KEY")
    if not re.fullmatch(r"[1-9]\d{0,3}", given("post_time")):
        raise Red("the input `post-time` must be a number of seconds")
    if number is not None and not given("token"):
        raise Red("the input `token` is empty, so the report cannot be posted in the pull request")
    folder = checkout()
    runs = Path(variable("RUNNER_TEMP"), "rundry", secrets.token_hex(8))
    command = given("command") or install()
    exit_code, events = run(command, folder, runs)
    found = look_at(events)
    add_to("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in {**found, "journals": runs}.items()))
    why = why_not_done(exit_code, events)
    post_report(command, runs, events, why, number)
    if why:
        raise Red(why)
    add_to("GITHUB_OUTPUT", "verdict=done\n")
    where = "the summary" if number is None else f"the summary and pull request {number}"
    return f"rundry: done, run {found['run']}; the report was written to {where} and read back"


def require_inputs() -> None:
    """Raise Red unless the inputs say what to do: a task with its check, or a diff."""
    is_review = bool(given("diff"))
    if is_review and (both := next((name for name in ("task", "check") if given(name)), "")):
        raise Red(f"the inputs `diff` and `{both}` exclude each other: a review has no task and no check")
    for name in ("model",) if is_review else ("task", "check", "model"):
        if not given(name):
            raise Red(f"the input `{name}` is empty")
    lines = given("check").splitlines()
    if not is_review and not any(line.strip() and not line.strip().startswith("#") for line in lines):
        raise Red("the input `check` is only a comment, so it would pass without a test")


def given(name: str) -> str:
    """Return an input of the Action without surrounding space."""
    return os.environ.get(f"INPUT_{name.upper()}", "").strip()


def variable(name: str) -> str:
    """Return a variable that the runner sets."""
    value = os.environ.get(name, "")
    if not value:
        raise Red(f"{name} is not set: this script must run as a step of GitHub Actions")
    return value


def event_of_job() -> tuple[dict[str, Any], int | None]:
    """Return the event, and the number of its pull request."""
    name = variable("GITHUB_EVENT_NAME")
    if name not in EVENTS:
        raise Red(f"the event {name} gives secrets to what strangers wrote: use one of {', '.join(EVENTS)}")
    event = json.loads(Path(variable("GITHUB_EVENT_PATH")).read_text("utf-8"))
    if name != "pull_request":
        return event, None
    number = event["pull_request"]["number"]
    if type(number) is not int:
        raise Red("the event has no number of a pull request")
    return event, number


def comes_from_fork(event: dict[str, Any]) -> bool:
    """Return whether the code is from a repository of somebody else, or from one that was deleted."""
    if "pull_request" not in event:
        return False
    repository = event["pull_request"]["head"]["repo"] or {}
    return repository.get("full_name") != variable("GITHUB_REPOSITORY")


def not_run_for_fork() -> str:
    """Say that nothing was run; as the input `forks` wants it, the step fails."""
    sentence = "nothing was run: a pull request from a fork gets no secrets"
    if given("forks") == "fail":
        raise Red(f"{sentence} (`forks: neutral` accepts that)")
    add_to("GITHUB_STEP_SUMMARY", f"**rundry: neutral.** {sentence}\n")
    add_to("GITHUB_OUTPUT", "verdict=neutral\n")
    print(f"::warning title=rundry::{sentence}")
    return f"rundry: neutral, {sentence}"


def checkout() -> Path:
    """Return the folder to work in, if it is a git checkout without a token in its settings."""
    folder = Path(variable("GITHUB_WORKSPACE"), given("directory"))
    if not folder.is_dir() or git(folder, "rev-parse", "--is-inside-work-tree").stdout.strip() != "true":
        raise Red(f"{folder} is not a git checkout: use actions/checkout before this step")
    if git(folder, "config", "--get-regexp", r"^http\..*\.extraheader$").stdout:
        raise Red(
            "the checkout keeps a token that the run can read: set `persist-credentials: false` for actions/checkout"
        )
    return folder


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Ask git; it may fail."""
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)


def install() -> str:
    """Install rundry from this checkout with the locked packages, and return its command."""
    venv = Path(variable("RUNNER_TEMP"), "rundry-venv")
    python = venv / "bin" / "python"
    lock = ROOT / ".dev" / "run.lock"
    print("installing rundry", flush=True)
    for words in (
        [sys.executable, "-m", "venv", str(venv)],
        [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock)],
    ):
        if subprocess.run(words).returncode:
            raise Red(f"rundry could not be installed: {' '.join(words[1:4])} failed (it needs Python 3.11 or newer)")
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "rundry.pth").write_text(f"{ROOT / '.dev'}\n")
    command = venv / "bin" / "rundry"
    command.write_text(f"#!{python}\nimport sys\nfrom rundry.tui.cli.root import main\nsys.exit(main())\n")
    command.chmod(0o755)
    return str(command)


def environment(runs: Path) -> dict[str, str]:
    """Return the variables of the run: without the runner's, with the key in the one variable that was named."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_FOR_THE_RUN)}
    if given("api_key") != "none":
        kept[given("api_key_variable")] = given("api_key")
    return {**kept, "RUNDRY_RUNS_DIR": str(runs)}


def run(command: str, folder: Path, runs: Path) -> tuple[int, list[dict[str, Any]]]:
    """Run the task or the review to its end, and return the exit code and the events of its journal."""
    runs.mkdir(parents=True, mode=0o700)
    if given("diff"):
        words = [command, "review", "--headless", f"--diff={given('diff')}"]
    else:
        words = [command, "run", "-", "--headless", "--gate", "auto", f"--until={given('check')}"]
    words += [f"--model={given('model')}"]
    words += [f"--{name}={given(name)}" for name in ("steps", "usd", "time")]
    words += [f"--api-base={given('api_base')}"] if given("api_base") else []
    # what a model or a file prints must not be read as a command of the workflow
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment(runs), input=given("task").encode(), stdout=sys.stdout, stderr=sys.stdout
        )
    except OSError as error:
        raise Red(f"{command} cannot be started: {error.strerror}") from None
    finally:
        print(f"\n::{token}::", flush=True)
    # the folder of journals is new, so the newest run is this one
    words = [command, "export", "--format", "jsonl", "--runs-dir", str(runs)]
    exported = subprocess.run(words, cwd=folder, env=environment(runs), capture_output=True)
    try:
        events = [json.loads(line) for line in exported.stdout.splitlines()]
    except ValueError:
        events = []
    if not done.returncode and (exported.returncode or not events):
        raise Red("the events of the run cannot be read, although its exit code is 0")
    return done.returncode, events


def look_at(events: list[dict[str, Any]]) -> dict[str, str]:
    """Return the id, reason and grade of the run; empty texts for what it does not have."""
    started = next((event for event in events if event["type"] == "run_started"), {})
    ended = events[-1] if events and events[-1]["type"] == "run_ended" else {}
    found = {
        "run": started.get("run_id") or "",
        "reason": ended.get("reason") or "",
        "grade": (ended.get("evidence") or {}).get("grade") or "",
    }
    if not all(NAME.fullmatch(value) for value in found.values() if value):
        raise Red("the events of the run have names that cannot be names")
    return found


def why_not_done(exit_code: int, events: list[dict[str, Any]]) -> str:
    """Return why the run does not count as done, or an empty text."""
    ended = events[-1] if events else {}
    detail = str(ended.get("detail") or "") or ("" if events else "the log says why")
    if exit_code:
        words = ENDS.get(exit_code, "it was killed" if exit_code < 0 else "it ended in an unknown way")
        return f"the run is not done, {words} (exit code {exit_code}){': ' if detail else ''}{detail}"
    if ended.get("type") != "run_ended":
        return "the run has no end in its events, although its exit code is 0"
    wanted = "dry" if given("diff") else "done"
    if ended.get("reason") != wanted or ended.get("complete") is not True:
        return (
            f"the run ended with {ended.get('reason')}, which is not a complete `{wanted}`, although its exit code is 0"
        )
    if given("diff"):
        return why_not_clean(events)
    if not any(event["type"] == "check_finished" for event in events):
        return "the run says that it is done, but no check was run"
    return ""


def why_not_clean(events: list[dict[str, Any]]) -> str:
    """Return why a dry review does not count as done, or an empty text."""
    if not any(event["type"] == "diff_cut" and event.get("files") for event in events):
        return "the review says that it is dry, but no file of the diff was shown to it"
    looked = (event for event in events if event["type"] == "work_finished" and event.get("kind") == "lens")
    if not any(event.get("ok") is True for event in looked):
        return "the review says that it is dry, but no lens looked at the diff"
    if left := left_findings(events):
        return f"the review confirmed {len(left)} finding(s), although its exit code is 0"
    return ""


def left_findings(events: list[dict[str, Any]]) -> list[str]:
    """Return the keys of the findings of the diff that are confirmed, or kept without a verdict."""
    relation: dict[str, str] = {}
    verdict: dict[str, str] = {}
    for event in events:
        key = str(event.get("key"))
        if event["type"] == "finding_reported":
            relation[key] = str(event.get("relation"))
        elif event["type"] == "finding_judged":
            verdict[key] = "duplicate" if event.get("duplicate_of") else str(event.get("verdict"))
        elif event["type"] == "finding_reopened":
            verdict.pop(key, None)
    return [
        key for key, where in relation.items() if where != "outside" and verdict.get(key, "confirmed") == "confirmed"
    ]


def post_report(command: str, runs: Path, events: list[dict[str, Any]], why: str, number: int | None) -> None:
    """Write the report to the summary and the pull request, and read both back. Raises Red."""
    run_id = look_at(events)["run"]
    if not run_id:
        raise Red(why or "the run has no id")
    text = report(command, runs, run_id, why, of_review(events) if given("diff") else [])
    for secret in (given("api_key"), given("token")):
        if len(secret) > 6 and secret in text:
            raise Red("the report has a key in it, so it was not posted")
    try:
        add_to("GITHUB_STEP_SUMMARY", text)
        summary = Path(variable("GITHUB_STEP_SUMMARY")).read_bytes()
        if run_id.encode() not in summary:
            raise Red("the job summary does not have the report that was written to it")
        if len(summary) > MAX_SUMMARY:
            raise Red("the job summary is larger than what GitHub shows")
        if number is not None:
            comment(text, run_id, number)
    except Red as red:
        raise Red(f"{why}; and {red}" if why else str(red)) from None


def of_review(events: list[dict[str, Any]]) -> list[str]:
    """Return the lines about what a review found, and about the files that it did not show to its lenses."""
    cut = next((event for event in events if event["type"] == "diff_cut"), {})
    found = [line for line in str(events[-1].get("answer") or "").splitlines() if line.strip()]
    left_out = [str(name) for name in cut.get("left_out") or []]
    lines = [f"- {in_code(line.removeprefix('- ')[:MAX_LISTED_LINE])}" for line in found]
    lines += [f"- not reviewed: {in_code(name[:MAX_LISTED_LINE])}" for name in left_out]
    more = [f"- and {len(lines) - MAX_LISTED} more: the journal has all"] if len(lines) > MAX_LISTED else []
    return [*lines[:MAX_LISTED], *more, ""] if lines else []


def report(command: str, runs: Path, run_id: str, why: str, more: list[str]) -> str:
    """Return the report as Markdown. Texts of models and files are code in it, so they link and mention nothing."""
    words = [command, "export", run_id, "--format", "md", "--runs-dir", str(runs)]
    done = subprocess.run(words, env=environment(runs), capture_output=True, text=True)
    if done.returncode:
        raise Red(f"the report could not be made: {done.stderr.strip()}")
    title, facts = done.stdout.split("\n\n")[:2]
    shown = [line if len(line) < MAX_LINE else f"{line[:20].split(':')[0]}: too long" for line in facts.splitlines()]
    passed = "The review is dry, and no confirmed finding is left." if given("diff") else "The check passed."
    head = f"**rundry: done.** {passed}" if not why else f"**rundry: not done.** {in_code(why)}"
    return "\n".join([f"#{title}", "", head, "", *shown, "", *more, f"Run {in_code(run_id)}", ""])


def in_code(text: str) -> str:
    """Return a text of one line as code in Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split())[:MAX_LINE]}`"


def add_to(name: str, text: str) -> None:
    """Append to a file of the runner."""
    with Path(variable(name)).open("a", encoding="utf-8") as file:
        file.write(text)


def comment(text: str, run_id: str, number: int) -> None:
    """Post a comment, and read it until it has the id of the run. Raises Red."""
    issues = f"{variable('GITHUB_API_URL')}/repos/{variable('GITHUB_REPOSITORY')}/issues"
    seconds = int(given("post_time"))
    last = "no answer came"

    def too_late(*_: object) -> NoReturn:
        raise Red(f"the report was not posted and read back within {seconds} s: {last}")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(seconds)
    posted: int | None = None
    try:
        while True:
            if posted is None:
                status, answer = ask("POST", f"{issues}/{number}/comments", {"body": text})
                posted = answer.get("id") if status == 201 and type(answer.get("id")) is int else None
                last = f"GitHub answered the post with {status} {answer.get('message', '')}".strip()
                if posted is None and status not in (0, 429) and status < 500:
                    raise Red(f"the report could not be posted: {last} (the job needs `pull-requests: write`)")
            if posted is not None:
                status, answer = ask("GET", f"{issues}/comments/{posted}")
                if status == 200 and run_id in str(answer.get("body")):
                    return
                last = f"the comment {posted} does not have it (GitHub answered {status})"
            time.sleep(1)
    finally:
        signal.alarm(0)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another address."""

    def redirect_request(self, *_: object) -> None:
        return None


def ask(method: str, url: str, content: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """Return status and object of GitHub's answer; status 0 if none came."""
    request = urllib.request.Request(
        url,
        method=method,
        data=json.dumps(content).encode() if content else None,
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {given('token')}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=10) as response:
            status, body = response.status, response.read(1_000_000)
    except urllib.error.HTTPError as error:
        status, body = error.code, error.read(1_000_000)
    except OSError as error:
        return 0, {"message": str(error)}
    try:
        found = json.loads(body)
    except ValueError:
        return status, {"message": "not JSON"}
    return status, found if isinstance(found, dict) else {}


if __name__ == "__main__":
    sys.exit(main())
