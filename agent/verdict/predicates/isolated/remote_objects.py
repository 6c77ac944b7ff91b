"""Represent objects of the code under test in the predicate's process; each operation is a request to the worker."""

# Values come from another process and have any type.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

import builtins
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn

from .predicate_wire import decode_value, encode, receive, send_frame


class CannotJudge(BaseException):
    """A verdict is not possible. `except Exception` does not catch this."""


class Channel:
    """Connection to the worker, the process of the code under test."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._errors: dict[int, type[BaseException]] = {}

    def ask(self, operation: str, *arguments: object) -> Any:  # noqa: ANN401 - what the code under test gives
        """Send a request and return the answer. Raises the code under test's exception, or CannotJudge."""
        request = [operation, *(encode(one, _refer) for one in arguments)]
        try:
            send_frame(self._fd, request)
            answer = receive(self._fd)
        except (OSError, EOFError):
            raise CannotJudge("the code under test ended its process") from None
        match answer:
            case ["ok", value]:
                return decode_value(value, self._resolve)
            case ["error", list() as names, ["object", int() as number, str() as name, list()], str() as text]:
                raise self._error_class(number, name, names)(text)
            case _:
                raise CannotJudge("the code under test broke the protocol")

    def _resolve(self, value: list[object]) -> object:
        match value:
            case ["object", int() as number, str() as name, list() as bases]:
                return self._error_class(number, name, bases) if bases else Remote(self, number, name)
            case _:
                raise CannotJudge("the code under test broke the protocol")

    def _error_class(self, number: int, name: str, bases: list[Any]) -> type[BaseException]:
        """Return the class if it is built in, else a new class derived from its nearest built-in base."""
        known: list[Any] = [getattr(builtins, str(base), None) for base in bases]
        base: type[Exception] = next(
            (one for one in known if isinstance(one, type) and issubclass(one, Exception)), RuntimeError
        )
        if base.__name__ == name:
            return base
        if number not in self._errors:
            made: Any = type(name, (base,), {"__init__": _init})
            self._errors[number] = made
        return self._errors[number]


def _init(self: BaseException, *arguments: object) -> None:
    self.args = arguments


class Remote:
    """An object in the worker that is not a plain value."""

    __slots__ = ("_channel", "_name", "_number")

    def __init__(self, channel: Channel, number: int, name: str) -> None:
        object.__setattr__(self, "_channel", channel)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return self._channel.ask("builtin", "getattr", self, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._channel.ask("builtin", "setattr", self, name, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        """Call the object in the worker, and apply its changes of plain arguments here too."""
        answer, after = self._channel.ask("call", self, list(arguments), named)
        for mine, theirs in zip((a for a in arguments if type(a) in (list, dict, set, bytearray)), after, strict=False):
            if type(mine) is type(theirs) and mine != theirs:
                _replace(mine, theirs)
        return answer

    def __getitem__(self, key: object) -> Any:  # noqa: ANN401
        return self._channel.ask("item", self, key)

    def __len__(self) -> int:
        return int(self._channel.ask("builtin", "len", self))

    def __bool__(self) -> bool:
        return self._channel.ask("builtin", "bool", self) is True

    def __str__(self) -> str:
        return str(self._channel.ask("builtin", "str", self))

    def __int__(self) -> int:
        return int(self._channel.ask("builtin", "int", self))

    def __float__(self) -> float:
        return float(self._channel.ask("builtin", "float", self))

    def __iter__(self) -> Iterator[Any]:
        iterator = self._channel.ask("builtin", "iter", self)
        while True:
            try:
                one = self._channel.ask("builtin", "next", iterator)
            except StopIteration:
                return
            yield one

    def __next__(self) -> Any:  # noqa: ANN401
        return self._channel.ask("builtin", "next", self)

    def __enter__(self) -> Any:  # noqa: ANN401
        return self._channel.ask("call", self._channel.ask("builtin", "getattr", self, "__enter__"), [], {})[0]

    def __exit__(self, *error: object) -> None:
        self._channel.ask("call", self._channel.ask("builtin", "getattr", self, "__exit__"), [None, None, None], {})

    def __instancecheck__(self, value: object) -> bool:
        return self._channel.ask("builtin", "isinstance", value, self) is True

    def __eq__(self, other: object) -> bool:
        """Compare identities only, because the code under test must not decide what is equal to it."""
        return self._number == other._number if isinstance(other, Remote) else self._refuse("==")

    def __hash__(self) -> int:
        return hash(self._number)

    def __contains__(self, value: object) -> bool:
        return self._refuse("in")

    def __lt__(self, other: object) -> bool:
        return self._refuse("<")

    def __le__(self, other: object) -> bool:
        return self._refuse("<=")

    def __gt__(self, other: object) -> bool:
        return self._refuse(">")

    def __ge__(self, other: object) -> bool:
        return self._refuse(">=")

    def __await__(self) -> NoReturn:
        raise CannotJudge(f"`{self._name}` cannot be awaited here: run the code under test with subprocess")

    def __repr__(self) -> str:
        return f"<{self._name} of the code under test>"

    def _refuse(self, operator: str) -> NoReturn:
        raise CannotJudge(
            f"`{operator}` on `{self._name}` would let the code under test decide: compare plain values, such as its "
            "fields, str(...) or list(...)"
        )


def _replace(mine: Any, theirs: Any) -> None:  # noqa: ANN401 - both of one of four types
    if isinstance(mine, list | bytearray):
        mine[:] = theirs
    else:
        mine.clear()
        mine.update(theirs)


def _refer(value: object) -> list[object]:
    if isinstance(value, Remote):
        return ["object", object.__getattribute__(value, "_number")]
    if isinstance(value, RemoteModule):
        return _refer(value.__dict__["_remote"])
    raise TypeError(f"a {type(value).__name__} cannot be passed to the code under test, which runs in another process")


class RemoteModule(ModuleType):
    """A module of the code under test, which the worker imported."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if "_remote" not in self.__dict__ or name == "__path__":
            raise AttributeError(name)
        return getattr(self.__dict__["_remote"], name)
