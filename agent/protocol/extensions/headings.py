"""The first words of the parts of a system prompt that users wrote, by which they are found again."""

from __future__ import annotations

import re

FOLDER_INSTRUCTIONS = "The project's own instructions for files below "
SKILLS_HEADING = "Skills are instructions for one kind of task."
INSTRUCTIONS_HEADING = re.compile(r"\n\nThe project's own instructions \(([^()\n]+)\):\n")
SKILLS_PART = re.compile(rf"\n\n{re.escape(SKILLS_HEADING)}.*?(?=\n\n|\Z)", re.DOTALL)
