"""Read from the journal of a run what the state of the view does not contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from rundry.agent import (
    Blocks,
    Changes,
    ModelSpec,
    Point,
    RundryError,
    RunFile,
    changed_files,
    earlier_points,
    run_state,
    same_server_model,
    sent_messages,
    standing_changes,
)

if TYPE_CHECKING:
    from rundry.agent import RecordedChange, RewindPreview, SentMessage

    from .run_link import Link, Start


class RunReader:
    """Reads the changes, rewind points and models of one run."""

    def __init__(self, link: Link, start: Start | None) -> None:
        self._link, self._start = link, start

    def points(self) -> Sequence[Point]:
        """Return the points that the run can be rewound to. Raises RundryError."""
        return [] if self._link.journal is None else earlier_points(self._link.journal)

    def changes(self) -> Changes:
        """Return the changes that can be undone. Raises RundryError."""
        return Changes() if self._link.journal is None else standing_changes(self._link.journal)

    def sent_messages(self) -> Sequence[SentMessage]:
        """Return the messages that the model reads now. Raises RundryError if there is no single conversation."""
        journal = self._link.journal
        if journal is None:
            raise RundryError("there is no run yet")
        if not journal.spec.loop.traits.has_one_conversation:
            raise RundryError(f"{journal.spec.loop.a_run} has more than one conversation")
        return sent_messages(journal)

    async def preview_rewind(self, chosen: Sequence[RecordedChange]) -> RewindPreview:
        """Return what an undo of these changes, the newest of the run, would do now. Raises RundryError."""
        from rundry.agent import RewindPreview, preview_rewind  # loads the layers

        return RewindPreview() if self._link.journal is None else await preview_rewind(self._link.journal, chosen)

    @property
    def is_own_tree(self) -> bool:
        """Whether the run works in a worktree of its own, in which nobody else writes."""
        journal = self._link.journal
        return journal is not None and journal.spec.home != journal.spec.workspace

    def changed_files(self) -> Sequence[RunFile]:
        """Return the files that the run changed. Raises RundryError."""
        return [] if self._link.journal is None else changed_files(self._link.journal)

    def model_named(self, name: str) -> ModelSpec:
        """Return the model of this name, at the provider of the run's own model if the name has no other one."""
        journal, start = self._link.journal, self._start
        own = journal.spec.model if journal is not None else start.model if start is not None else None
        return ModelSpec(name=name) if own is None else same_server_model(name, own)

    def with_effort(self, effort: str) -> ModelSpec:
        """Return the current model with that effort. Raises RundryError without a model."""
        own = self._start.model if self._start is not None else None
        if (journal := self._link.journal) is not None:
            own = run_state(journal).model
        if own is None:
            raise RundryError("there is no model yet: set one with /model")
        return msgspec.structs.replace(own, effort=effort)


def step_title(blocks: Blocks, point: Point) -> str:
    """Return what a step did, in a few words, or an empty text if the step is not in memory."""
    for index in range(len(blocks) - blocks.since(point.seq), len(blocks)):
        block = blocks[index]
        if block.step is not None and block.step != point.step:
            break
        if block.step is not None and (block.title or block.text):
            return block.title or block.text.strip().split("\n", 1)[0]
    return ""
