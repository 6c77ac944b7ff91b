"""Slash commands in a prompt: those of the session in plain lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rundry.agent import RundryError

from ..actions.lookup import parse_slash
from ..plain.commands import Commands
from ..plain.narrator import Narrator
from .options import COMMANDS, SKILL

if TYPE_CHECKING:
    from ..run_controller import RunController


class Slash:
    """Carries out slash commands; a question of one is answered by the next prompt."""

    def __init__(self, controller: RunController, say: Callable[[str], None]) -> None:
        self._controller, self._say = controller, say
        self._commands = Commands(controller, Narrator(controller, say), say, self._ask)
        self._answer: Callable[[str], None] | None = None

    def took(self, text: str) -> bool:
        """Carry out a command or answer its question. Return False for a message. Raises RundryError."""
        line = text.strip()
        if self._answer is not None:
            answer, self._answer = self._answer, None
            answer(line)
            return True
        action, _ = parse_slash(line) if line.startswith("/") and "\n" not in line else (None, "")
        if action is None:
            return False
        if action.name not in COMMANDS:
            raise RundryError(f"{line.split()[0]}: this command needs the screen; open it with `rundry watch`")
        return self._commands.took(line)

    def filled(self, text: str) -> tuple[str, str] | None:
        """Return the message of `/skill NAME` or of a command of the user, and the part that was typed; else None.

        Raises UserError for one that cannot be used.
        """
        line = text.strip()
        if not line.startswith("/") or self._answer is not None:
            return None
        action, argument = parse_slash(line)
        extensions = self._controller.extensions
        if action is not None:
            return (extensions.skill_message(argument), argument) if action.name == SKILL else None
        message = extensions.command_message(line)
        return None if message is None else (message, argument)

    def _ask(self, question: str, answered: Callable[[str], None]) -> None:
        self._say(question)
        self._answer = answered
