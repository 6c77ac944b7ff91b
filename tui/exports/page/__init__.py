"""Self-contained HTML pages: no script, nothing loaded, every foreign text escaped."""

from .run_page import run_page

__all__ = ["run_page"]
