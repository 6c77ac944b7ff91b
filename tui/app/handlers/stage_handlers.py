"""Handle what belongs to a stage: enter it, decide on what is staged, leave it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rundry.agent import GateMode, LoopKind, ResumeChanges, RundryError, is_own_journal

from ...control.review_words import IN_STAGE, Reviewed, review_words, staged_count, staged_words

if TYPE_CHECKING:
    from ...control.run_controller import RunController
    from ...control.services import Host, Services  # loads textual
    from ..message_and_notice import Prompt

DROP_AGAIN = "this deletes what is staged: enter /apply drop again"


class StageHandlers:
    """Handlers of a stage. The runner exits meanwhile, because only one process at a time can have the stage."""

    def __init__(
        self,
        controller: RunController,
        prompt: Prompt,
        services: Services,
        host: Host,
        keymap: Mapping[str, str],
    ) -> None:
        self._controller, self._prompt, self._services, self._host = controller, prompt, services, host
        self._keymap = keymap
        self._is_busy = False
        """The runner is exiting, or a person decides."""

    def table(self) -> Mapping[str, Callable[[str], None]]:
        """Return the handlers by the action's name."""
        return {"stage": self._stage, "apply": self._apply, "end_apply": self._apply}

    def _stage(self, _argument: str) -> None:
        self.enter()

    def enter(self) -> None:
        """Let the run work in a stage from now on. Raises RundryError."""
        controller, state = self._controller, self._controller.state
        if not controller.begun:
            controller.set_gate(GateMode.STAGE)
        elif state.in_stage:
            self._prompt.tell(IN_STAGE)
        elif state.loop not in (LoopKind.CHAT, LoopKind.GOAL):
            raise RundryError("only a chat and a goal run can work in a stage")
        elif state.outcome is not None:
            raise RundryError("the run has ended: rundry resume --gate stage continues it in a stage")
        else:
            self._begin(self._restart(GateMode.STAGE))

    def leave(self, mode: GateMode) -> None:
        """Let the run work in the workspace, in this mode of the gate. Asks first what happens to what is staged."""
        if staged_count(self._controller.state):
            self._begin(self._leave(mode))
        else:
            self._begin(self._review(mode))

    def _apply(self, argument: str) -> None:
        if argument not in ("", "drop"):
            raise RundryError(f"/apply {argument}: use /apply, or /apply drop to delete what is staged")
        if not self._controller.state.in_stage and not self._controller.reviews:
            raise RundryError("nothing is staged: /stage lets the run work in a stage")
        if argument and not self._prompt.shows(DROP_AGAIN):
            self._prompt.tell(DROP_AGAIN)
        elif argument:
            self._begin(self._drop(None))
        else:
            self._begin(self._review(None))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start this work, unless other work of a stage is in progress."""
        if self._is_busy:
            work.close()
            return

        async def guarded() -> None:
            try:
                await work
            except (RundryError, OSError) as error:
                self._prompt.tell(str(error))
            finally:
                self._is_busy = False

        self._is_busy = True
        self._services.run(guarded())

    async def _leave(self, mode: GateMode) -> None:
        from ...pages.stage_page import LeaveStageScreen

        answer = await self._services.ask(LeaveStageScreen(staged_words(self._controller.state)))
        match answer:
            case "apply":
                await self._review(mode)
            case "drop":
                await self._drop(mode)
            case _:
                self._prompt.tell("it stays staged")

    async def _restart(self, mode: GateMode) -> None:
        await self._controller.park()
        self._controller.resume(ResumeChanges(gate=mode))

    async def _drop(self, mode: GateMode | None) -> None:
        path = self._journal()
        await self._controller.park()
        from rundry.agent import drop_stage

        await asyncio.to_thread(drop_stage, path)
        self._continue(mode)

    async def _review(self, mode: GateMode | None) -> None:
        """Let the person decide, then let the run continue, in this mode if nothing is staged any more."""
        from rundry.agent import open_stage

        from ...pages.stage_page import StageScreen

        controller, path = self._controller, self._journal()
        if not controller.reviews:
            await controller.park()
        opens = partial(open_stage, path, dict(os.environ))
        screen = StageScreen(opens, controller.state.task, self._keymap)
        reviewed = await self._services.ask(screen) or Reviewed()
        if controller.reviews:
            controller.reviewed = reviewed
            self._host.leave(None)
            return
        self._continue(mode)
        is_left = mode is not None and not controller.state.in_stage
        self._prompt.tell("" if is_left and reviewed.applied is None else review_words(reviewed))

    def _continue(self, mode: GateMode | None) -> None:
        """Let a run continue that has not ended. Raises RundryError."""
        controller = self._controller
        while controller.catch_up():
            pass
        if controller.state.outcome is None:
            controller.resume(ResumeChanges(gate=None if controller.state.in_stage else mode))

    def _journal(self) -> Path:
        journal = self._controller.link.journal
        if journal is None:
            raise RundryError("there is no run yet")
        if (own := self._controller.journals) is not None and not is_own_journal(journal.path, own):
            raise RundryError("this run is not in your folder of journals: use `rundry apply --trust FILE`")
        return journal.path
