"""Recognize a redirect that hides a page behind a login or a notice."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_WORDS = re.compile(r"(?<![a-z])(?:log[-_]?[io]n|sign[-_]?in|sso|oauth2?|saml2?)(?![a-z])")
_HOSTS = re.compile(r"(?:login|signin|sso|auth|accounts|idp)\.")


def asks_login(url: str, target: str) -> bool:
    """Return whether a redirect from one URL to another asks for something, mostly a login, before it shows the page.

    Its target names the page to return to, or has the name of a login where the page has not.
    """
    page, to = urlsplit(url), urlsplit(target)
    back = {url, url.partition("?")[0], page.path, f"{page.path}?{page.query}"} - {"/", "", "/?"}
    if any(value in back for _, value in parse_qsl(to.query)):
        return True
    if page.netloc != to.netloc and _HOSTS.match(to.netloc.lower()):
        return True
    return _WORDS.search(to.path.lower()) is not None and _WORDS.search(page.path.lower()) is None
