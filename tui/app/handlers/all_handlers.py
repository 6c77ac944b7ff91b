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
from .run_handlers import RunHandlers
from .search_handlers import SearchHandlers
from .session_handlers import ChildRunHandlers, SessionHandlers
from .stage_handlers import StageHandlers
from .undo_handlers import UndoHandlers
from .view_handlers import ViewHandlers

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host, Services
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas

__all__ = ["ChoiceHandlers", "Handler", "handlers"]

Handler = Callable[[str], None]
"""Takes the argument of the action. Raises RundryError for what the person can correct."""


def handlers(
    controller: RunController,
    *,
    prompt: Prompt,
    services: Services,
    areas: Areas,
    host: Host,
    choices: ChoiceHandlers,
    keymap: Mapping[str, str],
    leave: Callable[[], None],
) -> Mapping[str, Handler]:
    """Return the handler of each action. `keymap`: the person's remapped keys; `leave` asks before it leaves."""
    conversation = ConversationHandlers(controller, prompt, services)
    stage = StageHandlers(controller, prompt, services, host)
    table: dict[str, Handler] = {
        **RunHandlers(
            controller,
            prompt,
            rewind=conversation.rewind,
            continue_newest=choices.continue_newest,
            keymap=Keymap(keymap),
            stage=stage,
        ).table(),
        **stage.table(),
        **choices.table(),
        **UndoHandlers(controller, prompt, services).table(),
        **conversation.table(),
        **ControlHandlers(controller, prompt, services).table(),
        **ViewHandlers(controller, prompt, services, areas).table(),
        **DialogHandlers(controller, prompt, services, areas, keymap).table(),
        **SearchHandlers(controller, prompt, services, areas).table(),
        **SessionHandlers(controller, prompt, services, host, leave=leave).table(),
    }
    table |= ChildRunHandlers(controller, prompt, host, areas).table(table["interrupt"])
    table |= EndHandlers(controller, prompt, services, dict(table)).table()
    return _without_changes(table) if controller.is_read_only else table


def _without_changes(table: Mapping[str, Handler]) -> Mapping[str, Handler]:
    """Replace each handler that does more than show the run."""
    return {name: handler if name in READ_ONLY_ACTIONS else _refuse for name, handler in table.items()}


def _refuse(_argument: str) -> None:
    raise RundryError(READ_ONLY)
