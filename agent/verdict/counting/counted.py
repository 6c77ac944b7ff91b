"""Hold the test counts of one run of a check, for every format of output."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The tests that ran: their number and, if the output has them, their names."""

    ran: int | None = None
    """Number of tests that ran, without skipped, deselected and expectedly failing ones, or None if not reported."""
    failing: int = 0
    """Number of failing and broken tests."""
    names: list[str] = []
    """Names of tests that ran, sorted. Depending on the format: all, a part or none."""
    failed: list[str] = []
    """Names of tests that failed, sorted. A test that could not be set up or loaded is not among them."""
    shown: int | None = None
    """Number of single results that the runner printed before its summary. None means that the format does not have
    them."""
    broken: bool = False
    """Whether the runner reported that it could not start the tests."""

    @property
    def is_named(self) -> bool:
        """Whether every test that ran has a name."""
        return bool(self.names) and (self.ran is None or len(self.names) >= self.ran)

    @property
    def is_empty(self) -> bool:
        """Whether no test ran and none failed."""
        return self.ran == 0 and not self.failing


def together(parts: Iterable[Counted]) -> Counted | None:
    """Return the sum of the counts that several readers found in one output; None if there are none."""
    found = list(parts)
    if len(found) < 2:
        return found[0] if found else None
    ran = [part.ran for part in found if part.ran is not None]
    shown = [part.shown for part in found]
    return Counted(
        ran=sum(ran) if ran else None,
        failing=sum(part.failing for part in found),
        names=sorted({name for part in found for name in part.names}) if all(p.is_named for p in found) else [],
        failed=sorted(name for part in found for name in part.failed),
        shown=None if None in shown else sum(one for one in shown if one is not None),
        broken=any(part.broken for part in found),
    )
