"""Run the code under test: import its modules and execute the requests of the predicate's process.

The worker is forked before the predicate's process reads the question, so it never has the question in its memory.
"""

# Values come from another process and have any type.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

import builtins
import importlib
import os
import sys
from types import ModuleType
from typing import Any

from .predicate_wire import decode_value, encode, receive, send_frame


class Worker:
    """Serves one predicate. Objects other than plain values stay here; messages refer to them by number."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}

    def serve(self) -> None:
        """Answer requests until the other process closes the connection."""
        while True:
            try:
                request: Any = receive(self._fd)
            except EOFError:
                os._exit(0)
            send_frame(self._fd, self._answer(request))

    def _answer(self, request: Any) -> list[object]:  # noqa: ANN401 - JSON
        try:
            operation, *given = request
            arguments = [decode_value(one, self._resolve) for one in given]
            return ["ok", encode(getattr(self, f"do_{operation}")(*arguments), self._refer)]
        except BaseException as error:  # noqa: BLE001 - whatever the code under test raises is an answer
            return ["error", [kind.__name__ for kind in type(error).__mro__], self._refer(type(error)), _text(error)]

    def _refer(self, value: object) -> list[object]:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        bases = [kind.__name__ for kind in value.__mro__] if is_error and isinstance(value, type) else []
        return ["object", number, str(getattr(value, "__name__", type(value).__name__)), bases]

    def _resolve(self, value: list[object]) -> object:
        number = value[1]
        assert isinstance(number, int)
        return self._objects[number]

    def do_import(self, name: str, path: list[str]) -> list[object]:
        """Import a module. Return it, whether it is a package, and the names that `import *` binds."""
        sys.path[:] = path
        importlib.invalidate_caches()
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
        return [module, hasattr(module, "__path__"), [str(one) for one in names]]

    def do_call(self, called: Any, arguments: list[Any], named: dict[str, Any]) -> list[object]:  # noqa: ANN401
        """Call the object. Return its result and the arguments, which the call may have changed."""
        answer = called(*arguments, **named)
        return [answer, [one for one in arguments if type(one) in (list, dict, set, bytearray)]]

    def do_item(self, owner: Any, key: object) -> object:  # noqa: ANN401
        """Return an item of the object, as in `owner[key]`."""
        return owner[key]

    def do_builtin(self, name: str, *arguments: object) -> object:
        """Call a built-in function, such as `len`, `next`, `getattr`, `setattr` or `isinstance`."""
        return getattr(builtins, name)(*arguments)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - its `__str__` is code under test too
        return ""


def fork_worker() -> tuple[int, int]:
    """Start the worker's process. Return its id and the file descriptor of the connection to it."""
    import socket

    near, far = socket.socketpair()
    number = os.fork()
    if number:
        far.close()
        return number, near.detach()
    near.close()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.modules["__main__"] = ModuleType("__main__")
    Worker(far.detach()).serve()
    raise AssertionError("`serve` returned in the worker")
