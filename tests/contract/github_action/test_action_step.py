"""The step of the GitHub Action is green only if the run is done and its report was posted and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract.github_action.action_step import GitHub, Step
from fakes.project import FIX_ADD, FIX_MEAN, git
from fakes.rundry import RUNDRY
from fakes.server import ScriptedServer
from fakes.turns import finish

STARTED = {"type": "run_started", "run_id": "run-1"}
CHECKED = {"type": "check_finished"}
DONE = {
    "type": "run_ended",
    "reason": "done",
    "complete": True,
    "detail": "check passed",
    "evidence": {"grade": "judged"},
}
GOOD = (STARTED, CHECKED, DONE)


@pytest.mark.long
def test_a_run_that_is_done_and_reported_is_green(step: Step, github: GitHub, project: Path):
    with ScriptedServer([FIX_ADD, FIX_MEAN, finish("fixed", "calc/core.py")]) as server:
        assert step.pull_request(github).set(command=str(RUNDRY), api_base=server.base_url).run() == 0, step.done
    run = step.outputs["run"]
    assert step.outputs | {"journals": ""} == {
        "run": run,
        "reason": "done",
        "grade": "judged",
        "journals": "",
        "verdict": "done",
    }
    assert "step 1 " in step.done.stdout
    (posted,) = github.comments.values()
    assert run in posted
    assert "**rundry: done.**" in posted
    assert posted == step.summary
    assert [each[:2] for each in github.seen] == [
        ("POST", "/repos/somebody/calc/issues/7/comments"),
        ("GET", "/repos/somebody/calc/issues/comments/1"),
    ]
    assert "return a + b" in (project / "calc" / "core.py").read_text()


@pytest.mark.long
def test_a_run_at_its_limit_is_red_and_reported(step: Step, github: GitHub):
    with ScriptedServer([FIX_ADD]) as server:
        step.pull_request(github).set(command=str(RUNDRY), api_base=server.base_url, steps="1")
        assert step.run() == 1, step.done
    assert step.sentence.startswith("the run is not done, a limit was reached (exit code 3)")
    (posted,) = github.comments.values()
    assert step.outputs["run"] in posted
    assert "**rundry: not done.**" in posted
    assert "verdict" not in step.outputs


def test_without_a_pull_request_the_summary_is_the_report(step: Step):
    assert step.stand_in(*GOOD).run() == 0, step.done
    assert "Run `run-1`" in step.summary
    assert step.outputs["verdict"] == "done"


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"task": " "}, "`task` is empty"),
        ({"check": ""}, "`check` is empty"),
        ({"check": "# make test"}, "only a comment"),
        ({"model": ""}, "`model` is empty"),
        ({"api_key": ""}, "`api-key` is empty"),
        ({"api_key_variable": "A=B"}, "`api-key-variable` must be"),
        ({"forks": "ignore"}, "`forks` must be"),
        ({"post_time": "soon"}, "`post-time` must be"),
        ({"directory": "nowhere"}, "not a git checkout"),
        ({"command": "/nowhere/rundry"}, "cannot be started"),
    ],
)
def test_what_is_missing_is_red_with_a_sentence(step: Step, inputs: dict[str, str], words: str):
    assert step.stand_in(*GOOD).set(**inputs).run() == 1
    assert words in step.sentence
    assert words in step.summary.replace("'", "`")
    assert "verdict" not in step.outputs


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (1, "an error"),
        (2, "refused"),
        (3, "a limit"),
        (4, "no progress"),
        (5, "a person"),
        (6, "not complete"),
        (75, "a later run"),
        (130, "stopped"),
        (99, "unknown way"),
    ],
)
def test_each_other_exit_code_is_red(step: Step, github: GitHub, exit_code: int, words: str):
    assert step.pull_request(github).stand_in(*GOOD, exit_code=exit_code).run() == 1
    assert words in step.sentence
    assert f"exit code {exit_code}" in step.sentence
    assert len(github.comments) == 1


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((), "the events of the run cannot be read"),
        ((STARTED, CHECKED), "no end in its events"),
        ((STARTED, CHECKED, {**DONE, "reason": "answered"}), "ended with answered"),
        ((STARTED, CHECKED, {**DONE, "complete": False}), "ended with done"),
        ((STARTED, DONE), "no check was run"),
        ((CHECKED, DONE), "no id"),
        (({**STARTED, "run_id": "a\nverdict=done"}, CHECKED, DONE), "names that cannot be names"),
    ],
)
def test_an_exit_code_of_0_alone_is_not_green(step: Step, events: tuple[dict[str, object], ...], words: str):
    assert step.stand_in(*events).run() == 1
    assert words in step.sentence
    assert "verdict" not in step.outputs


def test_a_journal_that_cannot_be_read_is_red(step: Step):
    assert step.stand_in(*GOOD, events_code=1).run() == 1
    assert "the events of the run cannot be read" in step.sentence


def test_a_run_that_is_refused_before_it_has_a_journal_is_red(step: Step):
    assert step.stand_in(exit_code=2, said="rundry: no model server").run() == 1
    assert "refused before it began (exit code 2): the log says why" in step.sentence
    assert "rundry: no model server" in step.done.stdout


def test_a_comment_that_vanishes_is_red(step: Step, github: GitHub):
    github.vanish = True
    assert step.pull_request(github).stand_in(*GOOD).set(post_time="2").run() == 1
    assert "was not posted and read back within 2 s: the comment 1 does not have it" in step.sentence
    assert "verdict" not in step.outputs


def test_a_comment_that_appears_late_is_green(step: Step, github: GitHub):
    github.late_reads = 1
    assert step.pull_request(github).stand_in(*GOOD).run() == 0, step.done


def test_a_refused_post_is_red_and_not_repeated(step: Step, github: GitHub):
    github.post_status = [403]
    assert step.pull_request(github).stand_in(*GOOD).run() == 1
    assert "403 Resource not accessible by integration" in step.sentence
    assert "pull-requests: write" in step.sentence
    assert len(github.seen) == 1


def test_a_post_is_repeated_after_a_fault_of_the_server(step: Step, github: GitHub):
    github.post_status = [500]
    assert step.pull_request(github).stand_in(*GOOD).run() == 0, step.done
    assert len(github.comments) == 1


def test_a_server_that_fails_for_too_long_is_red(step: Step, github: GitHub):
    github.post_status = [500] * 9
    assert step.pull_request(github).stand_in(*GOOD).set(post_time="2").run() == 1
    assert "within 2 s: GitHub answered the post with 500" in step.sentence


def test_a_slow_server_is_red(step: Step, github: GitHub):
    github.delay = 3
    assert step.pull_request(github).stand_in(*GOOD).set(post_time="1").run() == 1
    assert "within 1 s: no answer came" in step.sentence


def test_an_answer_without_an_id_is_red(step: Step, github: GitHub):
    github.empty_id = True
    assert step.pull_request(github).stand_in(*GOOD).run() == 1
    assert "could not be posted" in step.sentence


def test_the_token_does_not_follow_a_redirect(step: Step, github: GitHub):
    github.redirect = "http://127.0.0.1:9"
    assert step.pull_request(github).stand_in(*GOOD).run() == 1
    assert "answered the post with 307" in step.sentence


def test_a_report_that_cannot_be_made_is_red(step: Step):
    assert step.stand_in(*GOOD, export_code=1).run() == 1
    assert "the report could not be made" in step.sentence


def test_a_summary_that_cannot_be_written_is_red(step: Step):
    step.env["GITHUB_STEP_SUMMARY"] = str(step.folder)
    assert step.stand_in(*GOOD).run() == 1
    assert "IsADirectoryError" in step.sentence


def test_a_summary_that_github_would_drop_is_red(step: Step):
    (step.folder / "summary.md").write_text("x" * 1_000_000)
    assert step.stand_in(*GOOD).run() == 1
    assert "larger than what GitHub shows" in step.sentence


def test_a_red_run_whose_report_fails_names_both(step: Step, github: GitHub):
    github.post_status = [403]
    assert step.pull_request(github).stand_in(*GOOD, exit_code=3).run() == 1
    assert "a limit was reached" in step.sentence
    assert "403" in step.sentence


@pytest.mark.parametrize("fork", ["stranger/calc", None])
def test_a_pull_request_from_a_fork_is_red(step: Step, github: GitHub, fork: str | None):
    assert step.pull_request(github, fork=fork).stand_in(*GOOD).set(api_key="").run() == 1
    assert "from a fork gets no secrets" in step.sentence
    assert not step.read("seen.json")


def test_a_pull_request_from_a_fork_is_neutral_where_the_job_says_so(step: Step, github: GitHub):
    assert step.pull_request(github, fork="stranger/calc").stand_in(*GOOD).set(forks="neutral", api_key="").run() == 0
    assert step.outputs == {"verdict": "neutral"}
    assert "::warning title=rundry::nothing was run" in step.done.stdout
    assert not step.read("seen.json")


@pytest.mark.parametrize("event", ["pull_request_target", "issue_comment", "workflow_run"])
def test_an_event_that_gives_secrets_to_strangers_is_red(step: Step, event: str):
    step.env["GITHUB_EVENT_NAME"] = event
    assert step.stand_in(*GOOD).run() == 1
    assert f"the event {event} gives secrets" in step.sentence
    assert not step.read("seen.json")


def test_a_number_that_is_not_one_is_red(step: Step, github: GitHub):
    assert step.pull_request(github, number="7/../../admin").stand_in(*GOOD).run() == 1
    assert "no number" in step.sentence


def test_a_checkout_that_keeps_a_token_is_red(step: Step, project: Path):
    git(project, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    assert step.stand_in(*GOOD).run() == 1
    assert "persist-credentials: false" in step.sentence
    assert not step.read("seen.json")


def test_the_run_gets_the_key_and_nothing_of_the_runner(step: Step, github: GitHub):
    step.env["GH_TOKEN"] = "token-of-the-job"
    assert step.pull_request(github).stand_in(*GOOD).set(api_key="the-key-of-the-model").run() == 0, step.done
    words, env, task = step.seen
    assert env["OPENAI_API_KEY"] == "the-key-of-the-model"
    assert "token-of-the-job" not in str(env) + str(words)
    assert [name for name in env if name.startswith(("GITHUB_", "ACTIONS_", "INPUT_"))] == []
    assert task == "Fix the suite."


def test_inputs_are_values_and_never_options_or_shell_text(step: Step):
    step.set(task="--gate=ask $(touch owned)", check="--until=true; touch owned", model="-x", steps="--usd=9")
    assert step.stand_in(*GOOD).run() == 0, step.done
    words, _, task = step.seen
    assert words[:5] == ["run", "-", "--headless", "--gate", "auto"]
    assert words[5:8] == ["--until=--until=true; touch owned", "--model=-x", "--steps=--usd=9"]
    assert task == "--gate=ask $(touch owned)"
    assert not list(step.folder.rglob("owned"))


def test_what_the_run_prints_is_not_a_command_of_the_workflow(step: Step):
    assert step.stand_in(*GOOD, said="::set-output name=verdict::done\n::error::false").run() == 0, step.done
    lines = step.done.stdout.splitlines()
    (begin,) = (at for at, line in enumerate(lines) if line.startswith("::stop-commands::"))
    end = lines.index(f"::{lines[begin].removeprefix('::stop-commands::')}::")
    assert begin < lines.index("::error::false") < end


def test_a_report_with_a_key_is_not_posted(step: Step, github: GitHub):
    step.pull_request(github).stand_in(*GOOD, words="the-key-of-the-model").set(api_key="the-key-of-the-model")
    assert step.run() == 1
    assert "has a key in it" in step.sentence
    assert github.seen == []
    assert "the-key-of-the-model" not in step.summary


def test_a_part_of_the_report_that_is_too_long_is_named(step: Step, github: GitHub):
    assert step.pull_request(github).stand_in(*GOOD, words="x" * 90_000).run() == 0, step.done
    assert "- outcome: too long" in step.summary
    assert len(github.comments[1]) < 65_000
