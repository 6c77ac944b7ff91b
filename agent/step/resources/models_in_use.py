"""The model of a run, and the models of tasks that use one of their own."""

from __future__ import annotations

from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...models.open_model import ModelOpener
    from ...protocol import Model, ModelSpec

_of_task: ContextVar[Model | None] = ContextVar("model_of_task", default=None)
"""Tasks inherit it: parallel work may use models of its own."""


class ModelsInUse:
    """The models that a run and its tries call."""

    def __init__(self, model: Model, env: MutableMapping[str, str], opener: ModelOpener) -> None:
        """`env`: the environment of all commands of the run. `opener` opens the models of later specs."""
        self._of_run, self._env, self._opener = model, env, opener

    @property
    def of_run(self) -> Model:
        """Return the model of the run itself."""
        return self._of_run

    @property
    def current(self) -> Model:
        """The model of this task: the run's, or the one that a lens asked for."""
        return _of_task.get() or self._of_run

    async def open(self, spec: ModelSpec) -> Model:
        """Open another model. Raises Refusal, UserError."""
        return await self._opener.open(spec)

    def use_in_task(self, model: Model) -> None:
        """Use that model for the calls of this task and of the tasks that it starts."""
        _of_task.set(model)

    @contextmanager
    def keep_current(self) -> Generator[Callable[[], bool]]:
        """Keep the model for the block, even if the run switches it. Yields a function: whether another model waits."""
        own = _of_task.get()
        model = own or self._of_run
        token = _of_task.set(model)
        try:
            yield lambda: own is None and self._of_run is not model
        finally:
            _of_task.reset(token)

    def switch(self, model: Model, *, key_from: str | None = None) -> None:
        """Use this model for all further calls of the run. Commands do not get the variable with its key."""
        self._of_run = model
        if key_from is not None:
            self._env.pop(key_from, None)
