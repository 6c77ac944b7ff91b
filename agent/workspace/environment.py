"""The environment that commands get: the user's, without keys, without a terminal, without what is ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_KEY_NAMES = re.compile(
    r".*_API_?(KEY|TOKEN|SECRET)S?(_.+)?|API_?KEY|AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|ACCESS_KEY_ID|BEARER_TOKEN.*)"
    r"|AZURE_.*(KEY|TOKEN|SECRET)|GOOGLE_APPLICATION_CREDENTIALS|VERTEXAI_.*|(HF|HUGGINGFACE|HUGGING_FACE)_.*TOKEN"
    r"|(ANTHROPIC|CLAUDE|OPENAI|DATABRICKS|WATSONX|REPLICATE)_.*(TOKEN|KEY|SECRET)",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"(RUNDRY|LITELLM|TEXTUAL|TIKTOKEN)_.*|CUSTOM_TIKTOKEN_CACHE_DIR|__PYVENV_LAUNCHER__"
    r"|PYTHON(HOME|SAFEPATH|STARTUP|INSPECT|EXECUTABLE|PLATLIBDIR)"
)
_ASKING = re.compile(
    r"(GIT|SSH|SUDO)_ASKPASS|FORCE_COLOR|CLICOLOR_FORCE|COLUMNS|LINES|BASH_ENV|ENV|PROMPT_COMMAND|PS[0-4]|BASH_FUNC_.*"
    r"|SHELLOPTS|BASHOPTS|STY|TMUX|TMUX_PANE|TERM_PROGRAM.*|COLORTERM"
)
_FIXED = {
    "TERM": "dumb",
    "CI": "true",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
}
"""Nothing may wait for an answer that nobody can give: no pager, no prompt, no editor."""
_SHORTEST_KEY = 8


def command_env(env: Mapping[str, str], *, provider_key_names: Iterable[str] = ()) -> dict[str, str]:
    """The environment of a command: no provider key, under its own name or as another variable's value.

    Also without what is rundry's, what makes a shell run other code first, and what asks a person.
    """
    names = {name for name in env if name in set(provider_key_names) or _KEY_NAMES.fullmatch(name)}
    keys = {env[name] for name in names if len(env[name]) >= _SHORTEST_KEY}
    kept = {
        name: value
        for name, value in env.items()
        if name not in names
        and not _OURS.fullmatch(name)
        and not _ASKING.fullmatch(name)
        and not any(key in value for key in keys)
    }
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **kept, **_FIXED}
