"""Ask a model at OpenAI's chat API or at its Responses API, whichever its server offers for this model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from ...protocol import ModelFault

if TYPE_CHECKING:
    from ...protocol import Request
    from ..answer import Answer, Shown
    from ..remote import Lane
    from ..request_fields import RequestFields
    from .timer import Timer


class EitherEndpoint:
    """A lane over two: the one that the table expects, until the server says that the model is at the other one."""

    def __init__(self, chat: Lane, responses: Lane, fields: RequestFields, *, expects_responses: bool) -> None:
        self._lanes = {False: chat, True: responses}
        self.fields = fields
        self._expects_responses = expects_responses

    async def stream(self, request: Request, answer: Answer, timer: Timer) -> AsyncGenerator[Shown, None]:
        """Yield what can be shown, as it arrives; the rest is in `answer` at the end. Raises ModelFault."""
        found = self.fields.uses_responses
        is_responses = self._expects_responses if found is None else found
        try:
            async with aclosing(self._lanes[is_responses].stream(request, answer, timer)) as shown:
                async for part in shown:
                    yield part
        except ModelFault as fault:
            if not answer.begun:
                self.fields.settle_endpoint(fault, is_responses=is_responses)
            raise
