"""The tools `fetch_url` and `web_search`: their drafts for the gate, and the requests that were approved."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..gate.draft import WebDraft
from ..gate.web_policy import is_local, named_addresses
from ..host.internet import address_in_entry, is_loopback
from ..host.terminal_text import plain
from ..protocol.text.counts import plural
from .reading.fetch_url import page_result
from .reading.fetching import SECONDS, Fetcher
from .tool_result import ToolResult, failure
from .web.foreign_text import fenced
from .web.search_providers import SearchFailed, search_url, search_web
from .web.urls import UrlRefused, normalized_url, origin, target_of

if TYPE_CHECKING:
    from ..host.address_hosts import Target
    from ..protocol import WebSearchSpec
    from .tool_arguments import FetchUrl, WebSearch
    from .tool_context import ToolContext
    from .web.request_gate import Web

_LONG = 500
"""Characters behind the host from which a person looks at the URL, because it can carry data."""
_LONGEST_QUERY = 400
"""Characters of a query that Brave Search accepts."""


def plan_fetch(args: FetchUrl, ctx: ToolContext) -> WebDraft | ToolResult:
    """Plan the request of a page."""
    web = ctx.web
    if web is None:
        return failure("fetch_url is off here", "off")
    try:
        url = normalized_url(args.url.strip())
        target = target_of(url)
    except UrlRefused as refused:
        return failure(f"refused: {refused}", "refused")
    sent = (args.url, url, unquote(url))
    if secret := _secret(web, *sent):
        return secret
    doubts = _doubts(web, *sent)
    if (more := len(url) - len(origin(url))) > _LONG:
        doubts.append(f"the URL has {more:,} characters behind the host, which can carry data")
    return WebDraft(tool="fetch_url", url=url, target=target, notes=_notes(url, target), doubts=doubts)


def plan_search(args: WebSearch, ctx: ToolContext) -> WebDraft | ToolResult:
    """Plan a search at the provider of the user's config."""
    web = ctx.web
    if web is None or web.search is None:
        return failure("web_search is off: the person named no provider", "off")
    query = " ".join(args.query.split())
    if not query or len(query) > _LONGEST_QUERY:
        return failure(f"the query has {len(query):,} characters: use 1 to {_LONGEST_QUERY}", "wrong query")
    if web.search.key_from is not None and not _key(web, web.search):
        return failure(f"{web.search.key_from} is not set: the person sets it where rundry starts", "no key")
    if secret := _secret(web, query):
        return secret
    try:
        url = normalized_url(search_url(web.search, query))
        target = target_of(url)
    except UrlRefused as refused:
        return failure(f"web_search is off: api_base in [search] cannot be used: {refused}", "off")
    return WebDraft(
        tool="web_search",
        url=url,
        target=target,
        query=query,
        doubts=_doubts(web, query),
        is_configured=True,
    )


async def carry_out_request(draft: WebDraft, note: str, ctx: ToolContext) -> ToolResult:
    """Make the request that was approved. `note`: the person's comment."""
    result = await (_search(draft, ctx) if draft.query else _fetch(draft, ctx))
    return result.with_notes([note] if note else [])


class ApprovedServer(Fetcher):
    """Fetches from the server that was approved: a redirect to another host, port or scheme is another request."""

    def __init__(self, url: str, addresses: frozenset[str]) -> None:
        """`url`: normalized. `addresses`: local ones to which its host may resolve."""
        self._approved = origin(url)
        super().__init__([self._approved.partition("://")[2]], addresses=addresses)

    def why_not(self, url: str, came: str) -> str | None:
        """Return how to request a page of another server, or None for the approved one."""
        if origin(url) == self._approved:
            return None
        shown = url if len(url) <= _LONG else f"{origin(url)} (its URL is too long to be shown)"
        where = "another host, port or scheme, which was not asked"
        return f"{came} redirects to {where}: call fetch_url with {shown} if you need that"


async def _fetch(draft: WebDraft, ctx: ToolContext) -> ToolResult:
    named = named_addresses(ctx.rules, draft.tool, draft.target.port)
    if is_loopback(draft.target.host) and (address := address_in_entry(draft.target.host)) is not None:
        named |= {address}  # it was approved as it is written
    fetcher = ApprovedServer(draft.url, named)
    return page_result(await fetcher.fetch(draft.url, seconds=ctx.bounded_seconds(SECONDS)), ctx)


async def _search(draft: WebDraft, ctx: ToolContext) -> ToolResult:
    web = ctx.web
    assert web is not None and web.search is not None  # else there is no draft
    key = _key(web, web.search)
    try:
        found = await search_web(web.search, draft.url, draft.query, key=key, seconds=ctx.bounded_seconds(SECONDS))
    except SearchFailed as error:
        said = plain(str(error))
        said = said.replace(key, "***") if key else said
        return failure(f"the search at {draft.host} failed.\n{fenced(said)}", "search failed")
    if not found:
        return ToolResult(ok=True, text=f"{draft.host} found nothing for this query.", summary="nothing found")
    rows = [f"{at}. {one.title}\n   {one.url}\n   {one.text}".rstrip() for at, one in enumerate(found, 1)]
    text = plain("\n".join(rows))[: ctx.limit]
    return ToolResult(ok=True, text=fenced(text), summary=f"{plural(len(found), 'result')}, foreign text")


def _key(web: Web, search: WebSearchSpec) -> str:
    return "" if search.key_from is None else web.env.get(search.key_from, "").strip()


def _secret(web: Web, *texts: str) -> ToolResult | None:
    """Return the refusal of texts of which one contains a secret of this machine, or None."""
    if all(web.redactor.known(text) == text for text in texts):
        return None
    why = "refused: it contains a key or password of this machine. Nothing was sent. Do not repeat it."
    return failure(why, "refused")


def _doubts(web: Web, *texts: str) -> list[str]:
    return [] if all(web.redactor(text) == text for text in texts) else ["it contains something that looks like a key"]


def _notes(url: str, target: Target) -> list[str]:
    """Return what a person should know about a host."""
    notes = list[str]()
    if "xn--" in target.host:
        notes.append(f"the name of the host has other letters than ASCII: it is shown as {_decoded(target.host)}")
    if _is_address(target.host):
        notes.append("the host is an address, not a name")
    if url.startswith("http://") and not is_local(target):
        notes.append("the request is not encrypted")
    return notes


def _decoded(host: str) -> str:
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return "a name that cannot be decoded"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
