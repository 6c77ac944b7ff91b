"""Find the kind of a fault from its status and the provider's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .overflow import is_overflow

if TYPE_CHECKING:
    from ...protocol import FaultKind
    from .reported import ReportedError

_QUOTA = re.compile(
    r"insufficient_quota|insufficient (balance|credits|funds)|credit balance is too low|billing_hard|"
    r"(monthly|spending|usage) (spend )?limit|out of credits|more credits|exceeded_current_quota|arrearage|"
    r"payment.required|no (active )?subscription",
    re.I,
)
_PLAN = re.compile(r"exceeded your current quota", re.I)
_SOON = re.compile(r"per.?minute", re.I)
_LATER = re.compile(r"per.?day|\blimit: 0\b", re.I)
"""Google names a short wait also for a quota of a day, and for a model that the plan does not include."""
_FILTER = re.compile(
    r"content_filter|content_policy|content management policy|ContentPolicyViolation|flagged|"
    r"safety (system|filter|setting)|responsible.?ai|prohibited_content|guardrail|data_inspection_failed",
    re.I,
)
_UNKNOWN = re.compile(
    r"model\b.{0,120}(not found|does not exist|doesn't exist|is not available|unknown|was removed|not_found|"
    r"has been (deprecated|decommissioned|retired))|"
    r"(unknown|invalid|no such|unsupported) model|model_not_found|model_not_supported|LLM Provider NOT provided|"
    r"is not a valid model|model identifier is invalid|DeploymentNotFound|model `?[\w./:-]+`? is not supported$",
    re.I | re.S,
)
_KEY = re.compile(
    r"api[_ ]key.{0,60}(must be set|missing|not provided|required|not valid|invalid|incorrect|expired)|"
    r"(missing|incorrect|invalid|no valid|wrong|expired|bad).{0,40}"
    r"(api[_ ]?key|x-api-key|credentials|auth(entication)? token)|"
    r"invalid_api_key|authentication_error|API_KEY_INVALID|UNAUTHENTICATED|unauthorized|"
    r"security token.{0,40}(invalid|expired)|signature we calculated does not match|UnrecognizedClient",
    re.I,
)
_RATE = re.compile(r"rate.?limit|RESOURCE_EXHAUSTED|too many requests|throttl|please wait", re.I)
_TOOLS = re.compile(r"does not support (tools|function|tool)|tools? (is|are|use is) not supported", re.I)
_STATUSES_OF_OVERFLOW = (None, 400, 413, 422, 424, 429, 500)
RETRYABLE = frozenset({"rate-limit", "server", "timeout", "stalled", "cut"})


def kind_of(reported: ReportedError, status: int | None, *, begun: bool) -> FaultKind:
    """Return the kind of an error that a server reported. `begun`: part of the answer had arrived."""
    words, status = reported.all, reported.status if status in (None, 200) else status
    if status in _STATUSES_OF_OVERFLOW and is_overflow(
        reported.whole, reported.codes, reported.fields, is_rate_limited=status == 429
    ):
        return "context"
    if status == 402 or _QUOTA.search(words) or (status == 429 and _PLAN.search(words) and not _ends_soon(reported)):
        return "quota"
    if status == 429:
        return "rate-limit"
    if status in (401, 403) or (_KEY.search(words) and status in (None, 400, 404, 422)):
        return "filtered" if status == 403 and _FILTER.search(words) else "auth"
    if status in (408, 504):
        return "timeout"
    if status == 424:  # Bedrock: the model failed, "retry your request"
        return "cut" if begun else "server"
    if status is not None and 400 <= status < 500:
        return _refused(words, status)
    if status is None and _FILTER.search(words):
        return "filtered"
    if status is None and _RATE.search(words):
        return "rate-limit"
    if status is None and _TOOLS.search(words):
        return "bad-request"
    if begun and (status is None or status >= 500):
        return "cut"
    return "server"


def _ends_soon(reported: ReportedError) -> bool:
    """Return whether an exceeded quota is available again within minutes."""
    if _LATER.search(reported.all) and not _SOON.search(reported.all):
        return False
    return reported.delay is not None or _SOON.search(reported.all) is not None


def _refused(words: str, status: int) -> FaultKind:
    """Find a 4xx error's kind from its words."""
    if _TOOLS.search(words):
        return "bad-request"
    if _FILTER.search(words):
        return "filtered"
    if status == 413:
        return "context"
    if status == 404 or _UNKNOWN.search(words):
        return "unknown-model"
    if _RATE.search(words):
        return "rate-limit"
    return "bad-request"
