"""Make the spec of a new run from flags, config and environment. Does not import textual."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from rundry.agent import (
    GATE_IS_EFFECTS,
    EditFormat,
    Expected,
    LoopKind,
    ModelSpec,
    RundryError,
    RunLine,
    RunSpec,
    Settings,
    Survey,
    UserError,
    ViewState,
    edit_format_problem,
    is_left_to_parent,
    is_new_to_user,
    list_runs,
    load_settings,
    new_run_id,
    remember_model,
    runs_dir,
    scope_problem,
    spec_of_planning,
    to_spec,
    with_default_gate,
)

from ..keys.keymap import Keymap
from .remaps import check_keys
from .run_extensions import Extensions
from .run_folders import workspace_of
from .survey import NO_MODEL

_NO_MODEL_ON_SCREEN = "no model is set up: {model} lists what each one needs; /demo needs none"
_NEW_DEFAULT = "new default: the gate is `effects`: commands start, what they change waits (--gate ask: as before)"


_ITS_CHECK = "the check of the plan"
"""Stands for a check that is not known yet, so that the options of a run with a check are accepted."""
_CONDITIONS = ("until", "until_file", "until_py", "schema", "require")


class Setup:
    """The options of one call, and the choices made on the screen before the run."""

    blobs: Sequence[bytes] = ()
    """Contents that the journal stores before the run begins, next to the images of its task."""
    _has_default_gate = True
    """Whether a chat or a goal run gets a mode of the gate of its own if nobody chose one."""

    def __init__(
        self, flags: Mapping[str, object], *, headless: bool, prints_answer: bool = False, begins: bool = True
    ) -> None:
        """Read the flags and the config.

        Raises UserError for a flag, a config value or a folder that cannot be used. `begins`: False for a view of a run
        that has its workspace and its journal already. `prints_answer`: only the answer is printed, so that an answer
        in text ends a run without a check.
        """
        self.workspace = workspace_of(flags)
        self._headless, self._prints_answer = headless, prints_answer
        self._flags = dict(flags)
        self._has_no_check = False
        """The check of the config was removed on the screen."""
        self.settings = self._load()
        self.folder = runs_dir(self.settings.get("runs_dir", str), os.environ)
        if begins:
            self._refuse_journals_as_workspace()
        self._model: ModelSpec | None = None
        self.extensions = Extensions(self.workspace, trust=bool(flags.get("trust")))
        self._news = list[str]()
        self._refuse_what_never_holds()

    def _refuse_journals_as_workspace(self) -> None:
        """Raise UserError if the workspace itself would be hidden. Below it, the folder is hidden from the model."""
        if os.path.realpath(self.folder) == str(self.workspace):  # `resolve` raises for a loop
            raise UserError(
                f"the workspace {self.workspace} is also the folder of journals, which commands cannot see: "
                "name another one with --runs-dir DIR (RUNDRY_RUNS_DIR)"
            )

    def set_check(self, command: str | None) -> None:
        """Use this command as the only check of the run, or None if the run has no check.

        Raises UserError for a command that can never pass, and for a chat; then nothing is changed.
        """
        before = self._flags.get("until"), self._has_no_check, self.settings
        self._flags["until"], self._has_no_check = () if command is None else (command,), command is None
        try:
            self.settings = self._load()
            if command is not None and self._spec("-", ModelSpec(name="none")).loop is LoopKind.CHAT:
                raise UserError("a chat does not end on a check: start without --loop chat")
            self._refuse_what_never_holds()
        except UserError:
            self._flags["until"], self._has_no_check, self.settings = before
            raise

    def add_scope(self, globs: list[str]) -> None:
        """Let the run change these files, too. Raises UserError for what is not a glob."""
        if refused := scope_problem(globs):
            raise UserError(refused)
        self.set("scope", (*self.settings.texts("scope"), *globs))

    def set_edit_format(self, form: EditFormat) -> None:
        """Use this edit format for the run. Raises UserError for one that does not fit it; then nothing is changed."""
        if problem := edit_format_problem(self._spec("-", ModelSpec(name="none")), form):
            raise UserError(problem)
        self.set("edit_format", form)

    def _refuse_what_never_holds(self) -> None:
        """Raise UserError for a check or a loop that cannot work, before the run is created."""
        spec = self._spec("-", ModelSpec(name="none"))
        spec = spec.then or spec
        if spec.predicates.exist or spec.gate.quotas or spec.mcp or self.settings.is_set("loop"):
            from rundry.agent import validate_spec  # 40 ms that a plain chat need not spend

            validate_spec(spec, os.environ)

    def _load(self) -> Settings:
        found = load_settings(self._flags, cwd=self.workspace, env=os.environ, trust=bool(self._flags.get("trust")))
        return found.without("until") if self._has_no_check and not self._flags.get("until") else found

    def load_again(self) -> None:
        """Load the config again, because the folder is trusted now. Raises UserError, and then changes nothing."""
        before, self.settings = self.settings, self._load()
        try:
            self._refuse_what_never_holds()
        except UserError:
            self.settings = before
            raise
        self.extensions.forget()

    def settings_if_trusted(self) -> Settings:
        """Return the settings as if the folder were trusted, or those in use if these cannot be read."""
        try:
            return load_settings(self._flags, cwd=self.workspace, env=os.environ, trust=True)
        except RundryError:
            return self.settings

    @property
    def notes(self) -> list[str]:
        """The lines that the screen shows at the start."""
        return [*self.settings.notes, *self.extensions.notes, *self._news]

    def announce_defaults(self) -> None:
        """Add a note about a default that an update changed for this run, once for each user."""
        if not self._spec("-", ModelSpec(name="none")).gate.falls_back:
            return
        try:
            if is_new_to_user(GATE_IS_EFFECTS, self.folder, os.environ):
                self._news.append(_NEW_DEFAULT)
        except UserError as error:
            self._news.append(str(error))

    @property
    def model(self) -> ModelSpec | None:
        """The model, or None if no model is set up."""
        return self._model or self.settings.model()

    def choose(self, model: ModelSpec) -> None:
        """Use this model for the run that is set up."""
        self._model = model

    def remember(self, model: ModelSpec) -> None:
        """Take this model, and store the choice for later runs. Raises ConfigError."""
        self._model = model
        remember_model(model, os.environ)

    def set(self, name: str, value: object) -> None:
        """Set an option, as its flag would. Raises UserError."""
        self._flags[name] = value
        self.settings = self._load()

    async def survey(self) -> Survey:
        """Look for keys and local servers; takes about a second."""
        from rundry.agent import discover

        return await discover(os.environ)

    async def unfinished(self) -> Sequence[RunLine]:
        """Return the runs of this workspace that can be resumed, newest first."""
        runs = await asyncio.to_thread(list_runs, self.folder)
        here = str(self.workspace)
        return [run for run in runs if run.workspace == here and not (run.is_finished or is_left_to_parent(run, runs))]

    def expected(self, *, is_typing: bool) -> Expected | None:
        """Return what a runner can prepare for, or None if no model is set up."""
        if self.model is None:
            return None
        try:
            spec = self._spec("", self.model) if is_typing else None
        except UserError:  # the start of the run says why
            spec = None
        return Expected(model=self.model, is_typing=is_typing, spec=spec, runs=str(self.folder))

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
            edit_format=spec.edit_format,
            edit_format_why=_why(spec),
            model=model.name if model is not None else "",
            effort=(model.effort if model is not None else None) or "",
        )

    def spec(self, task: str) -> RunSpec:
        """Return the spec of the run for this task. Raises UserError."""
        if self.model is None:
            keymap = Keymap(check_keys(self.settings.keys)[0])
            raise UserError(NO_MODEL if self._headless else keymap.named(_NO_MODEL_ON_SCREEN))
        spec = msgspec.structs.replace(self._spec(task, self.model), skills=self.extensions.offered)
        if self.model.context is not None:
            from rundry.agent import check_context  # it counts tokens: 0.1 s that other runs need not spend

            check_context(spec)
        return spec

    def _spec(self, task: str, model: ModelSpec) -> RunSpec:
        """Return the spec of the run, or with `--plan` of the run that makes a plan for it."""
        if not self._flags.get("plan"):
            return self._spec_by(self.settings, task, model)
        if self._headless:
            raise UserError("--plan needs a person, who accepts the plan: leave --headless and --print out")
        if (given := self._spec_by(self._settings_of_plan(), task, model)).predicates.until == [_ITS_CHECK]:
            given = msgspec.structs.replace(given, predicates=msgspec.structs.replace(given.predicates, until=[]))
        return spec_of_planning(given)

    def _settings_of_plan(self) -> Settings:
        """Return the settings of a run with a check: without one so far, the plan brings it."""
        found = self.settings
        if found.get("loop", LoopKind) is LoopKind.CHAT:
            if found["loop"].source == "flag":
                raise UserError("--plan: the check of the plan decides whether a chat follows; leave --loop chat out")
            found = found.without("loop")
        return found if any(found[name].value for name in _CONDITIONS) else found.with_check(_ITS_CHECK)

    def _spec_by(self, settings: Settings, task: str, model: ModelSpec) -> RunSpec:
        spec = to_spec(
            settings,
            task=task,
            run_id=new_run_id(time.time()),
            workspace=self.workspace,
            model=model,
            headless=self._headless,
            prints_answer=self._prints_answer,
            worktrees=self.folder.parent / "worktrees",
        )
        return with_default_gate(spec, settings, headless=self._headless) if self._has_default_gate else spec


def _why(spec: RunSpec) -> str:
    """Return why a run that did not begin has its edit format."""
    if spec.edit_format == "auto":
        return "tools, until you choose another" if spec.loop is LoopKind.CHAT else "chosen when the run starts"
    return edit_format_problem(spec, "auto") or "you chose it"


def demo_flags(flags: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Return the demo's task, and the flags with the demo's model, check and folder. Raises UserError."""
    import tempfile

    from rundry.agent import copy_project  # httpx is imported with the models: 0.4 s

    asked = flags.get("cwd")
    target = Path(str(asked)) if asked else Path(tempfile.mkdtemp(prefix="rundry-demo-")) / "project"
    laid = copy_project(target)
    return laid.task, {**flags, "cwd": str(laid.workspace), "model": laid.model, "until": (laid.until,)}
