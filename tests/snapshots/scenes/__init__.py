"""Every screen, each with what leads to it. A scene's name is the name of its snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from . import boards, first, gates, journals, sessions, settings, stages
from .scene import Factory

SCENES: Mapping[str, Factory] = {
    **first.SCENES,
    **sessions.SCENES,
    **gates.SCENES,
    **stages.SCENES,
    **boards.SCENES,
    **journals.SCENES,
    **settings.SCENES,
}
