"""The model of a run whose workers do not call one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from ..protocol import FREE, EditFormat, Message, ModelFault, Part, Price, Request, ServedFacts, ToolSpec

NO_MODEL = "none"
"""Model name in the spec of a run that does not need a model."""


class NoModel:
    """A model for runs without one: it costs nothing and never answers."""

    name = NO_MODEL
    local = True
    window = 4_096
    max_output: int | None = None
    limits_output = True
    sees_images: bool | None = False
    served: ServedFacts | None = None
    price: Price | None = FREE

    def count(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
        """Count no tokens, because nothing is ever sent."""
        return 0

    def count_text(self, text: str) -> int:
        """Count no tokens, because nothing is ever received."""
        return 0

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        """Raise ModelFault, because there is no model."""
        raise ModelFault("unknown-model", "this run has no model: name one with --model")
        yield  # makes this an async generator, as the protocol requires

    def remember_format(self, form: EditFormat) -> None:
        """Do nothing: no run uses this model."""

    async def probe(self) -> None:
        """Do nothing: this model is always reachable."""
