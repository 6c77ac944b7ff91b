"""What the attacks need: a workspace at the policy, and a project for whole runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fakes.project import make_project

from rundry.agent.gate.draft import CommandDraft
from rundry.agent.gate.guarded_paths import GuardedPaths
from rundry.agent.gate.policy import PolicyContext, Verdict, judge
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import GateMode, Rule

Judge = Callable[..., Verdict]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace."""
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture
def verdict(root: Path) -> Judge:
    """What the policy says of a command line where these beginnings are allowed."""

    def ask(
        command: str,
        *allowed: str,
        mode: GateMode = GateMode.ASK,
        rules: Sequence[Rule] = (),
        sandbox: str | None = None,
    ) -> Verdict:
        allows = [Rule(verdict="allow", tool="run_command", command=words) for words in allowed]
        standing = PolicyContext(
            workspace=Workspace(root), mode=mode, rules=[*rules, *allows], guard=GuardedPaths(), sandbox=sandbox
        )
        return judge(CommandDraft(tool="run_command", command=command, timeout=5, cwd=root), standing)

    return ask


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git project whose suite is red: see `fakes.project`."""
    folder = tmp_path / "project"
    folder.mkdir()
    return make_project(folder)
