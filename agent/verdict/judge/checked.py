"""Run one command in a view, as a check: with no caches, and with the permissions that the view gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..checks.check_environment import prepared_environment
from ..checks.run_check import CheckResult, run_check

if TYPE_CHECKING:
    from .judge_case import Case
    from .judge_view import JudgeView


async def checked_in_view(
    case: Case,
    view: JudgeView,
    command: str,
    *,
    env: Mapping[str, str] | None = None,
    read_only: Sequence[Path] = (),
    network: bool = False,
) -> CheckResult:
    """Run the command and return its result. `env`: None is that of the checks. `read_only`: files it cannot write."""
    with prepared_environment(view.sandbox, case.env if env is None else env) as environment:
        access = msgspec.structs.replace(environment, layer=view.access, read_only=read_only).access
        return await run_check(
            command,
            view.workspace,
            env=environment.env,
            timeout=case.timeout,
            sandbox=view.sandbox,
            access=msgspec.structs.replace(access, network=network) if network else access,
            shown_as=case.workspace.seen,
        )
