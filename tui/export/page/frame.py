"""The head and the end of every page, with its style sheet and the policy that allows this and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def page_start(title: str) -> Iterator[str]:
    """Yield everything before the content. `title` is escaped already."""
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">'
    yield '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title><style>{style_sheet()}</style></head><body>"
    yield '<div class="brand">rundry</div>'


def page_end() -> str:
    """Return everything after the content."""
    return "</body></html>"


@cache
def style_sheet() -> str:
    """Return the content of the `style` element."""
    return "\n" + Path(__file__).with_name("page.css").read_text(encoding="utf-8")


@cache
def _policy() -> str:
    """Return the content security policy: nothing is loaded, nothing runs, and only this style sheet applies."""
    digest = base64.b64encode(hashlib.sha256(style_sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
