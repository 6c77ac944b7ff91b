"""rundry as an installed agent of Harbor: copy this file, and name it with `harbor run --agent rundry_harbor:Rundry`.

It runs in Harbor's Python, without rundry. `--ak wheel=FILE` is the wheel that is installed in the task's container,
which needs Python 3.11 or newer with venv. `--ak check=COMMAND` is optional: most tasks hide their tests.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath

from harbor.agents.agent_auth_resolution import ModelConnectionSpec
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Trajectory

HOME = PurePosixPath("/installed-agent")
COMMAND = HOME / "rundry" / "bin" / "rundry"


class Rundry(BaseInstalledAgent):
    """Installs the wheel, runs the task headless, and leaves the run as an ATIF trajectory in the logs."""

    capabilities = AgentCapabilities(atif=True, base_url=True)
    MODEL_CONNECTION = ModelConnectionSpec()

    def __init__(self, *args: object, wheel: str, check: str = "", options: str = "", **kwargs: object) -> None:
        """`options`: more options of `rundry run`, as one text."""
        super().__init__(*args, **kwargs)
        self._wheel, self._check, self._options = Path(wheel), check, options

    @staticmethod
    def name() -> str:
        """Return the name that Harbor's logs have."""
        return "rundry"

    def get_version_command(self) -> str:
        """Return the command that prints the version."""
        return f"{COMMAND} --version"

    def parse_version(self, stdout: str) -> str:
        """Return the version from what the command printed."""
        return stdout.strip().rpartition(" ")[2]

    async def install(self, environment: BaseEnvironment) -> None:
        """Install the wheel in a venv of the task's container."""
        await self.ensure_system_dependencies(environment, ("git", "ripgrep"))
        target = HOME / self._wheel.name
        await environment.upload_file(self._wheel, str(target))
        venv = shlex.quote(str(COMMAND.parent.parent))
        command = f"python3 -m venv {venv} && {venv}/bin/pip install --quiet {shlex.quote(str(target))}"
        await self.exec_as_root(environment, command=command)

    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Run the task headless, and export the run into the logs."""
        if not self.model_name:
            raise ValueError("name a model: harbor run --model PROVIDER/NAME")
        access = self.model_connection
        words = ["run", "-", "--headless", "--gate=auto", f"--model={self.model_name}"]
        words += [f"--until={self._check}"] if self._check else []
        words += [f"--api-base={access.execution_base_url}"] if access.execution_base_url else []
        logs = self.environment_logs_dir
        runs = f"--runs-dir={logs / 'runs'}"
        # The verifier judges what a limit, a stall or a hand-off left (3 to 6). Each other code is an error.
        script = (
            f"printf %s {shlex.quote(instruction)} | {COMMAND} {shlex.join([*words, runs])} {self._options} 2>&1"
            f" | tee {logs / 'rundry.txt'}; code=${{PIPESTATUS[1]}}; "
            f"{COMMAND} export {runs} --format=atif --output={logs / 'trajectory.json'} || exit 1; "
            'case "$code" in 0|3|4|5|6) exit 0;; *) exit "$code";; esac'
        )
        await self.exec_as_agent(environment, command=f"bash -c {shlex.quote(script)}", env=dict(access.env))

    def populate_context_post_run(self, context: AgentContext) -> None:
        """Fill in tokens, cost and the outcome from the trajectory."""
        file = self.logs_dir / "trajectory.json"
        if not file.exists():  # run() failed before, and says why
            return
        trajectory = Trajectory.model_validate(json.loads(file.read_text()))
        totals = trajectory.final_metrics
        context.n_input_tokens = totals.total_prompt_tokens
        context.n_cache_tokens = totals.total_cached_tokens
        context.n_output_tokens = totals.total_completion_tokens
        context.cost_usd = totals.total_cost_usd
        context.metadata = {"rundry": {**(trajectory.extra or {}).get("outcome", {}), "run": trajectory.session_id}}
