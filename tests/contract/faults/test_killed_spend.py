"""A call that `kill -9` cut: every place that shows what a run spent names what is held for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.killing.killed_journals import Killed, make_killed
from fakes.project import FIX_MEAN
from fakes.server import ScriptedServer


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    return make_killed(tmp_path)


def test_what_a_killed_call_may_have_cost_is_named_before_and_after_the_resume(killed: Killed):
    home, project = killed.home, killed.project
    listed = json.loads(home.run("runs", "--json", cwd=project).stdout)[0]
    assert listed["state"] == "interrupted"
    assert listed["held"]["cut_calls"] == 1 and listed["held"]["tokens"] > 1_000
    runs = home.run("runs", cwd=project).stdout
    assert f"held: up to {listed['held']['tokens']:,} tokens" in runs, runs

    with ScriptedServer([FIX_MEAN]) as server:
        argv = ["resume", killed.run_id, "--headless", "--model", "fake", "--api-base", server.base_url]
        ran = home.run(*argv, cwd=project)
    assert ran.exit_code == 0, ran
    ended = home.run("export", killed.run_id, "--format", "jsonl", cwd=project).stdout.splitlines()
    events = [json.loads(line) for line in ended]
    cut = next(e for e in events if e["type"] == "charged" and e["is_cut"])
    admitted = [e for e in events if e["type"] == "call_admitted"][2]
    assert cut["tokens_in"] + cut["tokens_out"] + cut["held_tokens"] == admitted["worst_tokens"]
    words = f"held: up to {cut['held_tokens']:,} tokens for 1 call that was cut"
    assert words in ran.stderr, ran
    assert words in home.run("report", cwd=project).stdout
    assert json.loads(home.run("report", "--json", cwd=project).stdout)["held"]["tokens"] == cut["held_tokens"]
    assert json.loads(home.run("runs", "--json", cwd=project).stdout)[0]["held"]["tokens"] == cut["held_tokens"]
    for form in ("md", "html"):
        text = home.run("export", killed.run_id, "--format", form, cwd=project).stdout
        assert f"{cut['held_tokens']:,} tokens" in text and "1 call that was cut" in text, form
