"""Write the message about a fault for the person: what is wrong, in the provider's words, and how to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol import FaultKind, ModelFault, duration
from ..endpoint import NO_KEY
from ..litellm_use.env_settings import usual_variables
from .fault_kinds import RETRYABLE

if TYPE_CHECKING:
    from ..endpoint import Endpoint
    from .reported import ReportedError


def fault(
    kind: FaultKind,
    words: str,
    at: Endpoint,
    *,
    status: int | None = None,
    after: float | None = None,
    reported: ReportedError | None = None,
) -> ModelFault:
    """Return the fault with its message. `words`: the provider's sentence; keys in it are hidden."""
    text = at.redact(_line(kind, words, at, after))
    found = ModelFault(kind, text, retryable=kind in RETRYABLE, status=status, retry_after=after)
    if reported is not None:
        found.words, found.named = reported.all, reported.fields
    return found


def variables_to_check(at: Endpoint) -> str:
    """Return the variables with the credentials of a provider that needs several; empty for one with a single key."""
    return "" if at.key_is_named else usual_variables(at.provider)


def _line(kind: FaultKind, words: str, at: Endpoint, after: float | None) -> str:
    place = at.api_base or at.provider
    wait = "" if after is None else f", asks to wait {duration(after)}"
    keys = variables_to_check(at) or " or ".join(at.key_names) or "the key"
    reported = f": {words}" if words else ""
    match kind:
        case "rate-limit":
            return f"{place} limits the rate{wait}{reported}"
        case "quota":
            return f"the account at {place} is out of quota{reported}"
        case "auth" if at.key == NO_KEY:
            return f"{place} asks for a key, and none was sent; name its variable as key_from in your config{reported}"
        case "auth":
            return f"{place} refuses the key; check {keys}{reported}"
        case "unknown-model":
            return f"{place} does not know the model {at.model}; `rundry models` lists what is reachable{reported}"
        case "context":
            return f"the prompt is too long for {at.model}{reported}"
        case "bad-reply":
            return f"{place} does not answer like a model server; check --api-base{reported}"
        case "cut":
            return f"the answer broke off{reported}"
        case _:
            return f"{place}{reported}" if words else f"{place} reports an error without a text"
