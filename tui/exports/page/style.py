"""The style sheet of the HTML pages, and the policy that allows it and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path


@cache
def style_sheet() -> str:
    """Return the content of the `style` element."""
    return "\n" + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """Return the content security policy: nothing is loaded, nothing runs, and only this style sheet applies."""
    digest = base64.b64encode(hashlib.sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
