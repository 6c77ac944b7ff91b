"""Handlers of all actions, by the action's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..run_controller import RunController
from ..screens.areas import Areas
from ..screens.prompt import Prompt
from ..screens.services import Host, Services
from .control import ControlHandlers
from .conversation import ConversationHandlers
from .dialogs import DialogHandlers
from .run import RunHandlers
from .search import SearchHandlers
from .session import SessionHandlers
from .undo import UndoHandlers
from .view import ViewHandlers

__all__ = ["Handler", "handlers"]

Handler = Callable[[str], None]
"""Takes the argument of the action. Raises RundryError for what the user can correct."""


def handlers(
    controller: RunController,
    *,
    prompt: Prompt,
    services: Services,
    areas: Areas,
    host: Host,
    keymap: Mapping[str, str],
    leave: Callable[[], None],
) -> Mapping[str, Handler]:
    """Return the handler of each action. `keymap`: the user's remapped keys; `leave` asks before it leaves."""
    conversation = ConversationHandlers(controller, prompt, services)
    return {
        **RunHandlers(controller, prompt, rewind=conversation.rewind).table(),
        **UndoHandlers(controller, prompt, services).table(),
        **conversation.table(),
        **ControlHandlers(controller, prompt, services).table(),
        **ViewHandlers(controller, prompt, services, areas).table(),
        **DialogHandlers(controller, prompt, services, areas, keymap).table(),
        **SearchHandlers(controller, prompt, services, areas).table(),
        **SessionHandlers(controller, prompt, services, host, leave=leave).table(),
    }
