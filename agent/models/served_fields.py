"""Read what a model server's answers say about a model: window, size, tools, images, temperature.

Each server has its own fields; a field that is missing or of another type says nothing (None). Sources: llama.cpp's
`tools/server/README.md`, Ollama's `docs/api.md`, LM Studio's REST API (v0 and v1), vLLM's OpenAI-compatible server.
"""

from __future__ import annotations

import re
from typing import Any, cast

from .reported_usage import as_mapping

OLLAMA_CONTEXT = 32_768
"""Context window requested from Ollama if neither the user nor the model's own file sets one. The cache for a model's
whole window would take tens of gigabytes. `--context` requests more."""

_WINDOWS = (
    "loaded_context_length", "max_model_len", "n_ctx", "context_length", "context_window",
    "max_context_length", "n_ctx_train",
)  # fmt: skip
"""Fields with a window, those of the server's current settings before those of the model's training."""
_SIZE = re.compile(r"(?:(?P<experts>\d{1,3})x)?e?(?P<number>\d{1,4}(?:\.\d{1,3})?)(?P<unit>[bmt])", re.IGNORECASE)
_UNITS = {"m": 10**6, "b": 10**9, "t": 10**12}
_LEAST_MILLIONS = 10
"""Smaller millions in a model's name (`1m`) are the length of its window."""
_USES_TOOLS = re.compile(r"\{[%{](?:(?![%}]\}).)*?(?<![\w.'\"])tools(?![\w'\"])", re.DOTALL)
"""A Jinja statement or expression with the variable `tools`, outside of quotes."""


def window_in(row: dict[str, Any]) -> int | None:
    """Return the context window in a row of `/models`: LM Studio, vLLM, llama.cpp (`meta`) or a gateway."""
    fields = {**row, **as_mapping(row.get("meta"))}
    return next((n for name in _WINDOWS if (n := positive(fields.get(name))) is not None), None)


def parameters_in(row: dict[str, Any]) -> int | None:
    """Return the number of weights in a row of a list of models: llama.cpp `meta.n_params`, LM Studio's text."""
    exact = positive(as_mapping(row.get("meta")).get("n_params"))
    return exact if exact is not None else size_in(str(row.get("params_string") or ""))


def abilities_in(row: dict[str, Any]) -> tuple[bool | None, bool | None]:
    """Return whether the `capabilities` of Ollama or LM Studio name tools, and images."""
    given = row.get("capabilities")
    if not isinstance(given, list):
        return None, None
    names = cast(list[object], given)
    return "tools" in names or "tool_use" in names, "vision" in names or row.get("type") == "vlm"


def props_window(props: dict[str, Any] | None) -> int | None:
    """Return the tokens of one slot from llama.cpp's `/props`: the most that a request can use."""
    return positive(_defaults(props).get("n_ctx"))


def props_slots(props: dict[str, Any] | None) -> int | None:
    """Return the number of llama.cpp's slots, or None if it does not say it."""
    return positive(as_mapping(props).get("total_slots"))


def props_temperature(props: dict[str, Any] | None) -> float | None:
    """Return llama.cpp's default temperature. Older builds have it next to `n_ctx`, newer ones in `params`."""
    settings = _defaults(props)
    return _temperature(as_mapping(settings.get("params")).get("temperature", settings.get("temperature")))


def props_know_tools(props: dict[str, Any] | None) -> bool | None:
    """Return whether llama.cpp's chat template shows tools to the model.

    Newer builds have tried it out (`chat_template_caps`); for an older one the template's own text is read.
    """
    said = as_mapping(props)
    caps = as_mapping(said.get("chat_template_caps"))
    for name in ("supports_tools", "supports_tool_calls"):
        if (known := _bool(caps.get(name))) is not None:
            return known
    if said.get("chat_template_tool_use"):
        return True
    template = said.get("chat_template")
    return _USES_TOOLS.search(template) is not None if isinstance(template, str) and template else None


def props_see_images(props: dict[str, Any] | None) -> bool | None:
    """Return whether llama.cpp has loaded a part of the model that reads images."""
    return _bool(as_mapping(as_mapping(props).get("modalities")).get("vision"))


def ollama_window(shown: dict[str, Any]) -> int | None:
    """Return the window that is requested from Ollama: the model file's own, else the trained one with a limit."""
    own = _ollama_setting(shown, "num_ctx")
    if own.isdigit():
        return int(own)
    fields = as_mapping(shown.get("model_info"))
    trained = next((n for k, v in fields.items() if k.endswith(".context_length") and (n := positive(v))), None)
    return None if trained is None else min(trained, OLLAMA_CONTEXT)


def ollama_parameters(shown: dict[str, Any]) -> int | None:
    """Return the number of weights from Ollama's `/api/show`: exact, else rounded as in "1.5B"."""
    exact = positive(as_mapping(shown.get("model_info")).get("general.parameter_count"))
    rounded = str(as_mapping(shown.get("details")).get("parameter_size") or "")
    return exact if exact is not None else size_in(rounded)


def ollama_knows_tools(shown: dict[str, Any]) -> bool | None:
    """Return whether Ollama shows tools to the model. Servers before 0.6.4 have no `capabilities`, but the template."""
    known, _ = abilities_in(shown)
    template = shown.get("template")
    if known is None and isinstance(template, str) and template:
        return ".Tools" in template
    return known


def ollama_temperature(shown: dict[str, Any]) -> float | None:
    """Return the temperature of the model's own file."""
    try:
        return _temperature(float(_ollama_setting(shown, "temperature")))
    except ValueError:
        return None


def size_in(name: str) -> int | None:
    """Return the number of weights that a name or a text gives (`qwen2.5-coder-1.5b-instruct`, `135M`, `8x7B`).

    Only a part of its own between separators counts. A size that is not first, as the active weights of
    `30b-a3b`, does not count.
    """
    for part in re.split(r"[-_:/\\@ ]|\.(?!\d)", name):
        if (found := _SIZE.fullmatch(part)) is None:
            continue
        number, unit = float(found["number"]), found["unit"].lower()
        if number > 0 and (unit != "m" or number >= _LEAST_MILLIONS):
            return round(number * int(found["experts"] or 1) * _UNITS[unit])
    return None


def positive(value: object) -> int | None:
    """Return a positive whole number as it is; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _defaults(props: dict[str, Any] | None) -> dict[str, Any]:
    return dict(as_mapping(as_mapping(props).get("default_generation_settings")))


def _ollama_setting(shown: dict[str, Any], wanted: str) -> str:
    for line in str(shown.get("parameters") or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if name == wanted:
            return value.strip()
    return ""


def _temperature(value: object) -> float | None:
    """Return a temperature, rounded: servers store it as a 32-bit number (0.800000011920929)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 10:
        return None
    return round(float(value), 3)


def _bool(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
