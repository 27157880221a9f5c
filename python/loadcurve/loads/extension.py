"""The extension of WebSocket that a load may offer: compression of messages (RFC 7692)."""

from typing import Annotated, Final

from pydantic import AfterValidator

from loadcurve.toml.expected import Expected

NAME: Final = "permessage-deflate"
_FLAGS: Final = ("server_no_context_takeover", "client_no_context_takeover", "client_max_window_bits")
_BITS: Final = ("server_max_window_bits", "client_max_window_bits")
_PARAMETERS: Final = {*_FLAGS, *(f"{name}={bits}" for name in _BITS for bits in range(8, 16))}
"""Each parameter with each of its values (RFC 7692 §7.1)."""


def _offer(text: str) -> str:
    """Return an offer in its usual form, each of its parameters once.

    Raises ``ValueError``: it is none by RFC 7692 §7.1.
    """
    name, *parameters = (part.strip() for part in text.split(";"))
    names = [one.partition("=")[0] for one in parameters]
    if name != NAME or not _PARAMETERS.issuperset(parameters) or len(set(names)) < len(names):
        raise ValueError(text)
    return "; ".join([name, *parameters])


Extension = Annotated[
    str,
    AfterValidator(_offer),
    Expected(
        f'"{NAME}", and behind it each at most once "; server_no_context_takeover", '
        '"; client_no_context_takeover", "; server_max_window_bits=N" and "; client_max_window_bits=N", '
        "with N from 8 to 15"
    ),
]
