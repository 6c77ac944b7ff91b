"""What web requests at the gate need, besides the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...journal.redact import Redactor
    from ...protocol import WebSearchSpec


@dataclass(frozen=True, slots=True)
class Web:
    """What the requests of a run need."""

    redactor: Redactor
    """Finds secrets of this machine in what would be sent."""
    search: WebSearchSpec | None
    env: Mapping[str, str]
    """Has the key of the search provider."""
