"""Show litellm only the environment variables of the provider that it calls.

litellm and the libraries under it read keys and addresses from `os.environ` by themselves, and use those of one
provider for another: OPENAI_API_KEY where a provider's own key is missing, OPENAI_BASE_URL where its address is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

_variables: ContextVar[Mapping[str, str] | None] = ContextVar("variables_of_provider", default=None)
_OF_NO_PROVIDER = re.compile(
    r"HOME|PATH|LANG|LC_\w+|TZ|USER|LOGNAME|SHELL|PWD|TMPDIR|TEMP|TMP|TERM|XDG_\w+|PYTHON\w+|PYDANTIC_\w+|TIKTOKEN_\w+|"
    r"CUSTOM_TIKTOKEN_CACHE_DIR|(ALL|HTTPS?|NO)_PROXY|SSL_\w+|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|"
    r"LITELLM_LOCAL_MODEL_COST_MAP|LITELLM_MODE|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT|WINDIR",
    re.IGNORECASE,
)
"""Variables that neither hold a provider's key nor name an address of one."""


@contextmanager
def only_variables(variables: Mapping[str, str]) -> Generator[None]:
    """In the block and the tasks that it starts, let `os.environ` have these variables and those of no provider."""
    _install()
    token = _variables.set(variables)
    try:
        yield
    finally:
        _variables.reset(token)


@cache
def _install() -> None:
    os.environ.__class__ = _Environment


class _Environment(os._Environ[str]):  # pyright: ignore[reportPrivateUsage]
    """`os.environ`, in which `only_variables` hides and replaces variables."""

    def __getitem__(self, key: str) -> str:
        variables = _variables.get()
        if variables is not None and not _OF_NO_PROVIDER.fullmatch(key):
            return variables[key]
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        variables = _variables.get()
        if variables is None:
            yield from super().__iter__()
            return
        yield from (name for name in super().__iter__() if _OF_NO_PROVIDER.fullmatch(name))
        yield from (name for name in variables if not _OF_NO_PROVIDER.fullmatch(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)
