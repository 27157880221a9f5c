"""How a web server is spoken to: in clear text or encrypted, and in which versions of HTTP.

Four settings say so, by these names in every description that has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcurve.loads.tls import Scheme, TlsTable
from loadcurve.protocol import HTTP1_1, HTTP2, HTTP3, MESSAGE_SCHEMES, HttpVersion
from loadcurve.server.settings import BooleanSetting, Setting, SettingValue, TextSetting

TLS = "tls"
"""The setting, on or off, of a server that may listen for TLS instead of clear text."""
HTTP2_SETTING = "http2"
"""The setting of one that may speak HTTP/2: negotiated by ALPN with TLS, with prior knowledge without."""
HTTP3_SETTING = "http3"
"""The setting of one that may speak HTTP/3 besides, on the UDP port of the same number."""
CERTIFICATE = "certificate"
"""The setting that names the kind of the certificate."""
CERTIFICATE_KINDS = ("ecdsa", "rsa")


@dataclass(frozen=True)
class Transport:
    """What is between HTTP and TCP or UDP, and which versions of HTTP are above it."""

    scheme: Scheme = "http"
    tls: TlsTable = field(default_factory=TlsTable)
    """What is asked for in the handshakes of an encrypted one, and whose certificates are accepted."""
    http_versions: frozenset[HttpVersion] = frozenset({HTTP1_1})
    """Those that the server was set to speak."""
    http2_is_off: bool = False
    """Whether a setting of the server, which is off, would have it speak HTTP/2."""
    other_addresses: tuple[str, ...] = ()
    """Further addresses of the host of one that runs already."""

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS is spoken."""
        return self.scheme == "https"

    @property
    def is_quic_alone(self) -> bool:
        """Whether the server has no port but that of HTTP/3, which is UDP's."""
        return self.http_versions == {HTTP3}


CLEAR_TEXT = Transport()


def scheme_of(settings: Mapping[str, Setting], given: Mapping[str, object], url: str | None) -> Scheme:
    """Return how a server of these settings is spoken to, with what is given of them, or where it runs."""
    if url is not None:
        scheme = url.partition("://")[0].lower()
        return "https" if MESSAGE_SCHEMES.get(scheme, ("", scheme))[1] == "https" else "http"
    setting = settings.get(TLS)
    default = setting.default if isinstance(setting, BooleanSetting) else False
    return "https" if given.get(TLS, default) is True else "http"


def transport_of(
    settings: Mapping[str, SettingValue], authority: Path, *, is_quic_alone: bool = False
) -> Transport:
    """Return how a server with these settings is spoken to, whose certificate this authority has signed.

    ``is_quic_alone`` says that it has no port but that of HTTP/3.
    """
    if is_quic_alone:
        return Transport("https", TlsTable(verify=str(authority)), frozenset({HTTP3}))
    switched: dict[str, HttpVersion] = {HTTP2_SETTING: HTTP2, HTTP3_SETTING: HTTP3}
    added = {version for setting, version in switched.items() if settings.get(setting) is True}
    versions = frozenset[HttpVersion]({HTTP1_1, *added})
    is_off = settings.get(HTTP2_SETTING) is False
    if settings.get(TLS) is not True:
        return Transport(http_versions=versions, http2_is_off=is_off)
    return Transport("https", TlsTable(verify=str(authority)), versions, is_off)


def require_transport_settings(settings: Mapping[str, Setting], *, is_quic_alone: bool = False) -> None:
    """Raise ValueError where a description means something else by the names of these settings."""
    for name in (TLS, HTTP2_SETTING, HTTP3_SETTING):
        if name in settings and not isinstance(settings[name], BooleanSetting):
            raise ValueError(f'the setting `{name}` has another type: expected "boolean"')
    for name in (TLS, HTTP3_SETTING):
        setting = settings.get(name)
        if is_quic_alone and not (isinstance(setting, BooleanSetting) and setting.default):
            raise ValueError(f"ready.quic is given without the setting `{name}`: expected it, default = true")
    kind = settings.get(CERTIFICATE)
    if kind is None:
        return
    choices = kind.choices if isinstance(kind, TextSetting) else None
    if not choices or not set(choices) <= {*CERTIFICATE_KINDS}:
        listed = ", ".join(f'"{one}"' for one in CERTIFICATE_KINDS)
        raise ValueError(
            f"the setting `{CERTIFICATE}` has other values: expected a text with choices of {listed}"
        )
