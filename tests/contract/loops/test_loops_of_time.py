"""interval, paced and improve by the real command: refusals, a worktree, a plateau."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects, tree_of
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import call, finish, say
from sampling import sampled

NOTE = call("write_file", path="NOTES.md", content="# Notes\n\nLooked.\n")
DONE = finish("looked", "NOTES.md")


def run(home: Home, server: ScriptedServer, project: Path, *argv: str) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--headless", "--json"]
    return home.run("run", "look after the notes", *base, *argv, cwd=project)


def everything(folder: Path) -> dict[str, str]:
    """Every file's content and times, the ones of git included but for what a new branch has to add there."""
    return {
        str(path.relative_to(folder)): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_mtime_ns}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git"} & set(path.relative_to(folder).parts)
    }


@pytest.mark.parametrize(
    ("where", "said"),
    sampled(
        [
            ("on main", "the branch `main` is protected"),
            ("outside", "is not in a git repository"),
            ("detached", "HEAD is not on a branch"),
            ("protected", "the branch `work` is protected"),
        ],
        3,
    ),
)
def test_an_interval_run_refuses_to_start_and_says_why(home: Home, project: Path, where: str, said: str):
    argv: list[str] = []
    if where == "on main":
        git(project, "switch", "-qc", "main")
    elif where == "outside":
        project = project.parent / "elsewhere"
        project.mkdir()
        (project / "NOTES.md").write_text("x\n")
    elif where == "detached":
        git(project, "switch", "-q", "--detach")
    else:
        argv = ["--protected", "work"]
    before = tree_of(project)
    with ScriptedServer([NOTE, DONE]) as server:
        ran = run(home, server, project, "--every", "5m", *argv)
        assert not server.requests
    assert (ran.exit_code, ran.outcome["reason"]) == (2, "refused"), ran
    assert said in ran.outcome["detail"]
    assert tree_of(project) == before


def test_a_worktree_run_leaves_the_users_tree_byte_for_byte_as_it_was(home: Home, project: Path):
    (project / "mine.txt").write_text("not committed\n")
    (project / "calc" / "core.py").write_text("# in the middle of something\n")
    before, status = everything(project), git(project, "status", "--porcelain")
    with ScriptedServer([NOTE, DONE]) as server:
        ran = run(home, server, project, "--every", "1h", "--worktree", "--steps", "2", "--until", "git log -1")
        found = home.run("resume", "--headless", "--json", "--steps", "2", cwd=project)
    assert ran.exit_code == 3, ran
    started, finished = ran.of("run_started")[0], ran.of("pass_finished")[0]
    worktree, branch = Path(started["workspace"]), f"rundry/{started['run_id']}"
    assert everything(project) == before and git(project, "status", "--porcelain") == status
    assert subjects(project) == ["A red suite"] and git(project, "branch", "--show-current") == "work\n"
    assert subjects(project, branch) == ["rundry pass 1: looked", "A red suite"]
    assert (worktree / "NOTES.md").read_text().endswith("Looked.\n") and changed_files(worktree) == []
    assert started["interval"]["branch"]["worktree_of"] == str(project) and finished["verdict"] == "kept"
    assert any(branch in note for note in started["notes"])
    assert found.events[0]["type"] == "run_resumed", found


def test_what_the_users_git_would_run_is_not_run(home: Home, project: Path):
    hook = project / ".git" / "hooks"
    hook.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-commit"):
        (hook / name).write_text(f"#!/bin/sh\ntouch {project.parent}/ran-{name}\n")
        (hook / name).chmod(0o755)
    (home.root / ".gitconfig").write_text(f"[core]\n\tfsmonitor = touch {project.parent}/ran-fsmonitor\n")
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    with ScriptedServer([NOTE, DONE]) as server:
        ran = run(home, server, project, "--every", "1h", "--worktree", "--steps", "2")
    assert ran.of("pass_finished")[0]["verdict"] == "kept", ran
    assert not list(project.parent.glob("ran-*"))
    branch = f"rundry/{ran.of('run_started')[0]['run_id']}"
    assert git(project, "log", "-1", "--format=%an <%ae>", branch) == "Ada <ada@example.org>\n"


def test_the_score_picks_the_loop_and_a_plateau_is_a_clean_exit(home: Home, project: Path):
    with ScriptedServer([NOTE, DONE, say("a"), say("b")]) as server:
        ran = run(
            home,
            server,
            project,
            "--score",
            "wc -c < NOTES.md",
            "--scope",
            "NOTES.md",
            "--goal",
            "min",
            "--patience",
            "1",
            "--steps",
            "9",
        )
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (0, "plateau", True), ran
    assert ran.of("run_started")[0]["loop"] == "improve"
    baseline, second = ran.of("score_measured")[:2]
    assert baseline["kept"] and second["score"] < baseline["score"] and second["kept"]
    assert subjects(project)[0] == "rundry pass 1: looked"


BAD = "! grep -q Looked NOTES.md || exit 3; wc -c < NOTES.md"


def test_an_improve_run_that_cannot_measure_ends_with_a_retryable_error(home: Home, project: Path):
    argv = [
        "--model",
        "fake",
        "--gate",
        "auto",
        "--headless",
        "--score",
        BAD,
        "--scope",
        "NOTES.md",
        "--patience",
        "2",
        "--steps",
        "9",
    ]
    with ScriptedServer([NOTE, DONE, NOTE, DONE]) as server:
        ran = home.run("run", "look after the notes", *argv, "--api-base", server.base_url, cwd=project)
    assert ran.exit_code == 75, ran
    assert "pass 1: score not measured, the command failed (exit code 3)" in ran.stderr, ran
    assert "2 in a row" in ran.stderr and "could not be measured in 2 passes in a row" in ran.stderr, ran
    assert changed_files(project) == [] and subjects(project) == ["A red suite"]


def test_repeated_measurements_are_a_median_with_its_noise(home: Home, project: Path):
    with ScriptedServer([NOTE, DONE]) as server:
        ran = run(
            home,
            server,
            project,
            "--score",
            "wc -c < NOTES.md",
            "--scope",
            "NOTES.md",
            "--goal",
            "min",
            "--repeat",
            "3",
            "--steps",
            "2",
        )
    baseline, better = ran.of("score_measured")[:2]
    assert len(baseline["values"]) == 3 and baseline["noise"] == 0.0, ran
    assert better["kept"] and not better["within_noise"]


NOISY = (
    "printf x >> $TMPDIR/ran; n=$(wc -c < $TMPDIR/ran); grep -q Looked NOTES.md && n=$((n + 3)); "
    'grep -q twice NOTES.md && n=$((n + 3)); sed -n "${n}p" scores'
)
"""Prints the next number; each pass has a temp folder of its own."""


def test_medians_of_noisy_scores_decide_and_the_config_sets_how_they_are_compared(home: Home, project: Path):
    scores = (10, 14, 12, 11, 13, 15, 20, 30, 22)
    (project / ".git/info/exclude").write_text("scores\n")
    (project / "scores").write_text("".join(f"{score}\n" for score in scores))
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("[improve]\nrepeat = 3\npatience = 1\nmin_delta = 5\n")
    more = call("write_file", path="NOTES.md", content="# Notes\n\nLooked twice.\n")
    with ScriptedServer([NOTE, DONE, more, DONE, say("a"), say("b"), say("c"), say("d")]) as server:
        argv = ["--score", NOISY, "--scope", "NOTES.md", "--steps", "9", "--network", "--patience", "2"]
        ran = run(home, server, project, *argv)
    measured = ran.of("score_measured")
    assert [one["values"] for one in measured] == [[10, 14, 12], [11, 13, 15], [20, 30, 22]], ran.story()
    assert [(one["score"], one["noise"], one["within_noise"]) for one in measured] == [
        (12, 2, False),
        (13, 2, True),
        (22, 2, False),
    ]
    assert [(one["kept"], one["stale_passes"]) for one in measured] == [(True, 0), (True, 1), (True, 0)]
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau"), ran.story()
    assert "for 2 passes: best 22" in ran.outcome["detail"]


@pytest.mark.long
def test_three_skipped_passes_in_a_row_ask_a_person_with_the_reason(home: Home, project: Path):
    (project / ".git" / "index.lock").touch()
    with ScriptedServer([say("nothing to do")] * 20) as server:
        ran = run(home, server, project, "--every", "1s")
        assert not server.requests
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
    skipped = ran.of("pass_finished")
    assert [event["verdict"] for event in skipped] == ["skipped"] * 3, ran.story()
    assert all("lock" in event["why"] for event in skipped) and "lock" in ran.outcome["detail"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--score", "echo 1"], "needs an explicit budget"),
        (["--score", "echo 1", "--usd", "none"], "needs an explicit budget"),
        (["--score", "echo none", "--steps", "3"], "printed no number"),
        (["--score", "echo NaN", "--steps", "3"], "printed NaN"),
    ],
)
def test_an_improve_run_refuses_to_start_and_says_why(home: Home, project: Path, argv: list[str], said: str):
    with ScriptedServer() as server:
        ran = run(home, server, project, *argv)
        assert not server.requests
    assert (ran.exit_code, ran.outcome["reason"]) == (2, "refused"), ran
    assert said in ran.outcome["detail"] and changed_files(project) == []


@pytest.mark.parametrize(
    ("argv", "said"),
    sampled(
        [
            (["--every", "soon"], "--every"),
            (["--every", "-5m"], "--every"),
            (["--every", "none"], "--every"),
            (["--every", "0"], "--every"),
            (["--every", "5m", "--score", "echo 1"], "give only one of them"),
            (["--every", "5m", "--loop", "goal"], "--every is for --loop interval"),
            (["--loop", "interval"], "--every 5m"),
            (["--loop", "improve"], "--score CMD"),
            (["--score", "echo 1", "--goal", "up"], "--goal"),
            (["--score", "echo 1", "--patience", "0"], "--patience"),
            (["--score", "echo 1", "--repeat", "0"], "--repeat"),
            (["--worktree", "--until", "true"], "--worktree is for"),
            (["--loop", "paced", "--cache-ttl", "long"], "--cache-ttl"),
        ],
        5,
    ),
)
def test_a_wrong_option_is_one_line_and_no_run(home: Home, project: Path, argv: list[str], said: str):
    ran = home.run("run", "x", "--model", "fake", "--headless", *argv, cwd=project)
    assert ran.exit_code == 2 and said in ran.stderr and ran.stderr.count("\n") == 1, ran
    assert home.journals() == []


def test_a_paced_run_on_the_real_clock_sleeps_until_it_is_woken(home: Home, project: Path):
    with ScriptedServer(
        [call("read_file", path="NOTES.md"), call("wake_after", seconds=300, reason="CI"), DONE]
    ) as server:
        base = ["--model", "fake", "--api-base", server.base_url, "--headless", "--json", "--loop", "paced"]
        with home.start("run", "wait for CI", *base, cwd=project) as running:
            slept = running.wait_event("sleeping")
            from rundry.agent.journal.journal import Journal
            from rundry.agent.protocol import Wake

            view = Journal.open(home.journals()[0])
            view.inbox.put(Wake())
            view.close()
            ran = running.finish()
    assert (slept["seconds"], slept["asked"], slept["moved"]) == (270.0, 300.0, "inside")
    assert ran.exit_code == 0 and ran.of("woken")[0]["by"] == "person", ran
