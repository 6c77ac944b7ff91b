"""The runner as a process of its own: warm, waiting on standard input for its run."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys

import msgspec

from ..protocol import RundryError
from .orders import Order
from .runner import run_order


def main() -> int:
    """Take one order and drive the run. End immediately when the view went away before that."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    gc.freeze()
    line = sys.stdin.buffer.readline()
    if not line.strip():
        return 0
    order = msgspec.json.decode(line, type=Order)
    os.chdir("/")
    try:
        return asyncio.run(run_order(order)).exit_code
    except RundryError as error:
        print(f"rundry: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
