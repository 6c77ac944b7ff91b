"""Handle actions about skills and the slash commands of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run_controller import RunController
    from ..screens.services import Services


class ExtensionHandlers:
    """Handlers that show skills, or send one as a message."""

    def __init__(self, controller: RunController, services: Services) -> None:
        self._controller, self._services = controller, services

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {"skills": self._skills, "skill": self._skill}

    def _skills(self, _argument: str) -> None:
        from ..screens.dialogs.skills import SkillsScreen

        self._services.open(SkillsScreen(self._controller.extensions.fresh(), self._controller.link.journal))

    def _skill(self, argument: str) -> None:
        if not argument:
            self._skills("")
            return
        text = self._controller.extensions.skill_message(argument)
        self._controller.send_message(text, argument)
