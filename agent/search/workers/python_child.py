"""Call `module:function` of the user for one item after the other: `python -P -B -c ... WORKSPACE MODULE FUNCTION`.

Each item is a line of JSON on standard input. Its answer is a line of JSON on the original standard output: `{"answer":
...}` or `{"raised": "Type: text"}`. What the function prints goes to standard error. Imports nothing of rundry.
"""

import importlib
import json
import os
import sys
from collections.abc import Awaitable
from typing import Any


def work(module: str, name: str, item: object) -> dict[str, object]:
    """Return the function's result for the item, or its error."""
    try:
        function = getattr(importlib.import_module(module), name, None)
        if not callable(function):
            return {"raised": f"{module} has no function `{name}`"}
        answer: Any = function(item)
        if hasattr(answer, "__await__"):
            import asyncio  # 50 ms

            answer = asyncio.run(waited_for(answer))
        if not isinstance(answer, dict):
            return {"raised": f"{module}:{name} returned {type(answer).__name__} instead of a dict"}
        json.dumps(answer, allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's code may raise anything, also SystemExit: it is data here
        text = " ".join(str(error).split())[:2000]
        return {"raised": f"{type(error).__name__}: {text}" if text else type(error).__name__}
    return {"answer": answer}


async def waited_for(answer: Awaitable[object]) -> object:
    """Wait for the result of a coroutine function."""
    return await answer


def main() -> None:
    """Answer items until standard input ends."""
    workspace, module, name = sys.argv[1:4]
    sys.path.insert(0, workspace)
    items = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    for line in items:
        reply = work(module, name, json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        answers.write(json.dumps(reply).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
