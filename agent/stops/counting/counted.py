"""What one run of a check counted, whatever the format of its output."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Tests that ran, by number and where possible by name."""

    ran: int | None = None
    """Tests that ran. Skipped, deselected and expectedly failing ones did not. None: the runner does not say."""
    failing: int = 0
    """Failing and broken tests."""
    names: list[str] = []
    """Names of tests that ran, sorted; of some formats all, of others a part or none."""
    shown: int | None = None
    """Results that the runner showed one by one before its summary; None: the format does not show them."""
    broken: bool = False
    """The runner reported that it could not start the tests."""

    @property
    def is_named(self) -> bool:
        """Each test that ran is named."""
        return bool(self.names) and (self.ran is None or len(self.names) >= self.ran)

    @property
    def is_empty(self) -> bool:
        """No test ran and nothing failed."""
        return self.ran == 0 and not self.failing


def together(parts: Iterable[Counted]) -> Counted | None:
    """Sum what several readers found in one output; None: nothing was found."""
    found = list(parts)
    if len(found) < 2:
        return found[0] if found else None
    ran = [part.ran for part in found if part.ran is not None]
    shown = [part.shown for part in found]
    return Counted(
        ran=sum(ran) if ran else None,
        failing=sum(part.failing for part in found),
        names=sorted({name for part in found for name in part.names}) if all(p.is_named for p in found) else [],
        shown=None if None in shown else sum(one for one in shown if one is not None),
        broken=any(part.broken for part in found),
    )
