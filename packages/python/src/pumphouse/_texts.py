"""Texts of errors: what happened, where, and what to do. Each is one line."""

import errno
import json
import re
import socket
import ssl
from http.client import BadStatusLine, RemoteDisconnected
from typing import TYPE_CHECKING, Any, Mapping, Optional

from .errors import fields_in

if TYPE_CHECKING:
    from ._http import Response

# Characters of an answer that an error shows, and fields that it names.
MAX_SHOWN = 120
MAX_FIELDS = 5
# A body of more bytes may be the reason why a connection was closed: usual proxies take a mebibyte.
LONG_BODY = 1_000_000


def no_connection_text(origin: str, error: OSError, timeout: float) -> str:
    """Args:
    timeout: in seconds.
    """
    where = f"no connection to {origin}"
    if isinstance(error, socket.timeout):
        return f"{where} within {timeout:.3g} s. Check host, port and firewall"
    # An event loop has one error for all addresses of a host.
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return f"{where}: connection refused. Start the server there, or correct the URL"
    if isinstance(error, socket.gaierror):
        return f"{where}: unknown host. Correct the URL"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {origin} is not trusted: {error.verify_message}. Give its CA by ssl_context"
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection to {origin}: {error.reason or error}. Without TLS the URL begins with http://"
    return f"{where}: {error.strerror or error}. Check the network"


def no_answer_text(method: str, url: str, timeout: float) -> str:
    """Args:
    timeout: in seconds.
    """
    return f"no answer to {method} {bare(url)} within {timeout:.3g} s. The server may be overloaded: try again later"


def broken_text(method: str, url: str, error: Exception, size: int) -> str:
    """The connection ended before the answer did, or brought something else.

    Args:
        size: bytes of the body of the request.
    """
    what, call = f"{type(error).__name__}: {error}", f"{method} {bare(url)}"
    if isinstance(error, (RemoteDisconnected, ConnectionResetError, BrokenPipeError)):
        what = "the connection was closed"
        if size > LONG_BODY:
            return f"no answer to {call}: {what}. {too_long_text(size)}"
    elif isinstance(error, BadStatusLine):
        what = "what came is not HTTP"
    else:
        return f"no answer to {call}: {one_line(what)}. Check the network"
    if url.startswith("https"):
        return f"no answer to {call}: {what}. Check the server's log"
    return f"no answer to {call}: {what}. With TLS the URL begins with https://"


def too_long_text(size: int) -> str:
    return f"The body of {size} bytes may be longer than the server or a proxy accepts: send less in one call"


def not_json_text(status: int, place: str, body: bytes) -> str:
    return f"{status} from {place} is no answer of Pumphouse's API: {shown(body)}. {CHECK_URL}"


def refusal_text(
    response: "Response", place: str, namespace: str, code: Optional[str], details: Mapping[str, Any]
) -> str:
    """Args:
    place: method and URL.
    code: that of the server; None if the answer has none, as one of a proxy.
    """
    status, location = response.status, response.headers.get("location")
    source = f"{status} from {place}"
    if 300 <= status < 400 and location is not None:
        return f"{source} leads to {one_line(location)}. The client follows no redirect: correct the URL"
    if code is None and status in (502, 503, 504):
        return f"{source}: {shown(response.body)}. The proxy reaches no server: try again later"
    if code is None:
        return f"{source} is no answer of Pumphouse's API: {shown(response.body)}. {CHECK_URL}"
    said = details.get("detail") or details.get("title") or "refused"
    text = f"{fields_text(details.get('errors')) or one_line(str(said))} ({source})"
    remedies = {
        "token_invalid": f"Make one: pumphouse token create {namespace} -d 'what it is for'",
        "token_missing": "A proxy may have removed the header X-Token",
        "not_found": "The URL of the client ends before /v1" if "/v1/v1/" in place else "",
    }
    return f"{text}. {remedies[code]}" if remedies.get(code) else text


CHECK_URL = "Check host, port and path of the URL; 7777 is the usual port, and 7778 the admin port"


def fields_text(errors: Any) -> str:
    """The fields that the server refused, each with its rule; "" if it names none."""
    pairs = [(one["field"], one["rule"]) for one in fields_in(errors)]
    texts = [one_line(f"{field} {rule}") for field, rule in pairs if field and rule]
    more = [f"and {len(texts) - MAX_FIELDS} more"] if len(texts) > MAX_FIELDS else []
    return "; ".join(texts[:MAX_FIELDS] + more)


def shown(body: bytes) -> str:
    """The beginning of an answer that is none of the API: the title of a page, or its text."""
    text = body[:10_000].decode("utf-8", "replace")
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    text = one_line(title.group(1) if title else re.sub(r"<[^>]*>", " ", text))
    if not text:
        return "an empty answer"
    return json.dumps(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…", ensure_ascii=False)


def one_line(text: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).strip()


def bare(url: str) -> str:
    return url.partition("?")[0]
