"""The runner as a process of its own: warm, waiting on standard input for its run."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys

import msgspec

from ..model.counting import Counter
from ..protocol import RundryError
from .orders import Expected, Order
from .runner import run_order


def main() -> int:
    """Take one order and drive the run. End immediately when the view went away before that."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    import aiohttp  # noqa: F401  # pyright: ignore[reportUnusedImport]  # 0.15 s that pass while the screen starts

    gc.freeze()
    order = _order()
    if order is None:
        return 0
    os.chdir("/")
    try:
        return asyncio.run(run_order(order)).exit_code
    except RundryError as error:
        print(f"rundry: {error}", file=sys.stderr)
        return 1


def _order() -> Order | None:
    """Read the order from standard input, and load meanwhile what its model will need. None: the view went away."""
    while (line := sys.stdin.buffer.readline()).strip():
        try:
            expected = msgspec.json.decode(line, type=Expected)
        except msgspec.ValidationError:
            return msgspec.json.decode(line, type=Order)
        Counter(expected.model).text("the first count loads the encoding")
    return None


if __name__ == "__main__":
    sys.exit(main())
