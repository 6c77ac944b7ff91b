"""The error of a server that cannot be used."""

from __future__ import annotations

from typing import cast

from ...protocol import RundryError


class McpFailed(RundryError):
    """A server did not start, broke the protocol, sent too much, or ended. The text says which, in one line."""


class McpGone(McpFailed):
    """A server ended or closed the connection. It can be started again."""


def leaves_of(error: BaseException) -> list[BaseException]:
    """Return the errors of a group and of the groups in it, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return [leaf for one in inner for leaf in leaves_of(one)]
    return [error]
