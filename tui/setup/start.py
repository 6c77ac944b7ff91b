"""What a new run is made of: flags, config and environment, folded into a spec. No textual in here."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from rundry.agent import (
    ModelSpec,
    RunSpec,
    Settings,
    UserError,
    ViewState,
    load_settings,
    new_run_id,
    runs_dir,
    to_spec,
)

NO_MODEL = (
    "no model is set up: name one with --model, for example --model ollama_chat/qwen3:8b, "
    "or try `rundry demo`; `rundry models` lists the available models"
)


def workspace_of(flags: Mapping[str, object]) -> Path:
    """The folder of `--cwd`, or this one. Raises UserError."""
    asked = flags.get("cwd")
    try:
        folder = Path(str(asked)) if asked else Path.cwd()
        if not folder.is_dir():
            raise UserError(f"--cwd {folder}: no such folder")
        resolved = folder.resolve()
    except OSError as error:
        raise UserError(f"the workspace {asked or 'here'} cannot be opened: {error.strerror}") from None
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise UserError(f"the workspace {resolved} cannot be read: change its permissions, or name another with --cwd")
    try:
        str(resolved).encode()
    except UnicodeEncodeError:
        raise UserError(f"{os.fsencode(resolved)!r}: the path of a workspace must be UTF-8 text") from None
    return resolved


def folder_of(flags: Mapping[str, object]) -> Path:
    """Where journals go."""
    asked = load_settings({"runs_dir": flags.get("runs_dir")}, cwd=Path("/"), env=os.environ, trust=False)
    return runs_dir(asked.get("runs_dir", str), os.environ)


class Setup:
    """The options of one call, and the choices that are made on the screen before the run."""

    def __init__(self, flags: Mapping[str, object], *, headless: bool, begins: bool = True) -> None:
        """Raises UserError for a flag, a config value or a folder that cannot be used.

        `begins`: False for a view of a run that has its workspace and its journal already.
        """
        self.workspace = workspace_of(flags)
        self._headless = headless
        self._flags = dict(flags)
        self.settings = self._load()
        self.folder = runs_dir(self.settings.get("runs_dir", str), os.environ)
        if begins:
            self._refuse_journals_in_the_workspace()
        self._model: ModelSpec | None = None
        self._refuse_what_never_holds()

    def _refuse_journals_in_the_workspace(self) -> None:
        """A command could write into the inbox of a run, and so approve what it likes."""
        if self.folder.resolve().is_relative_to(self.workspace.resolve()):
            raise UserError(
                f"the folder of journals {self.folder} is inside the workspace, where commands can write: "
                "name another one with --runs-dir DIR (RUNDRY_RUNS_DIR)"
            )

    def _refuse_what_never_holds(self) -> None:
        """A check that cannot be, a loop that is not driven: said before there is a run."""
        spec = self._spec("-", ModelSpec(name="none"))
        if spec.predicates.exist or spec.gate.quotas or self.settings.is_set("loop"):
            from rundry.agent import check_usable  # 40 ms that a plain chat need not pay before its first frame

            check_usable(spec)

    def _load(self) -> Settings:
        return load_settings(self._flags, cwd=self.workspace, env=os.environ, trust=bool(self._flags.get("trust")))

    @property
    def notes(self) -> list[str]:
        """Lines for the person at the start."""
        return list(self.settings.notes)

    @property
    def model(self) -> ModelSpec | None:
        """None: no model is set up."""
        return self._model or self.settings.model()

    def choose(self, model: ModelSpec) -> None:
        """Take this model."""
        self._model = model

    def set(self, name: str, value: str) -> None:
        """As if the flag had been given. Raises UserError."""
        self._flags[name] = value
        self.settings = self._load()

    async def look_around(self) -> list[str]:
        """What was looked for and found, a line each."""
        from rundry.agent import discover

        from .survey import survey_lines

        return survey_lines(await discover(os.environ))

    def preview(self, task: str = "") -> ViewState:
        """Return what is known before the first event: loop, model, limits, and the task if there is one."""
        spec, model = self._spec("", ModelSpec(name="none")), self.model
        return ViewState(
            loop=spec.loop,
            task=task,
            workspace=spec.workspace,
            budget=spec.budget,
            gate_mode=spec.gate.mode,
            goals=list(spec.predicates.until),
            model=model.name if model is not None else "",
            effort=(model.effort if model is not None else None) or "",
        )

    def spec(self, task: str) -> RunSpec:
        """The run for this task. Raises UserError."""
        if self.model is None:
            raise UserError(NO_MODEL)
        spec = self._spec(task, self.model)
        if self.model.context is not None:
            from rundry.agent import check_context  # it counts tokens: 0.1 s that other runs need not pay

            check_context(spec)
        return spec

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        return to_spec(
            self.settings,
            task=task,
            run_id=new_run_id(time.time()),
            workspace=self.workspace,
            model=model,
            headless=self._headless,
            worktrees=self.folder.parent / "worktrees",
        )


def demo_flags(flags: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The demo's task, and the flags with the demo's model, check and folder in them. Raises UserError."""
    import tempfile

    from rundry.agent import copy_project  # httpx comes with the models: 0.4 s

    asked = flags.get("cwd")
    target = Path(str(asked)) if asked else Path(tempfile.mkdtemp(prefix="rundry-demo-")) / "project"
    laid = copy_project(target)
    return laid.task, {**flags, "cwd": str(laid.workspace), "model": laid.model, "until": (laid.until,)}
