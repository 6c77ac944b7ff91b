"""Write a run as a trajectory in Harbor's Agent Trajectory Interchange Format (ATIF): one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from rundry.agent import (
    VERSION,
    CallAdmitted,
    Charged,
    Prompted,
    ReasoningArrived,
    RunEnded,
    RunStarted,
    Said,
    TextArrived,
    ToolCalled,
    ToolFinished,
)

if TYPE_CHECKING:
    from rundry.agent import Stamped

    Json = dict[str, Any]

_VERSION = "ATIF-v1.7"


def atif_lines(events: Iterable[Stamped]) -> Iterator[str]:
    """Yield the trajectory as one line of JSON. It is in memory as a whole, because its steps refer to each other."""
    fold = Trajectory()
    for stamped in events:
        fold.apply(stamped)
    yield json.dumps(fold.document(), ensure_ascii=False)


class Trajectory:
    """The fold of a run's events to one step for each message, and one for each model call with its tool calls."""

    def __init__(self) -> None:
        self._started: RunStarted | None = None
        self._ended: RunEnded | None = None
        self._steps: list[Json] = []
        self._open: dict[str | None, Json] = {}
        """The newest model call of each work."""
        self._by_call: dict[str, Json] = {}
        """The step of each tool call."""
        self._charges: list[Charged] = []

    def apply(self, stamped: Stamped) -> None:
        """Add what one event says. The calls of a person in control are not part of the conversation."""
        match stamped.event:
            case RunStarted() as started:
                self._started = started
            case Said(text=text, kind=kind):
                self._add(stamped, "user", text, {"kind": kind})
            case Prompted(text=text, kind=kind):
                self._add(stamped, "system", text, {"kind": kind})
            case CallAdmitted(model=model):
                extra = {"work": stamped.work} if stamped.work else {}
                step = self._open[stamped.work] = self._add(stamped, "agent", "", extra)
                step |= {"model_name": model, "llm_call_count": 1}
            case TextArrived(text=text):
                self._extend(stamped, "message", text)
            case ReasoningArrived(text=text):
                self._extend(stamped, "reasoning_content", text)
            case Charged() as charged:
                self._charges.append(charged)
                if step := self._open.get(stamped.work):
                    step["metrics"] = _metrics(charged)
            case ToolCalled(by="model") as called if step := self._open.get(stamped.work):
                self._by_call[called.call_id] = step
                step.setdefault("tool_calls", []).append(_call(called))
            case ToolFinished(by="model") as finished if step := self._by_call.get(finished.call_id):
                result = {"source_call_id": finished.call_id, "content": finished.result, "extra": {"ok": finished.ok}}
                step.setdefault("observation", {"results": []})["results"].append(result)
            case RunEnded() as ended:
                self._ended = ended
            case _:
                pass

    def document(self) -> Json:
        """Return the trajectory as JSON has it."""
        started = self._started
        steps = [step for step in self._steps if step["source"] != "agent" or "metrics" in step or step["message"]]
        if not steps:
            steps = [{"source": "user", "message": started.task if started else ""}]
        found: Json = {
            "schema_version": _VERSION,
            "agent": {"name": "rundry", "version": VERSION},
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
            "final_metrics": self._totals(len(steps)),
        }
        if started is not None:
            found |= {"session_id": started.run_id, "trajectory_id": started.run_id}
            found["agent"] |= {"model_name": started.model, "extra": {"loop": started.loop.value}}
        if self._ended is not None:
            found["extra"] = {"outcome": _outcome(self._ended)}
        return found

    def _add(self, stamped: Stamped, source: str, message: str, extra: Json) -> Json:
        at = datetime.fromtimestamp(stamped.at, UTC).isoformat(timespec="milliseconds")
        step: Json = {"timestamp": at, "source": source, "message": message}
        if extra:
            step["extra"] = extra
        self._steps.append(step)
        return step

    def _extend(self, stamped: Stamped, field: str, text: str) -> None:
        if step := self._open.get(stamped.work):
            step[field] = step.get(field, "") + text

    def _totals(self, steps: int) -> Json:
        paid = [charged.usd for charged in self._charges]
        totals: Json = {
            "total_prompt_tokens": sum(each.tokens_in for each in self._charges),
            "total_completion_tokens": sum(each.tokens_out for each in self._charges),
            "total_cached_tokens": sum(each.tokens_cached for each in self._charges),
            "total_steps": steps,
        }
        known = [usd for usd in paid if usd is not None]
        return totals | ({"total_cost_usd": sum(known)} if len(known) == len(paid) else {})


def _metrics(charged: Charged) -> Json:
    metrics: Json = {
        "prompt_tokens": charged.tokens_in,
        "completion_tokens": charged.tokens_out,
        "cached_tokens": charged.tokens_cached,
    }
    return metrics | ({"cost_usd": charged.usd} if charged.usd is not None else {})


def _call(called: ToolCalled) -> Json:
    given: object = called.arguments
    arguments = cast("Json", given) if isinstance(given, dict) else {"text": given}
    return {"tool_call_id": called.call_id, "function_name": called.tool, "arguments": arguments}


def _outcome(ended: RunEnded) -> Json:
    grade = ended.evidence.grade if ended.evidence is not None else "none"
    return {
        "reason": ended.reason.value,
        "detail": ended.detail,
        "complete": ended.complete,
        "exit_code": ended.exit_code,
        "grade": grade,
        "seconds": ended.seconds,
    }
