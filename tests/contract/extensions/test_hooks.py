"""Hooks in real runs: they get the event as JSON, can refuse, and can do nothing else."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.project import git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, edit, finish, say

ARGV = ("--headless", "--json", "--steps", "8", "--model", "fake")
REFUSE_PUSH = """\
import json, sys
event = json.load(sys.stdin)
assert event["version"] == 1 and event["event"] == "before-tool", event
if "git push" in event["arguments"].get("command", ""):
    print("pushing is for people", file=sys.stderr)
    sys.exit(2)
"""
PUSHES = call("run_command", command="git push")


def config(home: Home, text: str) -> None:
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(text)


def hook(on: str, command: str, more: str = "") -> str:
    return f"[[hooks]]\non = {json.dumps(on)}\ncommand = {json.dumps(command)}\n{more}\n"


def run(home: Home, project: Path, script: list[Turn], *more: str) -> Ran:
    with ScriptedServer(script, then=finish("done")) as server:
        task = ("run", "work", "--loop", "goal")
        return home.run(*task, *ARGV, "--gate", "auto", "--api-base", server.base_url, *more, cwd=project)


def hooks(ran: Ran) -> list[dict[str, Any]]:
    return ran.of("hook_ran")


def test_a_hook_refuses_a_call_and_the_model_reads_its_reason(home: Home, project: Path) -> None:
    (project / "check.py").write_text(REFUSE_PUSH)
    (project / ".rundry.toml").write_text(
        hook("before-tool", "python3 check.py", 'match = {tool = ["run_command"], path = "**/*.py"}')
    )
    script = [PUSHES, call("run_command", command="echo fine"), call("read_file", path="check.py"), finish("done")]
    ran = run(home, project, script, "--trust")
    pushed, echoed, *_ = ran.results()
    assert "not done: the hook `python3 check.py` refused: pushing is for people" in pushed
    assert "fine" in echoed
    assert [(one["result"], one["tool"]) for one in hooks(ran)] == [
        ("refused", "run_command"),
        ("passed", "run_command"),
    ]
    assert not any(event["command"] == "git push" for event in ran.of("proposal_opened"))


def test_a_hook_runs_for_calls_that_a_resumed_run_makes(home: Home, project: Path) -> None:
    config(home, hook("before-tool", "echo no >&2; exit 2", 'match = {tool = "run_command"}'))
    ran = run(home, project, [call("run_command", command="touch a")], "--steps", "1")
    with ScriptedServer([call("run_command", command="touch b"), finish("done")]) as server:
        again = home.run(
            "resume", ran.outcome["journal"], "--headless", "--json", "--steps", "3", "--api-base", server.base_url,
            "--model", "fake", cwd=project,
        )  # fmt: skip
    assert [one["result"] for one in (*hooks(ran), *hooks(again))][:2] == ["refused", "refused"], again
    assert not (project / "a").exists() and not (project / "b").exists()


def test_a_hook_that_fails_or_hangs_before_a_tool_refuses_the_call(home: Home, project: Path) -> None:
    for command, why in (("exit 3", "exit code 3"), ("sleep 60", "timed out after 5 s"), ("/no/such", "exit code 127")):
        config(home, hook("before-tool", command, 'timeout = 5\nmatch = {tool = "run_command"}'))
        ran = run(home, project, [call("run_command", command="touch made")])
        assert hooks(ran)[0]["result"] == "failed" and why in hooks(ran)[0]["reason"], ran
        assert why in ran.results()[0] and not (project / "made").exists()


def test_a_hook_after_an_edit_sees_it_may_change_the_file_and_tells_the_model(home: Home, project: Path) -> None:
    command = """python3 -c '
import json, sys
event = json.load(sys.stdin)
with open(event["path"], "a") as file: file.write("# formatted\\n")
print(f"{event[chr(97) + chr(100) * 2 + chr(101) + chr(100)]} line too long", file=sys.stderr)
sys.exit(2)'"""
    config(home, hook("after-edit", command, 'match = {path = "*.py"}'))
    script = [call("write_file", path="new.py", content="x = 1\n"), call("write_file", path="new.txt", content="x\n")]
    ran = run(home, project, script)
    edited, other = ran.results()[:2]
    assert "The change was made, but the hook" in edited and "1 line too long" in edited
    assert "A hook changed new.py" in edited and "hook" not in other
    assert (project / "new.py").read_text() == "x = 1\n# formatted\n"
    assert [(one["path"], one["by"]) for one in ran.of("file_changed")][:2] == [
        ("new.py", "model"),
        ("new.py", "command"),
    ]


def test_start_and_end_of_a_run_are_seen_and_a_start_can_be_refused(home: Home, project: Path) -> None:
    seen = home.root / "seen"
    config(
        home,
        "[sandbox]\nhide = []\n"
        + hook("run-start", 'grep -q \'"task":"work"\' || exit 2')
        + hook("run-end", "cat >&2; exit 2"),
    )
    ran = run(home, project, [finish("done")])
    start, end = hooks(ran)
    assert start["result"] == "passed" and ran.outcome["reason"] != "refused"
    assert json.loads(end["reason"])["reason"] == ran.outcome["reason"], "a hook at the end changes nothing"
    assert not seen.exists()
    config(home, hook("run-start", "echo not today >&2; exit 2"))
    ran = run(home, project, [finish("done")])
    assert ran.outcome["reason"] == "refused" and "not today" in ran.outcome["detail"] and ran.outcome["steps"] == 0


def test_a_message_that_a_hook_refuses_never_reaches_the_model(home: Home, project: Path) -> None:
    config(home, hook("before-message", "! grep -q hunter2 || { echo a password >&2; exit 2; }"))
    held = replace(call("list_files"), text="I think about it for a while", hold_after=4)
    with ScriptedServer([held, call("list_files"), say("more")], then=finish("done")) as server:
        argv = ("run", "work", "--loop", "goal", *ARGV, "--steps", "4", "--api-base", server.base_url)
        with home.start(*argv, cwd=project) as running:
            running.wait_event("text_arrived")
            for text in ("use hunter2", "be quick"):
                assert home.run("ctl", "queue", text, cwd=project).exit_code == 0
            server.release()
            ran = running.finish()
        sent = json.dumps([request.body for request in server.requests])
    assert "hunter2" not in sent and "be quick" in sent, ran.story()
    assert [one["result"] for one in hooks(ran) if one["on"] == "before-message"] == ["refused", "passed"]


def test_a_changed_script_refuses_until_it_is_trusted_again(home: Home, project: Path) -> None:
    (project / "check.sh").write_text("exit 0\n")
    git(project, "add", ".")
    (project / ".rundry.toml").write_text(hook("before-tool", "sh check.sh"))
    script = [
        call("write_file", path="check.sh", content="exit 0 # evil\n"),
        call("run_command", command="echo 'exit 0 #' > check.sh; cat check.sh"),
        call("read_file", path="check.sh"),
    ]
    ran = run(home, project, script, "--trust")
    first, *_ = ran.results()
    assert "a hook of this run executes it" in json.dumps(ran.of("proposal_opened", "proposal_decided")) + first
    assert (project / "check.sh").read_text() == "exit 0\n", "nobody allowed it"
    (project / "check.sh").write_text("exit 0 # mine\n")
    ran = run(home, project, [call("read_file", path="check.sh")])
    assert hooks(ran) == [], "the config itself is not trusted"
    config(home, hook("before-tool", "sh check.sh"))
    ran = run(home, project, [call("read_file", path="check.sh")])
    assert "check.sh is not as the person trusted it" in hooks(ran)[0]["reason"]
    assert any("check.sh is the script of a hook" in note for note in ran.of("run_started")[0]["notes"])


def test_a_project_that_is_not_trusted_has_no_hooks(home: Home, project: Path) -> None:
    (project / ".rundry.toml").write_text(hook("run-start", "touch ran"))
    assert hooks(run(home, project, [finish("done")])) == []


def test_a_bad_hook_is_one_clear_line(home: Home, project: Path) -> None:
    for text, why in (
        ('[[hooks]]\non = "before"\ncommand = "x"', "is not an event: use run-start, before-message"),
        ('[[hooks]]\non = "run-end"', "a hook needs a command"),
        (hook("run-end", "x", 'match = {tool = "x"}'), "match has no meaning"),
        (hook("before-tool", "x", 'match = {tool = "runcommand"}'), "is not a tool: use"),
        (hook("before-tool", "x", "timeout = 0"), "out of range"),
        (hook("before-tool", "x", "when = 1"), "a hook has no field 'when'"),
    ):
        config(home, text)
        ran = home.run("run", "x", "--headless", cwd=project)
        assert ran.exit_code == 2 and why in ran.stderr and len(ran.stderr.splitlines()) == 1, ran


def test_a_fix_of_several_files_and_its_child_runs_have_the_hooks(home: Home, project: Path) -> None:
    config(home, hook("before-tool", "echo frozen >&2; exit 2", 'match = {tool = ["edit_file", "write_file"]}'))
    script = [edit("calc/core.py", "return", "return 1 +")]
    ran = run(home, project, script)
    assert hooks(ran)[0]["path"] == "calc/core.py" and "frozen" in ran.results()[0]


def notes(ran: Ran) -> list[str]:
    return [one["text"] for one in ran.of("prompted") if one["kind"] == "hook"]


@pytest.mark.long
def test_what_a_hook_prints_at_the_start_is_read_by_the_model_once_with_its_source(home: Home, project: Path) -> None:
    config(home, hook("run-start", "echo on branch feature-7") + hook("after-edit", "echo formatted"))
    with ScriptedServer([call("write_file", path="a.txt", content="x\n"), finish("done")]) as server:
        argv = ("run", "work", "--loop", "goal", *ARGV, "--gate", "auto", "--api-base", server.base_url)
        ran = home.run(*argv, cwd=project)
        first, second = (request.body["messages"] for request in server.requests[:2])
    added = "The hook `echo on branch feature-7` (run-start) adds:\non branch feature-7"
    assert [m["content"] for m in first if m["role"] == "user"][-1] == added, first
    assert json.dumps(second).count("adds:") == 1, "it is sent once, and plain text of other events is not context"
    started, edited = hooks(ran)
    assert (started["context"], started["exit_code"]) == ("on branch feature-7", 0) and edited["context"] == ""
    assert notes(ran) == [added]


@pytest.mark.long
def test_a_key_that_a_hook_prints_is_hidden_and_its_context_is_still_sent_once(home: Home, project: Path) -> None:
    config(home, hook("run-start", "echo key sk-ant-api03-$(printf %040d 7)AA"))
    with ScriptedServer([call("list_files"), call("list_files"), finish("done")]) as server:
        argv = ("run", "work", "--loop", "goal", *ARGV, "--api-base", server.base_url)
        ran = home.run(*argv, cwd=project)
        sent = json.dumps(server.requests[2].body["messages"])
    assert "0007AA" not in sent + ran.stdout and sent.count("adds:") == 1 and len(notes(ran)) == 1, sent


@pytest.mark.long
def test_each_pass_reads_what_the_hooks_at_the_start_add(home: Home, project: Path) -> None:
    config(home, hook("run-start", "echo the build is red"))
    script = [turn for name in "ab" for turn in (call("write_file", path=name, content="x\n"), finish("looked", name))]
    with ScriptedServer(script) as server:
        argv = (*ARGV, "--every", "1s", "--worktree", "--gate", "auto", "--steps", "3", "--until", "git log -1")
        ran = home.run("run", "look", *argv, "--api-base", server.base_url, cwd=project)
        sent = [json.dumps(request.body["messages"]) for request in server.requests]
    assert len(ran.of("pass_started")) > 1 and all("the build is red" in text for text in sent), ran.story()


@pytest.mark.long
def test_what_a_hook_adds_to_a_message_follows_it_and_not_a_refused_one(home: Home, project: Path) -> None:
    command = "! grep -q hunter2 || { echo a password >&2; exit 2; }; echo the person is tired"
    config(home, hook("before-message", command))
    held = replace(call("list_files"), text="I think about it for a while", hold_after=4)
    with ScriptedServer([held, call("list_files"), say("more")], then=finish("done")) as server:
        argv = ("run", "work", "--loop", "goal", *ARGV, "--steps", "4", "--api-base", server.base_url)
        with home.start(*argv, cwd=project) as running:
            running.wait_event("text_arrived")
            for text in ("use hunter2", "be quick"):
                assert home.run("ctl", "queue", text, cwd=project).exit_code == 0
            server.release()
            ran = running.finish()
        users = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "user"]
    assert users[-2] == "be quick" and users[-1].endswith("(before-message) adds:\nthe person is tired"), users
    assert len(notes(ran)) == 1


@pytest.mark.long
def test_json_of_a_hook_adds_context_to_a_result_and_a_notice_for_the_person(home: Home, project: Path) -> None:
    said = {"systemMessage": "CI is red", "hookSpecificOutput": {"hookEventName": "X", "additionalContext": "ask Ann"}}
    shown = f"printf '%s' {shlex.quote(json.dumps(said))}"
    config(home, hook("before-tool", shown, 'match = {tool = "list_files"}') + hook("run-end", shown))
    ran = run(home, project, [call("list_files")])
    assert ran.results("list_files")[0].endswith("(before-tool) adds:\nask Ann"), ran
    before, end = hooks(ran)
    assert (before["notice"], before["context"]) == ("CI is red", "ask Ann")
    assert end["notice"] == "CI is red" and end["context"] == "", "the model is not called after the end"


@pytest.mark.long
def test_json_that_refuses_is_a_refusal(home: Home, project: Path) -> None:
    deny = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "not on Fridays"}}
    config(home, hook("before-tool", f"printf '%s' {shlex.quote(json.dumps(deny))}", 'match = {tool = "run_command"}'))
    ran = run(home, project, [call("run_command", command="touch made")])
    assert (hooks(ran)[0]["result"], hooks(ran)[0]["reason"]) == ("refused", "not on Fridays")
    assert "not on Fridays" in ran.results("run_command")[0] and not (project / "made").exists()


@pytest.mark.long
def test_long_output_and_half_characters_of_a_hook_do_no_harm(home: Home, project: Path) -> None:
    config(
        home,
        hook("run-start", "head -c 400000 /dev/zero | tr '\\0' x")
        + hook("run-start", """printf '%s' '{"additionalContext": "half \\ud83d end"}'""")
        + hook("run-start", """printf '{"additionalContext": "'; head -c 400000 /dev/zero | tr '\\0' x; printf '"}'"""),
    )
    ran = run(home, project, [finish("done")])
    long, half, cut = hooks(ran)
    assert ran.outcome["reason"] != "error" and 10_000 <= len(long["context"]) < 10_100, ran.story()
    assert "more characters]" in long["context"] and half["context"] == "half ? end"
    assert cut["result"] == "failed" and "its JSON has more than 256 KiB" in cut["reason"]


@pytest.mark.long
def test_a_failed_hook_says_its_exit_code_and_the_last_line_of_its_errors(home: Home, project: Path) -> None:
    command = "head -c 9000 /dev/zero | tr '\\0' x >&2; python3 -c 'import no_such_module_here'"
    config(home, hook("run-start", command))
    ran = run(home, project, [finish("done")])
    (failed,) = hooks(ran)
    line = "ModuleNotFoundError: No module named 'no_such_module_here'"
    assert (failed["result"], failed["exit_code"], failed["error_line"]) == ("failed", 1, line)
    assert failed["reason"].endswith(line), "the end of a long text stays"
    with ScriptedServer([finish("done")]) as server:
        argv = ("run", "work", "--loop", "goal", "--headless", "--steps", "2", "--model", "fake")
        plain = home.run(*argv, "--api-base", server.base_url, cwd=project)
    assert f"hook `{command[:59].rstrip()}…` failed: exit code 1: {line}" in plain.stderr, plain.stderr
