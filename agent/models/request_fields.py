"""Leave out or replace the request fields that a model's server refuses.

Each is stored and reported to the user once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from .faults.refused_names import is_too_small, largest_accepted, refused_names
from .learned import learn, learned

if TYPE_CHECKING:
    from ..protocol import FaultKind, ModelFault
    from .endpoint import Endpoint

OUTPUT_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens", "options.num_predict"})
"""Fields that limit the answer."""
CHAT, RESPONSES = "/chat/completions", "/responses"
"""The endpoints of OpenAI's two APIs. A server that refuses a model at one of them is asked at the other."""
_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_WEAKER: dict[str, tuple[str, Any]] = {
    "response_format": ("json_object", {"type": "json_object"}),
    "text.format": ("json_object", {"type": "json_object"}),
    "format": ("json_object", "json"),
    "stream_options": ("include_usage", {"include_usage": True}),
}
"""Weaker fields to send instead: JSON instead of a JSON Schema, the usage at the end instead of in each piece."""
_TABLES = ("options", "output_config", "reasoning", "text")
"""Fields whose own fields are refused one by one."""
REFUSALS: frozenset[FaultKind] = frozenset({"bad-request", "unknown-model", "server"})
"""The faults with which servers refuse a parameter: mostly 400 and 422, llama-cpp-python 500."""
_NO_ENDPOINT = (404, 405, 501)
_NOT_SERVED = re.compile(r"\b(?:not|un)\W?(?:supported|accessible|available)\b|\bonly supported\b", re.I)


class RequestFields:
    """The optional fields of the requests to one model, as far as its server accepts them.

    Each refusal changes the requests of the whole run. It is remembered for later runs after an answer has shown that
    the server accepts the rest, and taken back if the server repeats the same error.
    """

    def __init__(self, at: Endpoint, env: Mapping[str, str] | None, *, needs_limit: bool = False) -> None:
        """`env`: None where nothing is remembered. `needs_limit`: the server needs a limit of the answer."""
        self._at = at
        self._needs_limit = needs_limit
        self._env = env
        self.refused: dict[str, str] = {} if env is None else dict(learned(self._server, at.model, env).refused)
        """Each refused field, and what is sent instead: another field, another value, or nothing."""
        self._unproven: dict[str, str] = {}
        """Fields that were refused since the last answer, and the words of the refusal."""
        self._kept: set[str] = set()
        """Fields whose absence made no difference."""

    @property
    def _server(self) -> str:
        return self._at.api_base or self._at.provider

    @property
    def limits_output(self) -> bool:
        """Whether the server accepts a limit of the answer's length."""
        return all(self._form_of(name, 1) is not None for name in OUTPUT_LIMITS)

    @property
    def largest_output(self) -> int | None:
        """The largest limit of the answer that the server accepts, or None if it has not refused one."""
        return min((int(self.refused[n]) for n in OUTPUT_LIMITS if self.refused.get(n, "").isdigit()), default=None)

    @property
    def uses_responses(self) -> bool | None:
        """Whether the server wants this model at its Responses API, or None if it has not refused an endpoint."""
        if CHAT in self.refused:
            return True
        return False if RESPONSES in self.refused else None

    def remembered_notes(self) -> list[str]:
        """Return what the user asked for and an earlier run found to be refused, one line each."""
        if self._at.effort is None or not any(_is_effort(n) and not instead for n, instead in self.refused.items()):
            return []
        return [f"{self._server} has refused an effort for {self._at.model}: --effort {self._at.effort} is ignored"]

    def fit(self, body: Mapping[str, Any], required: Collection[str], sent: dict[str, Any]) -> dict[str, Any]:
        """Return the body as the server accepts it.

        `sent` gets its optional fields: all but `required` ones and the user's. A field of a table is `TABLE.FIELD`.
        """
        out: dict[str, Any] = {}
        for name, value in body.items():
            if name in required:
                out[name] = value
            elif name in _TABLES and isinstance(value, dict):
                table = cast("dict[str, Any]", value)
                fitted = self._fit_fields({f"{name}.{field}": v for field, v in table.items()}, required, sent)
                if fitted or not table:
                    out[name] = {path.partition(".")[2]: v for path, v in fitted.items()}
            else:
                out |= self._fit_fields({name: value}, required, sent)
        return out

    def _fit_fields(self, fields: dict[str, Any], required: Collection[str], sent: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in fields.items():
            if name in required or self._is_users(name):
                out[name] = value
            elif (form := self._form_of(name, value)) is not None:
                out[form[0]] = sent[form[0]] = form[1]
        return out

    def settle(self, fault: ModelFault, sent: Mapping[str, Any], spellings: Mapping[str, Collection[str]]) -> None:
        """Change later requests as the fault asks, and mark it `try_again`. Another fault stays as it is.

        `spellings`: for each sent field the names under which litellm sent it.
        """
        if fault.kind not in REFUSALS:
            return
        words = re.sub(rf"(?<!\w){re.escape(self._at.model)}(?!\w)", "", fault.words)
        named = refused_names(words, fault.named, {name: _forms(name, sent, spellings) for name in sent})
        names = [name for name in named if name not in self._kept and self._can_change(name, sent[name], words)]
        if names:
            said = [self._refuse(name, sent[name], words) for name in names]
            _ask_again(fault, " and ".join(said))
        elif not named:
            self._take_back(words)
            self._name_the_users_own(fault, words)

    def settle_endpoint(self, fault: ModelFault, *, is_responses: bool) -> None:
        """Ask the other endpoint from now on if the fault says that this one does not serve the model."""
        if fault.try_again or fault.retryable:
            return
        here, there = (RESPONSES, CHAT) if is_responses else (CHAT, RESPONSES)
        if there in self.refused:
            if there in self._unproven:  # the model is at neither
                self._kept.add(there)
                self.refused.pop(there)
                self._unproven.pop(there)
        elif here not in self._kept and self._is_elsewhere(fault, is_responses=is_responses):
            self.refused[here] = there
            self._unproven[here] = fault.words
            _ask_again(fault, f"at {there}")

    def _is_elsewhere(self, fault: ModelFault, *, is_responses: bool) -> bool:
        if not is_responses:
            names_this = CHAT in fault.words and _NOT_SERVED.search(fault.words) is not None
            return names_this or RESPONSES in fault.words
        is_missing = fault.status in _NO_ENDPOINT and self._at.model not in fault.words
        return self._at.api_base is not None and (is_missing or CHAT in fault.words)

    async def answered(self) -> None:
        """Remember the refusals: the server has answered a request without these fields."""
        if not self._unproven:
            return
        proven = {name: self.refused[name] for name in self._unproven}
        self._unproven = {}
        if self._env is not None:
            await asyncio.to_thread(learn, self._server, self._at.model, self._env, refused=proven)

    def _form_of(self, name: str, value: object) -> tuple[str, object] | None:
        """Return the name and value that the server accepts, or None if the field is left out."""
        while name in self.refused:
            instead = self.refused[name]
            if instead.isdigit():
                return name, min(value, int(instead)) if isinstance(value, int) else value
            if instead == _RENAMED.get(name):
                name = instead
            elif instead and name in _WEAKER:
                return name, _WEAKER[name][1]
            else:
                return None
        return name, value

    def _refuse(self, name: str, value: object, words: str) -> str:
        """Record that the server refuses this field. Return how the next request differs."""
        if self._form_of(name, value) == (name, value):  # otherwise another call was refused before this one
            self.refused[name] = self._instead(name, value, words)
            self._unproven[name] = words
        form = self._form_of(name, value)
        if form is None:
            effort = f" (--effort {self._at.effort})" if self._at.effort and _is_effort(name) else ""
            return f"without {name}{effort}"
        if form[0] != name:
            return f"with {form[0]} instead of {name}"
        return f"with {name} {self.refused[name]}"

    def _can_change(self, name: str, value: object, words: str) -> bool:
        if name not in OUTPUT_LIMITS or not isinstance(value, int):
            return True
        return not is_too_small(words) and (not self._needs_limit or largest_accepted(words, value) is not None)

    def _instead(self, name: str, value: object, words: str) -> str:
        before = self.refused.get(name)
        if name in OUTPUT_LIMITS and isinstance(value, int):
            other = _RENAMED.get(name, "")
            is_too_large = before is None and not (other and other in words)
            if is_too_large and (largest := largest_accepted(words, value)) is not None:
                return str(largest)
            return "" if other in self.refused else other
        weaker, instead = _WEAKER.get(name, ("", value))
        return weaker if before is None and value != instead else ""

    def _take_back(self, words: str) -> None:
        """Send fields again whose absence made no difference: the server repeats the same words."""
        for name in [name for name, refusal in self._unproven.items() if refusal == words]:
            self._kept.add(name)
            self.refused.pop(name)
            self._unproven.pop(name)

    def _is_users(self, name: str) -> bool:
        table, _, field = name.rpartition(".")
        given: object = self._at.params.get(table) if table else self._at.params
        return isinstance(given, dict) and field in given

    def _name_the_users_own(self, fault: ModelFault, words: str) -> None:
        """Name the parameters of the user that the fault is about: they are never left out without the user."""
        if own := refused_names(words, fault.named, {name: (name, *_inner(v)) for name, v in self._at.params.items()}):
            fault.text = f"{fault.text}; you set {' and '.join(own)} yourself: remove it from `params` in [model]"


def _ask_again(fault: ModelFault, how: str) -> None:
    fault.text = f"asked again {how}: {fault.text}"  # what changed comes first, because views cut the line
    fault.try_again = True


def _is_effort(name: str) -> bool:
    return name.endswith(("effort", "think", "thinking"))


def _forms(name: str, sent: Mapping[str, Any], spellings: Mapping[str, Collection[str]]) -> list[str]:
    """Return the names and values by which a server can mean the field, its own name first."""
    return list(dict.fromkeys([name, *name.split("."), *_inner(sent[name]), *spellings.get(name, ())]))


def _inner(value: object, depth: int = 0) -> list[str]:
    """Return the names and values within a field that no other field can have."""
    if isinstance(value, str):
        return [value] if "_" in value or (depth == 0 and len(value) > 3) else []
    if not isinstance(value, dict) or depth > 1:
        return []
    table = cast("dict[str, Any]", value)
    names = [key for key in table if "_" in key]
    return names + [form for key, inner in table.items() if key != "schema" for form in _inner(inner, depth + 1)]
