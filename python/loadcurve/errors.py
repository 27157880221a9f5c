"""The errors that end a command; their text, printed on stderr, is for the person who typed it."""

import os
import re
from typing import ClassVar

NO_MEMORY = "not enough memory on this machine, or within the limits of this process (ulimit -v)"

TRUSTED_BY = (
    "--cacert FILE (tls.verify in a study) names the authority to trust, --insecure accepts any certificate"
)
OWN_CERTIFICATE = "--cert FILE and --key FILE (tls.certificate and tls.key in a study)"
TLS_IN_WORDS = {
    "WRONG_VERSION_NUMBER": "the server did not answer in TLS; it may not support TLS on this port",
    "UNEXPECTED_EOF_WHILE_READING": "the server closed the connection without ending TLS",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": f"the server requires a client certificate: {OWN_CERTIFICATE}",
    "TLSV1_ALERT_UNKNOWN_CA": f"the server does not trust the client certificate: {OWN_CERTIFICATE}",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the server accepts none of the offered TLS versions",
    "TLSV1_UNRECOGNIZED_NAME": "the server knows no host of the name that was sent (SNI)",
}
"""What OpenSSL calls the refusals of TLS that people come to, and what they mean."""
OTHER_NAME = (62, 64)
"""By OpenSSL's x509_vfy.h: the certificate is not for the host name, or for the address."""
OTHER_TIME = (9, 10)
"""By the same: the certificate is not valid yet, or has expired."""
_AROUND_TLS = re.compile(r"^\[[^]]*\] | \(_ssl\.c:\d+\)$")

ENDS_OF_SENTENCES = (".", "!", "?", "\N{HORIZONTAL ELLIPSIS}")


class LoadcurveError(Exception):
    """The command cannot go on, and the fault is ours unless a subclass says otherwise."""

    exit_code: ClassVar[int] = 1


class BadInput(LoadcurveError):  # noqa: N818 -- the name says whose error it is
    """What the person gave cannot be used: a file, an option or a name."""

    exit_code = 2


class NothingMeasured(LoadcurveError):  # noqa: N818 -- as above
    """The input was good, and yet nothing could be measured."""

    exit_code = 4


def refusal(error: OSError) -> str:
    """Return what the system said, behind the file that it is about, where it names one."""
    said = _said(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def _said(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    # The numbers of OpenSSL are not the system's: its 1 would be "Operation not permitted". Its errors are
    # known by what they have, as to import ``ssl`` takes longer than many a command.
    if isinstance(reason, str) and hasattr(error, "library"):
        return TLS_IN_WORDS.get(reason) or _certificate_refused(error) or _AROUND_TLS.sub("", str(error))
    # Those of a look-up of names are below 0, and not the system's either.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _certificate_refused(error: OSError) -> str | None:
    """Return why a server's certificate is not accepted; ``None`` where it is something else."""
    said = getattr(error, "verify_message", None)
    if not said:
        return None
    match getattr(error, "verify_code", None):
        case code if code in OTHER_NAME:
            advice = "--server-name NAME expects another one"
        case code if code in OTHER_TIME:
            advice = "--insecure accepts it"
        case _:
            advice = TRUSTED_BY
    return f"the server's certificate is not accepted: {clause(said[:1].lower() + said[1:])}; {advice}"


def in_words(error: Exception) -> str:
    """Return what an error of the system or of a library says; its kind where it says nothing."""
    said = refusal(error) if isinstance(error, OSError) else str(error)
    return said or type(error).__name__


def sentence(said: str) -> str:
    """Return what another says as a sentence, behind which ours may follow: with one full stop at its end."""
    said = said.rstrip()
    return said if said.endswith(ENDS_OF_SENTENCES) else f"{said}."


def clause(said: str) -> str:
    """Return what another says as a part of our sentence: without a full stop at its end."""
    said = said.rstrip()
    return said if said.endswith("..") else said.removesuffix(".")
