"""Ask a search provider, and read its answer: SearXNG, Brave Search or Tavily."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never, cast
from urllib.parse import urlencode

import msgspec

from ...host.tls import tls
from ...protocol.text.broken_json import BROKEN_JSON
from ...protocol.text.shorten_text import end_cut
from .web_requests import UnreadableBody, bounded_body, open_session, status_text

if TYPE_CHECKING:
    from ...protocol import SearchProvider, WebSearchSpec

_MOST = 10
"""Results of one search."""
_LARGEST = 2_000_000
"""Bytes of an answer that are read."""
_LONGEST = 600
"""Characters of the text of one result."""
_LONGEST_REASON = 200
_MOVED = range(300, 400)
_TAG = re.compile(r"</?(?:strong|b|em|mark|span)\b[^>]*>")
_FORMAT_OFF = "its JSON format is off: the person can add `json` to `search.formats` in its settings.yml"


class SearchFailed(Exception):
    """The provider did not answer with results; the message says why, and contains no key."""


class Found(msgspec.Struct, frozen=True):
    """A page that a provider found."""

    title: str
    url: str
    text: str


def search_url(search: WebSearchSpec, query: str) -> str:
    """Return the URL of a search. A provider that is asked with POST gets the words in the body."""
    match search.engine:
        case "searxng":
            # https://docs.searxng.org/dev/search_api.html
            return f"{search.api_base}/search?{urlencode({'q': query, 'format': 'json'})}"
        case "brave":
            # https://api-dashboard.search.brave.com/api-reference/web/search/get
            given = urlencode({"q": query, "count": _MOST, "text_decorations": "false"})
            return f"{search.api_base}/res/v1/web/search?{given}"
        case "tavily":
            # https://docs.tavily.com/documentation/api-reference/endpoint/search
            return f"{search.api_base}/search"
        case _:
            assert_never(search.engine)


async def search_web(search: WebSearchSpec, url: str, query: str, *, key: str, seconds: float) -> list[Found]:
    """Return the results. `url`: from `search_url`. Redirects are not followed. Raises SearchFailed."""
    from aiohttp import ClientError, TCPConnector
    from yarl import URL

    is_post = search.engine == "tavily"
    body = msgspec.json.encode({"query": query, "max_results": _MOST}) if is_post else None
    connector = TCPConnector(use_dns_cache=False, force_close=True, ssl=tls())
    try:
        async with (
            asyncio.timeout(seconds),
            open_session(connector, seconds, agent="web_search") as session,
            session.request(
                "POST" if is_post else "GET",
                URL(url, encoded=True),
                data=body,
                headers=_headers(search.engine, key),
                allow_redirects=False,
            ) as answer,
        ):
            content, _ = await bounded_body(answer, _LARGEST)
            status, phrase = answer.status, answer.reason
    except TimeoutError:
        raise SearchFailed(f"the search timed out after {seconds:g} s") from None
    except UnreadableBody as unreadable:
        raise SearchFailed(f"the answer cannot be read: {unreadable}") from None
    except (ClientError, OSError, ValueError) as error:
        why = end_cut(" ".join(str(error).split()), _LONGEST_REASON) or type(error).__name__
        raise SearchFailed(f"the connection failed: {why}") from None
    try:
        parsed: Any = msgspec.json.decode(content)
    except BROKEN_JSON:
        parsed = None
    if not 200 <= status < 300:
        raise SearchFailed(_why_refused(search.engine, status, status_text(status, phrase), _table(parsed)))
    if not isinstance(parsed, dict):
        raise SearchFailed("the answer is not JSON: look at the address of the provider in [search]")
    return _results(search.engine, _table(cast(object, parsed)))


def _headers(provider: SearchProvider, key: str) -> dict[str, str]:
    headers = {"Accept": "application/json"}
    match provider:
        case "searxng":
            pass
        case "brave":
            headers["X-Subscription-Token"] = key
        case "tavily":
            headers |= {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        case _:
            assert_never(provider)
    return headers


def _why_refused(provider: SearchProvider, status: int, words: str, answer: Mapping[str, object]) -> str:
    if status in _MOVED:
        return f"it answers {words}, and redirects of a search are not followed: set `api_base` in [search]"
    if provider == "searxng":
        return f"it answers {words}" + (f"; maybe {_FORMAT_OFF}" if status == 403 else "")
    stated = _table(answer.get("detail")).get("error") if provider == "tavily" else _table(answer.get("error"))
    if isinstance(stated, Mapping):
        fields = cast("Mapping[str, object]", stated)
        stated = ": ".join(text for name in ("code", "detail") if (text := _line(fields.get(name))))
    reason = end_cut(_line(stated), _LONGEST_REASON)
    return f"it answers {words}" + (f" ({reason})" if reason else "")


def _results(provider: SearchProvider, answer: Mapping[str, object]) -> list[Found]:
    rows = _table(answer.get("web")).get("results") if provider == "brave" else answer.get("results")
    text = "description" if provider == "brave" else "content"
    found = list[Found]()
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        fields = _table(row)
        url = _line(fields.get("url"))
        if url.startswith(("http://", "https://")) and len(found) < _MOST:
            words = end_cut(_line(fields.get(text)), _LONGEST)
            found.append(Found(end_cut(_line(fields.get("title")), _LONGEST_REASON), url, words))
    return found


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _line(value: object) -> str:
    """Return a text in one line, without the tags with which providers mark the words of the query."""
    return " ".join(_TAG.sub("", value).split()) if isinstance(value, str) else ""
