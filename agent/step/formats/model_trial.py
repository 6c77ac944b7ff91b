"""Try out a model on its server: which edit formats it can use, how fast it is, whether the prompt cache works.

Three tiny tasks say exactly what to change, so the trial shows whether the model can write a format, not how clever it
is. Its answers are read like answers in a run and compared as text. They are never executed or written to a file.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

import msgspec

from ...models.learned import learn, learned
from ...models.open_model import open_model
from ...models.server_tokenizer import SAMPLE_TEXT
from ...protocol import (
    CONSTRAINED,
    FREE,
    CallPart,
    Message,
    ModelFault,
    PromptReadPart,
    Request,
    ServedFacts,
    TextPart,
    Tokens,
    ToolCall,
    UsagePart,
    UserError,
    bill,
)
from ...tools.brief import brief
from ...tools.tool_table import tool_specs
from .choose_format import FIRST, SMALL
from .format_words import SCHEMA, try_message
from .merge_definitions import same_program
from .read_answer import ShownFile, is_complete, read_answer

if TYPE_CHECKING:
    from ...models.remote_model import RemoteModel
    from ...protocol import FaultKind, FileFormat, ModelSpec, Part

TriedFormat = Literal["tools", "functions", "whole", "blocks", "constrained"]
FORMATS: tuple[TriedFormat, ...] = ("tools", "functions", "whole", "blocks", "constrained")
SECONDS = 120.0
"""Time for all calls of a trial."""
_CALL_SECONDS = 60.0
"""Time for one answer in a format."""
_GIVEN_UP = 2
"""Tasks without a usable answer after which a format is not tried again."""
_TOOLS = [brief(spec) for spec in tool_specs(("read_file", "edit_file", "write_file"))]
_EDITS = frozenset({"edit_file", "write_file"})
_MOST_AGAIN = 4
"""How often a request is repeated."""
_READY = "Reply with the one word: ready"
_LONG_PROMPT = 300
"""Tokens of the prompt by which the speed of reading is measured, if the window has room for it."""
_LEAST_TOKENS = 24
"""Tokens of an answer from which the speed of writing is measured."""
_ENDS_TRIAL: frozenset[FaultKind] = frozenset({"auth", "unknown-model", "quota"})
_SYSTEM = "You are a careful programmer. Change only what the task asks for."
_SYSTEM_TOOLS = f"{_SYSTEM} You work in a folder by calling tools: make the change with edit_file or write_file."


class _Task(msgspec.Struct, frozen=True):
    path: str
    text: str
    ask: str
    old: str
    new: str

    @property
    def shown(self) -> ShownFile:
        return ShownFile(self.path, self.text)

    @property
    def expected(self) -> str:
        return self.text.replace(self.old, self.new)


_TASKS = (
    _Task(
        "clock.py",
        "def seconds(hours, minutes):\n"
        '    """Return the seconds since midnight."""\n'
        "    return hours * 3600 + minutes * 6\n\n\n"
        "def is_noon(hours, minutes):\n"
        "    return hours == 12 and minutes == 0\n",
        "In the function seconds, the minutes must be multiplied by 60 instead of 6.",
        "minutes * 6\n",
        "minutes * 60\n",
    ),
    _Task(
        "range.py",
        "def highest(values):\n    if not values:\n        return None\n    return max(values)\n\n\n"
        "def lowest(values):\n    if not values:\n        return None\n    return max(values)\n",
        "The function lowest must return min(values) instead of max(values). Leave highest as it is.",
        "def lowest(values):\n    if not values:\n        return None\n    return max(values)\n",
        "def lowest(values):\n    if not values:\n        return None\n    return min(values)\n",
    ),
    _Task(
        "basket.py",
        "class Basket:\n"
        '    """The goods of one customer."""\n\n'
        "    def __init__(self):\n"
        "        self.prices = []\n\n"
        "    def add(self, price):\n"
        "        self.prices.append(price)\n\n"
        "    def total(self):\n"
        "        return sum(self.prices)\n\n"
        "    def count(self):\n"
        "        return 0\n",
        "The method count must return len(self.prices) instead of 0.",
        "return 0\n",
        "return len(self.prices)\n",
    ),
)


async def open_trial(spec: ModelSpec, env: Mapping[str, str]) -> ModelTrial:
    """Open the model of the spec for a trial. Raises UserError for an unusable name or address, or the demo model."""
    model = await open_model(spec, env)
    if model.served is None:
        raise UserError(f"{spec.name} is scripted, so there is nothing to try: name a model of a server")
    return ModelTrial(model, env)


class FormatResult(msgspec.Struct, kw_only=True):
    """What a model did with one edit format."""

    format: TriedFormat
    tried: int = 0
    """Tasks that were asked in this format."""
    usable: int = 0
    """Answers that were an edit of the file, or with `tools` a call of a tool."""
    right: int = 0
    """Answers after which the file was as the task asked."""
    problem: str = ""
    """Why the newest answer was not right, in words."""


class Trial(msgspec.Struct, kw_only=True):
    """The result of a trial. None if not measured, or the server does not report it."""

    model: str
    server: str
    """The address, or the provider's name for its own address."""
    served: ServedFacts | None = None
    window: int | None = None
    """Tokens of prompt and answer together."""
    formats: list[FormatResult]
    read_speed: float | None = None
    """Tokens of a prompt that the server reads per second, with the way there."""
    write_speed: float | None = None
    """Tokens of an answer that the server writes per second."""
    cached: float | None = None
    """Share of the second prompt, which extends the first one, that the server took from its cache."""
    recommended: TriedFormat | None = None
    """None means that no format led to a right answer."""
    is_complete: bool = False
    """Whether each format was tried within the time."""
    seconds: float = 0.0
    tokens: Tokens = Tokens()
    usd: float | None = None


class _Answer(msgspec.Struct, kw_only=True):
    """One answer with its times in seconds since the request."""

    text: str = ""
    calls: list[ToolCall] = []
    tokens: Tokens = Tokens()
    begun: float | None = None
    """Time of the first piece of text."""
    ended: float = 0.0
    fault: str = ""
    is_late: bool = False
    """Whether the time of the call was over before its end."""

    def add(self, part: Part) -> None:
        """Add a part of the stream."""
        match part:
            case TextPart(text):
                self.text += text
            case CallPart(call):
                self.calls.append(call)
            case UsagePart(tokens):
                self.tokens = tokens
            case _:
                pass


class ModelTrial:
    """A trial of one model. Every call is bounded in tokens and seconds."""

    def __init__(self, model: RemoteModel, env: Mapping[str, str]) -> None:
        self._model, self._env = model, env
        self.result = Trial(
            model=model.name,
            server=model.server,
            served=model.served,
            window=model.window if model.window_known else None,
            formats=[FormatResult(format=each) for each in FORMATS],
        )
        self._written = self._writing = 0.0
        self._began = time.monotonic()

    @property
    def is_free(self) -> bool:
        """Whether the model is known to cost nothing."""
        return self._model.price == FREE

    def worst_usd(self) -> float | None:
        """Return the most that the trial can cost in USD, or None if the price is unknown."""
        price = self._model.price
        if price is None:
            return None
        requests = [self._long_prompt("-", turn) for turn in (1, 2)]
        requests += [self._request(each, task) for task in _TASKS for each in FORMATS]
        prompts = sum(self._model.count(r.messages, r.tools) * 1.5 + 200 for r in requests)
        return prompts * price.worst_input + sum(r.max_tokens for r in requests) * price.worst_output

    async def run(self) -> AsyncGenerator[str, None]:
        """Make the calls, and yield in a few words what is tried next. Then `result` is whole.

        Raises Refusal or UserError if the model cannot be used at all.
        """
        await self._model.probe()
        await self._model.encoding_loaded()
        self._began = time.monotonic()
        yield "reading speed and prompt cache"
        await self._measure_reading()
        order = _order(self._model.served)
        for number, task in enumerate(_TASKS, 1):
            for found in sorted(self.result.formats, key=lambda each: order.index(each.format)):
                if found.tried >= _GIVEN_UP and not found.usable:
                    continue
                if self._left() <= 0:
                    break
                yield f"{found.format}, task {number} of {len(_TASKS)}"
                await self._try(found, task)
        result = self.result
        result.is_complete = all(found.tried for found in result.formats)
        result.seconds = time.monotonic() - self._began
        result.usd = bill(self._model.price, result.tokens)
        if self._writing > 0:
            result.write_speed = self._written / self._writing
        result.recommended = recommend(result.formats, self._model.served)

    def remember(self) -> None:
        """Keep the speeds, and the recommendation of a complete trial, for later runs with this model here."""
        found, server, name = self.result, self._model.server, self._model.wire_name
        known = learned(server, name, self._env)
        learn(
            server,
            name,
            self._env,
            edit_format=found.recommended if found.recommended and found.is_complete else known.edit_format,
            read_speed=found.read_speed or known.read_speed,
            write_speed=found.write_speed or known.write_speed,
        )

    def _left(self) -> float:
        return self._began + SECONDS - time.monotonic()

    async def _measure_reading(self) -> None:
        """Send a prompt that no cache can know, then one that extends it."""
        nonce = secrets.token_hex(8)
        first = await self._ask(self._long_prompt(nonce, 1), self._left())
        if first.fault or first.begun is None:
            return
        read = first.tokens.in_ - first.tokens.cached
        if read > 0:
            self.result.read_speed = read / first.begun
        second = await self._ask(self._long_prompt(nonce, 2, first.text), self._left())
        if not second.fault and second.tokens.cached and second.tokens.in_:
            self.result.cached = second.tokens.cached / second.tokens.in_

    def _long_prompt(self, nonce: str, turn: int, answer: str = "ready") -> Request:
        one = self._model.count_text(SAMPLE_TEXT)
        times = max(1, min(_LONG_PROMPT, self._model.window // 3) // max(1, one))
        messages = [Message(role="user", text=f"{nonce}\n{SAMPLE_TEXT * times}\n{_READY}")]
        if turn == 2:
            messages += [Message(role="assistant", text=answer or "ready"), Message(role="user", text=_READY)]
        return Request(messages=messages, max_tokens=16, temperature=self._temperature)

    async def _try(self, found: FormatResult, task: _Task) -> None:
        answer = await self._ask(
            self._request(found.format, task), min(_CALL_SECONDS, self._left()), found.format, task
        )
        if answer.is_late:
            found.problem = found.problem or "too slow: no answer in time"
            return
        found.tried += 1
        if answer.fault:
            found.problem = answer.fault
            return
        text, problem = _read(found.format, answer, task)
        found.usable += text is not None or (found.format == "tools" and bool(answer.calls))
        if text is not None and same_program(text) == same_program(task.expected):
            found.right += 1
        else:
            found.problem = problem or "it did not make the change that was asked for"

    def _request(self, form: TriedFormat, task: _Task) -> Request:
        excerpt = f"The file `{task.path}`:\n\n```python\n{task.text}```"
        limit = 2 * self._model.count_text(task.text) + 200
        if form == "tools":
            return Request(
                messages=[
                    Message(role="system", text=_SYSTEM_TOOLS),
                    Message(role="user", text=f"{task.ask}\n\n{excerpt}"),
                ],
                tools=_TOOLS,
                max_tokens=limit,
                temperature=self._temperature,
            )
        text = try_message(form, task.shown, excerpt, "", (), "")
        return Request(
            messages=[Message(role="system", text=_SYSTEM), Message(role="user", text=f"{task.ask}\n\n{text}")],
            schema=SCHEMA if form == CONSTRAINED else None,
            max_tokens=limit,
            temperature=self._temperature,
        )

    @property
    def _temperature(self) -> float | None:
        served = self._model.served
        return 0.0 if served is not None and served.self_hosted else None

    async def _ask(
        self, request: Request, seconds: float, form: TriedFormat = "tools", task: _Task | None = None
    ) -> _Answer:
        """Return the answer. A request is repeated after a broken connection, and without a field that was refused.

        Raises UserError if no call can succeed.
        """
        answer, repeated = await self._ask_once(request, seconds, form, task), 0
        while answer is None and repeated < _MOST_AGAIN and self._left() > 0:
            repeated += 1
            answer = await self._ask_once(request, min(seconds, self._left()), form, task)
        answer = answer or _Answer(fault="the server answers no request")
        self.result.tokens += answer.tokens
        more = answer.tokens.out - 1
        if answer.begun is not None and answer.text and not answer.calls and more >= _LEAST_TOKENS:
            self._written, self._writing = self._written + more, self._writing + answer.ended - answer.begun
        return answer

    async def _ask_once(
        self, request: Request, seconds: float, form: TriedFormat, task: _Task | None
    ) -> _Answer | None:
        """Return the answer, up to the end of its code, or None if nothing arrived, and another try may succeed."""
        answer, began = _Answer(calls=[]), time.monotonic()
        request = msgspec.structs.replace(request, seconds=max(1.0, seconds))
        try:
            async with aclosing(self._model.stream(request)) as parts:
                async for part in parts:
                    if answer.begun is None and not isinstance(part, (PromptReadPart, UsagePart)):
                        answer.begun = time.monotonic() - began
                    answer.add(part)
                    if task is not None and form != "tools" and is_complete(form, answer.text, task.shown):
                        break
        except ModelFault as fault:
            if fault.kind in _ENDS_TRIAL:
                raise UserError(fault.text) from fault
            if answer.begun is None and (fault.try_again or (fault.retryable and fault.kind != "timeout")):
                return None
            answer.fault, answer.is_late = fault.text, fault.kind == "deadline"
            answer.tokens = fault.usage.tokens if fault.usage is not None else answer.tokens
        answer.ended = time.monotonic() - began
        if not answer.tokens.total:
            prompt = self._model.count(request.messages, request.tools)
            answer.tokens = Tokens(prompt, self._model.count_text(answer.text))
        return answer


def _order(served: ServedFacts | None) -> list[TriedFormat]:
    """Return the formats in the order in which they suit the model.

    That is tools for a large model; for a small one, or one whose template does not know tools, a file format, because
    a tiny task with few tools is easier than a run (docs/decisions/0038).
    """
    is_small = served is not None and (
        served.template_knows_tools is False or (served.parameters is not None and served.parameters < SMALL)
    )
    files: list[TriedFormat] = ["functions", "whole", "blocks", "constrained"]
    files.sort(key=lambda each: each != FIRST)
    return [*files, "tools"] if is_small else ["tools", *files]


def recommend(formats: Sequence[FormatResult], served: ServedFacts | None) -> TriedFormat | None:
    """Return the format with the most right answers, of equals the one that suits the model best.

    Returns None if no answer was right.
    """
    order = _order(served)
    best = max(formats, key=lambda each: (each.right, each.usable, -order.index(each.format)))
    return best.format if best.right else None


def _read(form: TriedFormat, answer: _Answer, task: _Task) -> tuple[str | None, str]:
    """Return the new text of the file, or None and the problem in words."""
    if form == "tools":
        return _read_calls(answer, task)
    if not answer.text.strip():
        return None, "an empty answer"
    reading = read_answer(form, answer.text, task.shown)
    return reading.text, _in_words(reading.problem)


def _read_calls(answer: _Answer, task: _Task) -> tuple[str | None, str]:
    if not answer.calls:
        return None, "it called no tool"
    edits = [call for call in answer.calls if call.tool in _EDITS]
    if not edits:
        return None, f"it called {answer.calls[0].tool}, and no tool that edits"
    by_json: FileFormat = CONSTRAINED
    reading = read_answer(by_json, edits[0].arguments, task.shown)
    return reading.text, _in_words(reading.problem)


def _in_words(problem: str) -> str:
    """Return a problem as a part of a line, without its advice to the model."""
    short = problem.partition(":")[0].removesuffix(".")
    return short[:1].lower() + short[1:]
