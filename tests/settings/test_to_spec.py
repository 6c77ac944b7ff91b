from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from rundry.agent.protocol import Budget, GateMode, LoopKind, ModelSpec, RunSpec, UserError, Verify
from rundry.agent.settings.default_limits import default_budget
from rundry.agent.settings.settings import load_settings
from rundry.agent.settings.spec_of_settings import to_spec, with_default_gate

MODEL = ModelSpec(name="openai/fake")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    return made


def spec_of(
    folder: Path,
    *,
    task: str = "fix it",
    headless: bool = False,
    on_screen: bool = False,
    **flags: object,
) -> RunSpec:
    env = {"XDG_CONFIG_HOME": str(folder.parent / "config"), "XDG_DATA_HOME": str(folder.parent / "data")}
    if isinstance(config := flags.pop("config", None), str):
        path = folder.parent / "config" / "rundry" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config)
    settings = load_settings(flags, cwd=folder, env=env, trust=False)
    spec = to_spec(settings, task=task, run_id="r1", workspace=folder, model=MODEL, headless=headless)
    return with_default_gate(spec, settings, headless=False) if on_screen else spec


@pytest.mark.parametrize(
    ("headless", "flags", "loop"),
    [
        (False, {}, LoopKind.CHAT),
        (False, {"until": ["pytest"]}, LoopKind.GOAL),
        (False, {"until_file": ["out.txt"]}, LoopKind.GOAL),
        (False, {"until_py": ["judge.py:done"]}, LoopKind.GOAL),
        (False, {"schema": "s.json"}, LoopKind.GOAL),
        (False, {"require": ["edit_file"]}, LoopKind.GOAL),
        (False, {"any": True, "guard": ["*.md"]}, LoopKind.CHAT),
        (False, {"until": ["pytest"], "loop": "chat"}, LoopKind.CHAT),
        (True, {}, LoopKind.GOAL),
        (True, {"loop": "naive"}, LoopKind.NAIVE),
    ],
)
def test_the_loop_follows_from_what_was_asked(
    folder: Path, headless: bool, flags: dict[str, object], loop: LoopKind
) -> None:
    assert spec_of(folder, headless=headless, **flags).loop is loop


def test_a_headless_chat_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="a chat needs a person"):
        spec_of(folder, headless=True, loop="chat")


@pytest.mark.parametrize("task", ["", "  \n"])
def test_a_headless_run_without_a_task_is_refused(folder: Path, task: str) -> None:
    with pytest.raises(UserError, match="needs a task"):
        spec_of(folder, headless=True, task=task)
    assert spec_of(folder, task=task).task == task


@pytest.mark.parametrize("loop", ["chat", "goal", "naive"])
def test_small_loops_have_the_small_limits(folder: Path, loop: str) -> None:
    assert spec_of(folder, loop=loop).budget == Budget(steps=40, tokens=200_000, usd=0.5, seconds=600, deadline=None)


@pytest.mark.parametrize("loop", ["until-dry", "interval", "paced", "improve"])
def test_the_other_loops_have_the_large_limits(folder: Path, loop: str) -> None:
    large = Budget(steps=200, tokens=2_000_000, usd=5.0, seconds=3600, deadline=None)
    told = {"interval": {"every": "5m"}, "improve": {"score": "true"}}.get(loop, {})
    assert spec_of(folder, loop=loop, **told).budget == large == default_budget(LoopKind(loop))


def test_limits_that_were_asked_for_replace_the_usual_ones_one_by_one(folder: Path) -> None:
    spec = spec_of(folder, steps="7", usd="none", time="90", config="[budget]\ntokens = '1m'\nsteps = 3")
    assert spec.budget == Budget(steps=7, tokens=1_000_000, usd=None, seconds=90.0, deadline=None)


@pytest.mark.parametrize(("flags", "asked"), [({}, False), ({"usd": "0.5"}, True), ({"config": "budget.usd=1"}, True)])
def test_a_dollar_limit_counts_as_asked_for_only_where_someone_set_it(
    folder: Path, flags: dict[str, object], asked: bool
) -> None:
    assert spec_of(folder, **flags).usd_asked is asked


def test_unsandboxed_commands_pass_only_where_the_command_line_said_auto(folder: Path) -> None:
    assert spec_of(folder, gate="auto").gate.unsandboxed_ok
    from_config = spec_of(folder, config="gate = 'auto'").gate
    assert from_config.mode is GateMode.AUTO
    assert not from_config.unsandboxed_ok
    assert not spec_of(folder, gate="edits").gate.unsandboxed_ok


def test_what_nobody_set_is_left_to_the_one_who_decides(folder: Path) -> None:
    spec = spec_of(folder)
    assert (spec.gate.mode, spec.gate.on_ask, spec.on_stall) == (GateMode.ASK, None, None)
    assert spec.predicates.verify is Verify.ON_CHANGE
    assert spec.attended and not spec_of(folder, headless=True).attended


def test_predicates_come_from_the_options(folder: Path) -> None:
    predicates = spec_of(
        folder,
        until=["pytest -q", "a\nb"],
        until_file=["o.txt"],
        require=["run_command:x y"],
        any=True,
        verify="on-claim",
        guard=["none"],
        schema="s.json",
        config="check_timeout = '10s'",
    ).predicates
    assert (predicates.until, predicates.until_file) == (["pytest -q", "a\nb"], ["o.txt"])
    assert (predicates.require, predicates.any, predicates.guard) == (["run_command:x y"], True, ["none"])
    assert (predicates.verify, predicates.schema, predicates.timeout) == (Verify.ON_CLAIM, "s.json", 10.0)


def test_the_workspace_is_the_real_folder(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert spec_of(link).workspace == str(folder.resolve())


def test_the_projects_instructions_are_found_and_agents_md_wins(folder: Path) -> None:
    assert spec_of(folder).instructions is None
    (folder / "CLAUDE.md").write_text("b")
    assert spec_of(folder).instructions == str(folder / "CLAUDE.md")
    (folder / "AGENTS.md").write_text("a")
    assert spec_of(folder).instructions == str(folder / "AGENTS.md")


def test_instructions_that_link_out_of_the_workspace_are_not_read(folder: Path) -> None:
    (folder.parent / "secret").write_text("key")
    (folder / "AGENTS.md").symlink_to(folder.parent / "secret")
    assert spec_of(folder).instructions is None


def test_a_spec_survives_being_written_down(folder: Path) -> None:
    spec = spec_of(folder, until=["x"], price="1/2", config="[quota]\nwrite_file = '1/run'\n[gate]\nrules = []")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec) == spec


def test_edits_are_committed_where_asked_and_passes_instead_of_them(folder: Path) -> None:
    assert spec_of(folder, commit=True).commit and not spec_of(folder).commit
    assert not spec_of(folder, every="5m", config="commit = true").commit
    with pytest.raises(UserError, match="--commit"):
        spec_of(folder, every="5m", commit=True)


def test_hooks_of_commits_are_run_where_something_is_committed(folder: Path):
    assert spec_of(folder, commit=True, commit_hooks=True).commit_hooks
    assert not spec_of(folder, commit=True).commit_hooks
    assert spec_of(folder, every="5m", config="commit_hooks = true").commit_hooks
    assert not spec_of(folder, config="commit_hooks = true").commit_hooks
    with pytest.raises(UserError, match="this run makes no commits"):
        spec_of(folder, commit_hooks=True)


def test_constrained_edits_need_a_check_to_work_towards(folder: Path) -> None:
    assert spec_of(folder, edit_format="constrained", until=("true",)).edit_format == "constrained"
    assert spec_of(folder, config="edit_format = 'constrained'").edit_format == "tools"
    with pytest.raises(UserError, match="--until"):
        spec_of(folder, edit_format="constrained")


def test_a_chat_gets_the_edit_format_that_the_person_gives_and_chooses_none_by_itself(folder: Path) -> None:
    assert spec_of(folder).edit_format == "auto"
    assert spec_of(folder, edit_format="whole").edit_format == "whole"
    assert spec_of(folder, config="edit_format = 'blocks'").edit_format == "blocks"
    with pytest.raises(UserError, match="--edit-format whole does not work with --require"):
        spec_of(folder, edit_format="whole", until=("true",), require=("search",))


@pytest.mark.parametrize(
    ("flags", "mode", "falls_back"),
    [
        ({}, GateMode.EFFECTS, True),
        ({"until": ["true"]}, GateMode.EFFECTS, True),
        ({"gate": "ask"}, GateMode.ASK, False),
        ({"gate": "effects"}, GateMode.EFFECTS, False),
        ({"config": 'gate = "edits"\n'}, GateMode.EDITS, False),
        ({"every": "1h"}, GateMode.ASK, False),
    ],
)
def test_the_default_of_the_gate_is_for_chats_and_goal_runs_for_which_nobody_chose_a_mode(
    folder: Path, flags: dict[str, object], mode: GateMode, falls_back: bool
) -> None:
    made = spec_of(folder, on_screen=True, **flags).gate
    assert (made.mode, made.falls_back) == (mode, falls_back)


def test_live_folders_are_in_the_spec_and_one_outside_of_the_workspace_is_refused(folder: Path) -> None:
    config = '[layers]\nlive = ["var/cache", "gen/"]\n'
    assert spec_of(folder, config=config).gate.sandbox.live == ["var/cache", "gen"]
    for wrong in ("/etc", "../x", "~/x", ".git/x", ".", ""):
        with pytest.raises(UserError, match="is not a folder in the workspace: write it relative"):
            spec_of(folder, config=f'[layers]\nlive = ["{wrong}"]\n')
