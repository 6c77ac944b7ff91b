"""All targets, by name."""

from __future__ import annotations

from ..target import Target
from . import commands, files, journals, models, screens, tools

TARGETS: dict[str, Target] = {
    **models.TARGETS,
    **tools.TARGETS,
    **files.TARGETS,
    **journals.TARGETS,
    **screens.TARGETS,
    **commands.TARGETS,
}
