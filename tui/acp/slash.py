"""Slash commands in a prompt: those of the session in plain lines."""

from __future__ import annotations

from collections.abc import Callable

from rundry.agent import RundryError

from ..actions import parse_slash
from ..plain.commands import Commands
from ..plain.narrator import Narrator
from ..run_controller import RunController
from .options import COMMANDS


class Slash:
    """Carries out slash commands; a question of one is answered by the next prompt."""

    def __init__(self, controller: RunController, say: Callable[[str], None]) -> None:
        self._say = say
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

    def _ask(self, question: str, answered: Callable[[str], None]) -> None:
        self._say(question)
        self._answer = answered
