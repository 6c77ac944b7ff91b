"""Files of a test, and what a write left next to them."""

from pathlib import Path


def put(ws, name, data: bytes) -> Path:
    path = ws.root / name
    path.write_bytes(data)
    return path


def leftovers(ws):
    return sorted(path.name for path in ws.root.rglob(".rundry-*"))
