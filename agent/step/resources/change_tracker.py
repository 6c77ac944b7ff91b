"""Track whether the files of a workspace changed since their id was computed, and since the last check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...state.facts.run_facts import RunFacts
    from .changes_since import Moment


class ChangeTracker:
    """Knows whether files may have changed since their id was computed and since the predicates last ran."""

    def __init__(self) -> None:
        self._changed = False
        self._unverified = False
        self._verified_world: str | None = None
        self._verified_stamp: str | None = None
        self._acted = True
        self._looked = False
        self._verdicts: dict[tuple[str, str], bool] = {}
        """Check and fingerprint of the files to the verdict."""
        self._unsteady: set[str] = set()
        self.person_made: dict[str, str | None] = {}
        """Path to blob: content that the user's own commands wrote since the model's newest command began."""
        self.at_control: Moment | None = None
        """The files when a person took control, or None if nobody has, or they could not be read."""

    def mark_changed(self) -> None:
        """Note that the files may have changed since their id was computed."""
        self._changed = True
        self.mark_acted()

    def mark_acted(self) -> None:
        """Note that something ran that may have changed what a check sees, even if no file changed."""
        self._acted, self._looked = True, False

    def take_changed(self) -> bool:
        """Return whether the files may have changed since their id was computed, and note that it is computed now."""
        changed, self._changed = self._changed, False
        self._unverified = self._unverified or changed
        return changed

    def forget_changed(self) -> None:
        """Note that the id was computed, and that the changes before it need no new check."""
        self._changed = False

    @property
    def unverified(self) -> bool:
        """Whether files may have changed since the predicates last ran. Needed if there are no fingerprints."""
        return self._unverified

    @property
    def verified_stamp(self) -> str | None:
        """Stamp of all files, including ignored ones, after the predicates last ran."""
        return self._verified_stamp

    @property
    def acted(self) -> bool:
        """Whether a file changed or a command or an MCP tool ran since the checks ran."""
        return self._acted

    def note_checked(self) -> None:
        """Note that the checks ran now."""
        self._acted = False
        self.note_looked()

    @property
    def looked(self) -> bool:
        """Whether the stamp of all files was compared since the last action, so that it is still the verified one."""
        return self._looked

    def note_looked(self) -> None:
        """Note that the stamp of all files is that of the last check."""
        self._looked = True

    def note_verdict(self, check: str, world: str | None, *, passed: bool) -> None:
        """Note the verdict of a check on these files. Two verdicts on the same files make the check unsteady."""
        if world is not None and self._verdicts.setdefault((check, world), passed) != passed:
            self._unsteady.add(check)

    def is_steady(self, check: str) -> bool:
        """Return whether no state of the files ever had two verdicts of this check."""
        return check not in self._unsteady

    def is_verified_at(self, world: str | None) -> bool:
        """Return whether the predicates last ran with these files. `world`: fingerprint, or None if unknown."""
        return self._verified_world == world

    def note_verified(self, world: str | None) -> None:
        """Note that the predicates ran now. `world`: fingerprint of the files."""
        self._verified_world, self._unverified = world, False

    def note_stamp(self, stamp: str | None) -> None:
        """Store the stamp of all files after the predicates ran."""
        self._verified_stamp = stamp


class WorldSource(Protocol):
    """Computes an id of the files: equal ids are equal files."""

    async def take(self) -> str:
        """Return the id of the files as they are now, or empty if it cannot be known."""
        ...


class Fingerprint:
    """Keeps the id of the files in the facts up to date."""

    def __init__(self, facts: RunFacts, source: WorldSource, files: ChangeTracker) -> None:
        self._facts, self._source, self._files = facts, source, files

    async def refresh(self) -> None:
        """Compute the id again if something may have changed."""
        if self._files.take_changed() or self._facts.world is None:
            await self.take()

    async def take(self) -> str:
        """Compute the id and return it, or empty if it cannot be known."""
        world = await self._source.take()
        self._facts.note_world(world or None)
        return world
