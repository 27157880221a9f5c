"""The way to a collector of metrics: one deadline for all of an exchange, and answers of bounded length.

What comes back is status and reason; the body of an answer is not read. No proxy is used.
"""

import base64
import os
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from loadcurve.loads.tls import TlsTable
from loadcurve.redaction import remember, remember_url
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.transport import CLEAR_TEXT, Transport

_PORTS = {"http": 80, "https": 443}
_REASON_CHARACTERS_MAX = 1000
_VARIABLES_WITH_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")
"""What OpenTelemetry's library takes header fields from, such as an API key."""


def remember_secrets(url: str) -> None:
    """Keep out of messages what the URL of a collector and the environment hold for logging in there."""
    remember_url(url)
    parts = urlsplit(url)
    if parts.password:
        login = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        remember(base64.b64encode(login.encode()).decode())
    for variable in _VARIABLES_WITH_HEADERS:
        for field in os.environ.get(variable, "").split(","):
            # A field without a name, or with a part of the secret as its name, is shown by a warning.
            remember(field)
            remember(field.partition("=")[2])


def session_with_bounds() -> requests.Session:
    """Return what OpenTelemetry's exporter sends its requests by."""
    session = requests.Session()
    for scheme in _PORTS:
        session.mount(f"{scheme}://", _Bounded())
    return session


class _Bounded(BaseAdapter):
    """Sends a request within one deadline, and reads the head of its answer alone."""

    def send(  # noqa: PLR0917 -- as the library calls it
        self,
        request: requests.PreparedRequest,
        stream: bool = False,  # noqa: FBT001, FBT002, ARG002 -- the same
        timeout: Any = None,  # noqa: ANN401 -- the exporter gives a number of seconds
        verify: bool | str = True,  # noqa: FBT001, FBT002 -- the same
        cert: Any = None,  # noqa: ANN401 -- one file, or two
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002 -- none is used
    ) -> requests.Response:
        """Send a request; raises ``requests.ConnectionError`` where no answer to it comes in time."""
        parts = urlsplit(str(request.url))
        port = parts.port or _PORTS[parts.scheme]
        headers = {name: str(value) for name, value in request.headers.items()}
        # The exporter has encoded it.
        body = cast("bytes", request.body)
        asked = Asked(request.path_url, str(request.method), headers, body)
        transport = _encrypted(verify, cert) if parts.scheme == "https" else CLEAR_TEXT
        answer = requests.Response()
        answer.request, answer.url = request, str(request.url)
        try:
            with answer_within(float(timeout), parts.hostname or "", port, asked, transport) as found:
                answer.status_code, answer.reason = found.status, found.reason
                if len(found.reason) > _REASON_CHARACTERS_MAX:
                    answer.reason = f"a reason of {len(found.reason):,} characters"
                answer.headers.update(found.headers)
        except (OSError, HTTPException) as error:
            raise requests.ConnectionError(str(error) or type(error).__name__) from None
        answer._content = b""  # noqa: SLF001 -- nothing of it is read
        return answer

    def close(self) -> None:
        """Do nothing: each request has its own connection."""


def _encrypted(verify: bool | str, cert: str | tuple[str, str] | None) -> Transport:  # noqa: FBT001 -- see above
    """Return how TLS is spoken, with what the library takes from its variables."""
    if isinstance(verify, bool):
        verify = DEFAULT_CA_BUNDLE_PATH if verify else "none"
    certificate, key = cert if isinstance(cert, tuple) else (cert, cert)
    return Transport("https", TlsTable(verify=verify, certificate=certificate, key=key))
