"""Handlers of all actions, by the action's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rundry.agent import RundryError

from ...control.run_link import READ_ONLY
from ...keys.keymap import Keymap
from ...keys.lookup import READ_ONLY_ACTIONS
from .choice_handlers import ChoiceHandlers
from .control_handlers import ControlHandlers
from .conversation_handlers import ConversationHandlers
from .end_handlers import EndHandlers
from .page_handlers import DialogHandlers
from .run_handlers import ScreenRunHandlers
from .search_handlers import SearchHandlers
from .session_handlers import ChildRunHandlers, SessionHandlers
from .stage_handlers import StageHandlers
from .undo_handlers import UndoHandlers
from .view_handlers import ViewHandlers

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host, Services
    from ...pages.welcome import Welcome
    from ..leave_screen import Leaving
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas

Handler = Callable[[str], None]
"""Takes the argument of the action. Raises RundryError for what the person can correct."""


class Handlers:
    """The handler of each action."""

    def __init__(
        self,
        controller: RunController,
        prompt: Prompt,
        services: Services,
        areas: Areas,
        host: Host,
        leaving: Leaving,
        welcome: Welcome,
        keymap: Mapping[str, str],
    ) -> None:
        """`keymap`: the person's remapped keys."""
        self.choices = ChoiceHandlers(controller, prompt, services, host, welcome)
        conversation = ConversationHandlers(controller, prompt, services)
        stage = StageHandlers(controller, prompt, services, host, keymap)
        run = ScreenRunHandlers(controller, prompt, Keymap(keymap), stage, conversation, self.choices, host)
        undo = UndoHandlers(controller, prompt, services)
        view = ViewHandlers(controller, prompt, services, areas)
        dialogs = DialogHandlers(controller, prompt, services, areas, keymap)
        table: dict[str, Handler] = {
            **run.table(),
            **stage.table(),
            **self.choices.table(),
            **undo.table(),
            **conversation.table(),
            **ControlHandlers(controller, prompt, services).table(),
            **view.table(),
            **dialogs.table(),
            **SearchHandlers(controller, prompt, services, areas).table(),
            **SessionHandlers(controller, prompt, services, host, leaving).table(),
            **ChildRunHandlers(controller, prompt, host, areas, run).table(),
            **EndHandlers(controller, prompt, services, dialogs, undo, view).table(),
        }
        self.table: Mapping[str, Handler] = _without_changes(table) if controller.is_read_only else table
        """The handlers by the action's name."""


def _without_changes(table: Mapping[str, Handler]) -> Mapping[str, Handler]:
    """Replace each handler that does more than show the run."""
    return {name: handler if name in READ_ONLY_ACTIONS else _refuse for name, handler in table.items()}


def _refuse(_argument: str) -> None:
    raise RundryError(READ_ONLY)
