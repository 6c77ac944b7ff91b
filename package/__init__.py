"""Start runs of a coding model, watch them and decide what they may change, from Python.

    import rundry

    with rundry.start("fix the failing suite", until="pytest -q", attended=True) as run:
        for request in run.requests():
            ...
        print(run.wait().reason)

docs/how-to/python.md explains it. Each name is loaded when it is first used, so that the command `rundry` does not pay
for the API. `tui/api/public.py` states the names.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` takes 9 ms, and each start of the program would wait for them
if TYPE_CHECKING:
    from .tui.api.public import *  # noqa: F403


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module(".agent.protocol.version", __name__).VERSION
    public = import_module(".tui.api.public", __name__)
    if name.startswith("_") or not hasattr(public, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(public, name)


def __dir__() -> list[str]:
    from importlib import import_module

    public = import_module(".tui.api.public", __name__)
    return sorted({*globals(), *(name for name in vars(public) if not name.startswith("_"))})
