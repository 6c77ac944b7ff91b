"""Log in to servers over HTTP with OAuth, by the SDK: discovery, registration, PKCE, exchange and refresh.

This module imports the SDK, which takes about a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from ...host.internet import is_this_machine
from ...settings.user_folders import locked
from .failed import McpFailed, leaves_of
from .peer import NoPeer
from .private_files import logins_of
from .sdk import HttpProblem, http_session
from .tool_listing import clean
from .traffic import Traffic

if TYPE_CHECKING:
    from ...protocol import McpServer

_PATH = "/callback"
_PERSON_SECONDS = 300.0
_LONGEST_REQUEST = 16_384
_REFUSED = 401, 403


class ServerLogin(OAuthClientProvider):
    """What authenticates the requests to one server. Its tokens are stored for the next run."""

    def __init__(
        self,
        server: McpServer,
        url: str,
        env: Mapping[str, str],
        problem: HttpProblem,
        callback: Callback | None = None,
    ) -> None:
        """`callback`: waits for a person who logs in. None means that a person cannot log in now."""
        self._server, self._url, self._callback, self._problem = server, url, callback, problem
        self._logins = logins_of(env)
        self._refresh_lock = self._logins.path.with_suffix(".refresh")
        uri = callback.uri if callback is not None else f"http://127.0.0.1{_PATH}"
        about = OAuthClientMetadata.model_validate(
            {
                "client_name": "rundry",
                "redirect_uris": [uri],
                "grant_types": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_method": "none",
            }
        )
        super().__init__(
            url,
            about,
            self,
            redirect_handler=None if callback is None else callback.open,
            callback_handler=None if callback is None else callback.wait,
        )
        if callback is None:
            self._load()

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens; a new login does not use them."""
        return self._part("tokens", OAuthToken) if self._callback is None else None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the stored registration, unless a login needs another address on this machine."""
        found = cast("OAuthClientInformationFull | None", self._part("client", OAuthClientInformationFull))
        uris = [str(uri) for uri in cast("list[object]", found.redirect_uris or [])] if found is not None else []
        return found if self._callback is None or self._callback.uri in uris else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, and what a later refresh needs."""
        until = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        context = self.context
        self._store(
            tokens=tokens.model_dump(mode="json"),
            until=until,
            metadata=None if context.oauth_metadata is None else context.oauth_metadata.model_dump(mode="json"),
            resource=None
            if context.protected_resource_metadata is None
            else context.protected_resource_metadata.model_dump(mode="json"),
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the registration."""
        self._store(client=client_info.model_dump(mode="json"))

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the token, and refresh it. Without a person, a server that refuses it is a problem and not a login."""
        for is_last in (False, True):
            lock = await self._lock_refresh()
            flow = super().async_auth_flow(request)
            try:
                outgoing = await anext(flow)
                while True:
                    if outgoing is not request:
                        self._check_place(outgoing)
                    response = yield outgoing
                    if self._callback is None and outgoing is request and response.status_code in _REFUSED:
                        break
                    outgoing = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()
                if lock is not None:
                    lock.__exit__(None, None, None)
            if is_last or response.status_code != _REFUSED[0] or not self.context.can_refresh_token():
                self._problem.text = self._words(response)
                return
            self.context.token_expiry_time = 1.0  # the server revoked the token early

    def _words(self, response: httpx2.Response) -> str:
        lacks_rights = "insufficient_scope" in response.headers.get("www-authenticate", "")
        self._problem.is_login = lacks_rights or response.status_code == _REFUSED[0]
        if response.status_code == _REFUSED[0]:
            return f"it wants a login: run `rundry mcp login {self._server.name}`"
        if lacks_rights:
            return f"it wants a login with more rights: run `rundry mcp login {self._server.name}`"
        return "it refused the request (HTTP status 403)"

    async def _lock_refresh(self) -> AbstractContextManager[None] | None:
        """Hold the lock of refreshing, if the token has expired: another run may have refreshed it meanwhile."""
        if self.context.is_token_valid() or not self.context.can_refresh_token():
            return None
        lock = locked(self._refresh_lock)
        await asyncio.to_thread(lock.__enter__)
        stored = self._part("tokens", OAuthToken)
        if stored is not None and self.context.current_tokens != stored:
            self._load()
        return lock

    def _check_place(self, request: httpx2.Request) -> None:
        """Raise McpFailed for a request of the login to a place that the server may not choose."""
        host, is_local = request.url.host, is_this_machine(urlsplit(self._url).hostname or "")
        if request.url.scheme != "https" and not (is_local and is_this_machine(host)):
            raise McpFailed(f"its login leads to {request.url.scheme}://{clean(host)}, which is not https://")

    def _load(self) -> None:
        """Take over what is stored. The SDK does not keep when a token expires and where it is refreshed."""
        context = self.context
        context.current_tokens = self._part("tokens", OAuthToken)
        context.client_info = self._part("client", OAuthClientInformationFull)
        context.oauth_metadata = self._part("metadata", OAuthMetadata)
        context.protected_resource_metadata = self._part("resource", ProtectedResourceMetadata)
        context.token_expiry_time = cast("float | None", self._stored().get("until"))

    def _stored(self) -> dict[str, Any]:
        return self._logins.load().get(self._server.identity, {})

    def _part(self, name: str, kind: Any) -> Any:  # noqa: ANN401 - models of the SDK
        found = self._stored().get(name)
        with suppress(ValueError):
            return None if found is None else kind.model_validate(found)
        return None

    def _store(self, **parts: object) -> None:
        self._logins.add({self._server.identity: {**self._stored(), **parts}})


class StaticHeader(httpx2.Auth):
    """Explains that a server refuses the header of the config."""

    def __init__(self, problem: HttpProblem) -> None:
        self._problem = problem

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request as it is."""
        response = yield request
        if response.status_code in _REFUSED:
            self._problem.text = f"it does not accept its Authorization header (HTTP status {response.status_code})"


class Callback:
    """Listens on this machine for the browser that comes back from a login."""

    def __init__(self) -> None:
        self.announce: Callable[[str], Awaitable[None]] | None = None
        """Called with the address that the person has to open."""
        self._state = ""
        self._came: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.uri = ""

    async def listen(self, uri: str) -> asyncio.Server:
        """Listen at the address of an earlier registration, or at another port if it is in use."""
        port = urlsplit(uri).port or 0
        try:
            server = await asyncio.start_server(self._answer, "127.0.0.1", port, limit=_LONGEST_REQUEST)
        except OSError:
            server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_LONGEST_REQUEST)
        self.uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}"
        return server

    async def open(self, address: str) -> None:
        """Show the address of the login to the person."""
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[0]
        if self.announce is not None:
            await self.announce(address)

    async def wait(self) -> AuthorizationCodeResult:
        """Wait until the browser comes back. Raises McpFailed."""
        try:
            async with asyncio.timeout(_PERSON_SECONDS):
                found = await self._came
        except TimeoutError:
            raise McpFailed(f"nobody logged in within {_PERSON_SECONDS:g} s") from None
        if "code" not in found:
            why = " ".join(clean(found.get(key, "")) for key in ("error", "error_description")).strip()
            raise McpFailed(f"the login was refused: {why[:300] or 'no code came back'}")
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request. Only one with the state of this login counts."""
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline()).decode("latin-1")
                while (await reader.readline()).strip():
                    pass
            words = line.split()
            target = urlsplit(words[1]) if len(words) == 3 and words[0] == "GET" else None
            found = {key: values[0] for key, values in parse_qs(target.query).items()} if target is not None else {}
            is_ours = target is not None and target.path == _PATH and self._state and found.get("state") == self._state
            if is_ours and not self._came.done():
                self._came.set_result(found)
            status = "200 OK" if is_ours else "400 Bad Request"
            text = "You can close this page; rundry has the answer." if is_ours else "This is not the login of rundry."
            head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {len(text)}\r\n"
            writer.write(f"{head}connection: close\r\n\r\n{text}".encode())
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # a port scanner, or a browser that went away
        finally:
            writer.close()


async def log_in(
    server: McpServer,
    url: str,
    headers: Mapping[str, str],
    env: Mapping[str, str],
    announce: Callable[[str], Awaitable[None]],
) -> bool:
    """Log in to a server and store its tokens. Returns False if it wants no login. Raises McpFailed."""
    callback, problem = Callback(), HttpProblem()
    callback.announce = announce
    stored = logins_of(env).load().get(server.identity, {})
    uris = cast("dict[str, list[str]]", stored.get("client") or {}).get("redirect_uris") or [""]
    listening = await callback.listen(uris[0])
    try:
        auth = ServerLogin(server, url, env, problem, callback)
        async with http_session(url, headers, Traffic(), NoPeer(), auth=auth, problem=problem) as session:
            await session.begin()
            await session.list_tools()
    except Exception as error:
        raise _as_failed(error) from error
    finally:
        listening.close()
    return auth.context.current_tokens is not None


def _as_failed(error: BaseException) -> McpFailed:
    """Return the first error that says something, of a group."""
    leaves = leaves_of(error)
    known = next((one for one in leaves if isinstance(one, McpFailed)), None)
    if known is not None:
        return known
    flow = next((one for one in leaves if isinstance(one, OAuthFlowError)), leaves[0])
    return McpFailed(f"the login failed: {clean(str(flow))[:300] or type(flow).__name__}")
