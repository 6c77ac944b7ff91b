"""The tool `fetch_url`: return a page as bounded text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...host.terminal_text import plain
from ...protocol.text.shorten_text import noted_cut
from ..fit_text import LONGEST_LINE, fitting, lines_of
from ..tool_result import ToolResult, failure
from ..web.foreign_text import fenced
from .fetching import SECONDS

if TYPE_CHECKING:
    from ..tool_arguments import FetchUrl
    from ..tool_context import ToolContext
    from .fetching import Fetched


async def fetch_url(args: FetchUrl, ctx: ToolContext) -> ToolResult:
    """Return the page's text, bounded, and how to read the rest."""
    if ctx.fetcher is None:
        return failure("fetch_url is off: the person did not list any hosts", "off")
    return page_result(await ctx.fetcher.fetch(args.url.strip(), seconds=ctx.bounded_seconds(SECONDS)), ctx)


def page_result(got: Fetched, ctx: ToolContext) -> ToolResult:
    """Return what was fetched, fenced and bounded. The whole page is stored, if it is longer."""
    if not got.is_foreign:
        return ToolResult(ok=False, text=got.text, summary=got.summary)
    whole = got.text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace")
    lines, summary = lines_of(plain(whole)), f"{got.summary}, foreign text"
    count = fitting(lines, ctx.limit)
    if count == len(lines) and len(lines[0]) <= ctx.limit:
        return ToolResult(ok=got.ok, text=fenced("\n".join(lines)), summary=summary)
    sha = ctx.blobs.keep(whole)
    shown = [noted_cut(line, LONGEST_LINE) for line in lines[:count]]
    more = f'[the whole page is stored: use read_file with path "{ctx.register_page(sha)}" and start_line={count + 1}]'
    return ToolResult(ok=got.ok, text=f"{fenced(chr(10).join(shown))}\n{more}", summary=summary, full=sha)
