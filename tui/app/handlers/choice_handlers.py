"""Handle actions that choose a model or a session, in dialogs or on the first screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from rundry.agent import ModelSpec, RundryError

from ...pages.first_choices import Choice, Continue, PickModel, RunDemo, Try, UseModel

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host, Services
    from ...pages.welcome import Welcome
    from ..message_and_notice import Prompt


class ChoiceHandlers:
    """Handlers that open a picker, and what the first screen offers."""

    def __init__(
        self, controller: RunController, prompt: Prompt, services: Services, host: Host, welcome: Welcome
    ) -> None:
        self._controller, self._prompt, self._services, self._host = controller, prompt, services, host
        self._welcome = welcome

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {"model": self._model, "sessions": self._sessions}

    def continue_newest(self) -> None:
        """Resume the newest unfinished run of this folder. Raises RundryError if there is none."""
        from rundry.agent import find_run

        path = find_run(None, self._folder(), self._controller.root)
        self._host.leave_for(f"resume {path.stem}")

    def choose(self, choice: Choice) -> None:
        """Carry out a choice of the first screen. Raises RundryError."""
        match choice:
            case UseModel(model):
                self._use(model)
            case PickModel():
                self._model("")
            case RunDemo():
                self._host.leave_for("demo")
            case Continue(run_id):
                self._host.leave_for(f"resume {run_id}")
            case Try(task):
                self._prompt.fill(task)
            case _:
                assert_never(choice)

    def _model(self, argument: str) -> None:
        if argument:
            self._use(self._controller.reader.model_named(argument))
            return
        from ...pages.model_picker import ModelPicker

        def picked(model: ModelSpec | None) -> None:
            if model is not None:
                self._guarded(lambda: self._use(model))

        self._services.open(ModelPicker(self._welcome.survey, self._controller.state.model), picked)

    def _use(self, model: ModelSpec) -> None:
        asked = self._controller.switch_model(model)
        start = self._controller.start
        if start is not None and not self._controller.begun:
            start.remember(model)
            self._prompt.tell(f"{model.name} is used from now on")
        else:
            self._prompt.tell(f"asking {model.name}", asked=asked)

    def _sessions(self, _argument: str) -> None:
        from rundry.agent import list_runs, newest_as_of_now

        from ...pages.session_picker import SessionPicker

        folder, root = self._folder(), self._controller.root
        self._services.open(SessionPicker(newest_as_of_now(list_runs(folder)), root, self._host))

    def _folder(self) -> Path:
        start, journal = self._controller.start, self._controller.link.journal
        if start is not None:
            return start.folder
        if journal is None:
            raise RundryError("this view has no folder of runs")
        return journal.path.parent

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except RundryError as error:
            self._prompt.tell(str(error))
