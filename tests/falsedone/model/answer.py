"""One answer of the scripted model, before a wire format renders it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """A text, or a call of one tool."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] | str = ""
    """A text is the input of a tool that takes free text (`apply_patch` of codex)."""

    @property
    def json(self) -> str:
        return json.dumps(self.arguments)
