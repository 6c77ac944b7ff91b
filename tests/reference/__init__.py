"""Generate docs/reference/ from the program: commands, keys, config values, events, exit codes, theme tokens."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
LINES = 240
"""A page that would be longer is split."""
