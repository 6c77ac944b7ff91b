"""Handle actions that open a screen above the main screen: keys, hand-off, spend, skills, replay."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rundry.agent import Reason, RundryError, config_file

from ...head.header_title import home_relative
from ...keys.lookup import keys_of
from ...start.new_run import Setup
from .run_handlers import show_scope

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Services
    from ..message_and_notice import Prompt
    from ..middle_areas import Areas


class DialogHandlers:
    """Handlers that open a screen about the run."""

    def __init__(
        self, controller: RunController, prompt: Prompt, services: Services, areas: Areas, keymap: Mapping[str, str]
    ) -> None:
        self._controller, self._prompt, self._services, self._areas = controller, prompt, services, areas
        self._keymap = keymap

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {
            "help": self._help,
            "handoff": self.handoff,
            "spend": self._spend,
            "mcp": self._mcp,
            "scope": self._scope,
            "replay": self._replay,
            "allowed": self._allowed,
            "settings": self._settings,
            "doctor": self._doctor,
            "skills": self._skills,
            "skill": self._skill,
        }

    def _allowed(self, _argument: str) -> None:
        from ...pages.allowed_picker import AllowedPicker

        self._services.open(AllowedPicker(self._controller))

    def _setup(self) -> Setup:
        """Return the options of the next run, or those of the workspace of the run that is shown."""
        start = self._controller.start
        folder = start.workspace if start is not None else Path(self._controller.state.workspace)
        return start if isinstance(start, Setup) else Setup({"cwd": str(folder)}, headless=False, begins=False)

    def _settings(self, _argument: str) -> None:
        from ...pages.settings_page import SettingsPicker

        self._services.open(SettingsPicker(self._setup().settings, home_relative(str(config_file(os.environ)))))

    def _doctor(self, _argument: str) -> None:
        from ...pages.doctor_page import DoctorPicker
        from ...start.machine_checkup import check_up

        self._services.open(DoctorPicker(check_up(self._setup())))

    def _help(self, _argument: str) -> None:
        from ...pages.help_page import HelpScreen

        reads = self._controller.is_read_only
        self._services.open(HelpScreen(self._keymap, self._areas.focused, is_read_only=reads))

    def handoff(self, _argument: str) -> None:
        """Open the page of the hand-off. Raises RundryError if the run has none."""
        from rundry.agent import handoff_after_end

        from ...pages.handoff_page import HandoffPage

        state, journal = self._controller.state, self._controller.link.journal
        opened = state.handoff or state.last_handoff
        if state.handoff is None and state.outcome is not None and state.outcome.reason is not Reason.HANDOFF:
            opened = (handoff_after_end(journal) if journal is not None else None) or opened
        if opened is None:
            raise RundryError("this run has no hand-off")

        def closed(resumes: bool | None) -> None:
            if resumes:
                self._prompt.fill("/resume ")

        self._services.open(HandoffPage(state, opened, can_resume=not self._controller.is_read_only), closed)

    def _spend(self, _argument: str) -> None:
        from ...pages.spend_page import SpendScreen

        if not self._controller.state.shares:
            raise RundryError("no model was called yet")
        self._services.open(SpendScreen(self._controller.state, self._controller.link.journal))

    def _mcp(self, _argument: str) -> None:
        from ...pages.servers_page import McpScreen

        if not self._controller.state.mcp:
            start = self._controller.start
            is_ignored = start is not None and any(
                "not trusted" in note and ".mcp.json" in note for note in start.notes
            )
            way = "/trust uses .mcp.json" if is_ignored else "`rundry mcp add` adds one"
            raise RundryError(f"no MCP servers: {way}")
        self._services.open(McpScreen(self._controller.state))

    def _scope(self, argument: str) -> None:
        from ...pages.scope_page import ScopeScreen

        if argument or not self._controller.state.scope:
            show_scope(self._controller, self._prompt, argument)
        else:
            self._services.open(ScopeScreen(self._controller.state))

    def _replay(self, argument: str) -> None:
        from ...pages.replay.player import SPEEDS, Player
        from ...pages.replay.replay_page import ReplayScreen
        from ...pages.replay.timeline import Timeline

        journal = self._controller.link.journal
        speed = argument.removesuffix("x") or "1"
        if speed not in map(str, SPEEDS):
            raise RundryError(f"/replay {argument}: use {', '.join(f'{each}x' for each in SPEEDS)}")
        if journal is None or self._controller.state.last_seq == 0:
            raise RundryError("there is nothing to replay yet")

        def left(why: str | None) -> None:
            self._prompt.tell(why or "back to the run; the replay changed nothing")

        player = Player(Timeline(journal), int(speed))
        keys = keys_of("board", self._keymap)
        self._services.open(ReplayScreen(player, keys, board_wanted=self._areas.board_wanted), left)

    def _skills(self, _argument: str) -> None:
        from ...pages.skills_page import SkillsScreen

        extensions = self._controller.extensions
        extensions.forget()
        self._services.open(SkillsScreen(extensions, self._controller.link.journal))

    def _skill(self, argument: str) -> None:
        if not argument:
            self._skills("")
            return
        text = self._controller.extensions.skill_message(argument)
        self._controller.send_message(text, argument)
