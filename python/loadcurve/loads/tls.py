"""What a load asks for in the handshakes of TLS."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, ValidationInfo, model_validator
from pydantic.functional_validators import AfterValidator

from loadcurve.loads.option import CommandLine
from loadcurve.protocol import HTTP3, HttpVersion
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.toml.values import from_study_folder

Scheme = Literal["http", "https"]
"""Whether the connections of a load carry clear text."""
DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}


def _file_unless_named(name: str, info: ValidationInfo) -> str:
    return name if name in ("system", "none") else from_study_folder(name, info)


FileName = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(from_study_folder),
    Expected('the name of a file, such as "ca.pem"'),
]
Verify = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_file_unless_named),
    Expected('"system", "none" or the name of a file with the certificates of authorities'),
]
Names = Annotated[
    list[Annotated[str, Field(min_length=1), Expected("a name, as IANA has registered it")]],
    Expected("a list of names, the preferred one first"),
]
FullHandshakes = Annotated[float, Field(ge=0, le=1), Expected("a share of the connections, from 0 to 1")]
EarlyData = Annotated[
    float, Field(ge=0, le=1), Expected("a share of the connections that resume a session, from 0 to 1")
]


class TlsTable(BaseModel):
    """What is asked for in handshakes; what is left out is what the TLS library offers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    versions: Annotated[
        list[Literal["1.2", "1.3"]],
        Expected('a list of versions of TLS, such as ["1.3"]'),
        CommandLine(
            "--tls-version",
            help="The one version of TLS that is offered.",
            usual="both",
            panel="TLS",
            place=10,
            form="only of a list",
        ),
    ] = Field(default_factory=list)
    """The versions that are offered: 1.2 and 1.3 unless this is given."""
    suites: Annotated[
        Names,
        CommandLine(
            "--ciphers",
            help="Cipher suites offered, by IANA name.",
            metavar="NAMES",
            panel="TLS",
            place=20,
            form="list",
        ),
    ] = Field(default_factory=list)
    """The cipher suites that are offered, such as `TLS_AES_128_GCM_SHA256`."""
    groups: Annotated[
        Names,
        CommandLine(
            "--groups",
            help="Key-exchange groups offered, such as x25519.",
            metavar="NAMES",
            panel="TLS",
            place=30,
            form="list",
        ),
    ] = Field(default_factory=list)
    """The groups for the exchange of keys, such as `x25519` or `X25519MLKEM768`."""
    verify: Annotated[
        Verify,
        CommandLine(
            "--cacert",
            help="Trust the authorities of this PEM file instead.",
            metavar="FILE",
            panel="TLS",
            place=40,
            default=None,
        ),
        CommandLine("--insecure", help="Accept any certificate.", panel="TLS", place=50, form="none"),
    ] = "system"
    """Whose certificates are accepted: of the machine's authorities, of those in a file, or any (`none`)."""
    server_name: Annotated[
        Annotated[str, Field(min_length=1), Expected("a host name")] | None,
        CommandLine(
            "--server-name",
            help="Name in the certificate.",
            usual="the URL's host",
            metavar="NAME",
            panel="TLS",
            place=60,
        ),
    ] = None
    """The name that the certificate must be for; that of the URL unless this is given."""
    certificate: Annotated[
        FileName | None,
        CommandLine("--cert", help="The client's certificate, PEM.", metavar="FILE", panel="TLS", place=70),
    ] = None
    """The client's certificate in PEM, where the server requires one."""
    key: Annotated[
        FileName | None,
        CommandLine("--key", help="Its private key, PEM.", metavar="FILE", panel="TLS", place=80),
    ] = None
    """Its private key in PEM."""
    key_log: Annotated[
        FileName | None,
        CommandLine(
            "--key-log",
            help="Append the secrets of the connections here.",
            metavar="FILE",
            panel="TLS",
            place=100,
        ),
    ] = None
    """A file for the secrets of the connections, with which others can decrypt them."""

    @model_validator(mode="after")
    def _with_both_or_none(self) -> "TlsTable":
        if (self.certificate is None) != (self.key is None):
            missing, given = ("key", "certificate") if self.key is None else ("certificate", "key")
            raise own_problems([Problem((missing,), f"missing; required with the {given}")])
        return self

    def problems_over(self, http: HttpVersion) -> Iterator[Problem]:
        """Yield what of it leaves a version of HTTP without a handshake."""
        if http == HTTP3 and self.versions and "1.3" not in self.versions:
            yield Problem(("versions",), 'HTTP/3 has TLS 1.3 alone; add "1.3", or leave versions out')

    def trusting(self, verify: str) -> "TlsTable":
        """Return it with others to trust than the machine's authorities, where it says nothing of that."""
        return self.model_copy(update={"verify": verify}) if self.verify == "system" else self

    def planned(self, host: str, full_handshakes: float, early_data: float) -> dict[str, Any]:
        """Return it as the engine reads it, for a server of this host."""
        certificate = {"certificate": self.certificate, "key": self.key} if self.certificate else None
        return {
            "server_name": self.server_name or host,
            "versions": self.versions,
            "suites": self.suites,
            "groups": self.groups,
            "verify": self.verify if self.verify in ("system", "none") else {"file": self.verify},
            "client_certificate": certificate,
            "full_handshakes": full_handshakes,
            "early_data": early_data,
            "key_log": self.key_log,
        }


Tls = Annotated[
    TlsTable,
    PlainSerializer(lambda table: table.model_dump(mode="json", exclude_defaults=True)),
    Expected('a table of settings of TLS, such as { versions = ["1.3"] }'),
]
"""A record has what the study gives."""
