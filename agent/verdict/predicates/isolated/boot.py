"""Start a predicate's process: `python -I -B -c boot.py`.

Standard input has two blocks, each after its length: the sources of this package, and the question, which only the
predicate's process reads.
"""

import json
import os
import sys
import types


def read_block() -> bytes:
    """Read the next block of standard input, without a buffer, because another process reads the rest."""
    return read_exactly(int.from_bytes(read_exactly(4), "big"))


def read_exactly(size: int) -> bytes:
    """Read exactly this many bytes. Raises EOFError."""
    found = bytearray()
    while len(found) < size:
        piece = os.read(0, min(size - len(found), 1 << 20))
        if not piece:
            raise EOFError("the question is incomplete")
        found += piece
    return bytes(found)


def load(sources: dict[str, str]) -> None:
    """Execute the sources as the modules of one package, in their order."""
    package = types.ModuleType("rundry_isolated")
    package.__path__ = []
    sys.modules["rundry_isolated"] = package
    for name, text in sources.items():
        module = types.ModuleType(f"rundry_isolated.{name}")
        module.__package__ = "rundry_isolated"
        sys.modules[module.__name__] = module
        exec(compile(text, f"<rundry {name}>", "exec"), module.__dict__)


def main() -> None:
    """Run the predicate; `predicate_process.main` does not return."""
    load(json.loads(read_block()))
    sys.modules["rundry_isolated.predicate_process"].main(read_block)


if __name__ == "__main__":
    main()
