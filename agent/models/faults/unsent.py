"""Detect faults before a request is sent: litellm misses credentials or a package, or cannot build the request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol import ModelFault
from .fault_messages import variables_to_check

if TYPE_CHECKING:
    from ..endpoint import Endpoint

_NO_CREDENTIALS = re.compile(
    r"(unable to locate|missing|partial|no|could not (find|load|resolve)( \w+)?) credentials|"
    r"credentials (were |was )?(not found|not set|missing|are required)|missing [\w ]{0,30}(key|token)\b|"
    r"config profile .{0,80} could not be found|(project_id|space_id)[\w ]* not set|failed to get access token|"
    r"(error loading|refreshing) sso token|"
    r"(api[_ -]?key|token|api_base)\b.{0,40}(must be set|not set|not provided|is required|is missing)",
    re.I,
)
_NO_PACKAGE = re.compile(r"No module named '([\w.]+)'")
_PACKAGES = {"google": "google-auth", "vertexai": "google-cloud-aiplatform"}
"""Packages whose name differs from their module's."""
_NO_CHAT = re.compile(r"^Unmapped LLM provider for this endpoint|^LLM Provider NOT provided")
"""litellm's words where it does not find a service of chats under the provider's name, before anything is sent."""
_UNSUPPORTED = re.compile(r"does not support parameters: \[([^\]]*)\]")
_SETTINGS = {"reasoning_effort": "an effort", "tools": "tools", "response_format": "a schema"}
"""Names of litellm's parameters in messages."""
_MISTAKES = frozenset({"AttributeError", "IndexError", "KeyError", "NameError", "TypeError"})
"""Exceptions of litellm's own bugs."""
_REFUSALS = frozenset({"Exception", "ValueError"})
"""Exceptions of litellm for a missing or wrong setting; after a request they mean other things too."""


def without_chat(at: Endpoint) -> str:
    """Return the message that litellm reaches no chat model under the name of this provider."""
    return f"{at.provider} has no chat models: choose a model of another provider with --model (`rundry models`)"


def unsent_fault(texts: Sequence[str], names: set[str], at: Endpoint, *, sent: bool) -> ModelFault | None:
    """Return the fault; None if neither words nor classes (`names`) show that the request could not be built."""
    reported = next((t for t in texts if t), "")
    words = " ".join(texts)
    if not sent and any(_NO_CHAT.search(text) for text in texts):
        return ModelFault("unknown-model", without_chat(at))
    if package := _NO_PACKAGE.search(words):
        module = package[1].partition(".")[0]
        text = f"{at.provider} needs the Python package {_PACKAGES.get(module, module)}: install it next to rundry"
        return ModelFault("bad-request", text)
    if unsupported := _UNSUPPORTED.search(words):
        given = re.findall(r"\w+", unsupported[1])
        refused = " and ".join(_SETTINGS.get(g, f"`{g}`") for g in given)
        fix = ": choose another model" if "tools" in given else ""
        found = ModelFault("bad-request", f"{at.model} at {at.provider} does not accept {refused}{fix}")
        found.words, found.named = words, tuple(given)
        return found
    if _NO_CREDENTIALS.search(words) or "NoCredentialsError" in names:
        variables = variables_to_check(at) or " and ".join(at.key_names[:1])
        fix = f"; set {variables}" if variables and variables not in reported else ""
        return ModelFault("auth", at.redact(f"no credentials for {at.provider}: {reported.rstrip('.')}{fix}"))
    if names & _MISTAKES or (not sent and names & _REFUSALS):
        found = ModelFault("bad-request", at.redact(f"litellm cannot build a request for {at.name}: {reported}"))
        found.words = words
        return found
    return None
