"""Encrypted connections to real databases: servers are checked as libpq does it, refusals are reported."""

import itertools
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from loadcurve._engine import Database, DatabaseError, workload
from loadcurve.server.here import Server
from support.certificates import NAME, Authority, Issued, make_authority
from support.databases import ferretdb_folder, require_postgresql, running_database
from support.sandbox import wait_until
from support.tls_proxy import tls_proxy

TIMEOUT_S = 20.0
MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
NOT_TRUSTED = "the server's certificate is not trusted: name the authority that issued it with "
NOT_FOR_US = "the server's certificate is not for 127.0.0.1, but for localhost"
RULES = """\
hostssl   all encrypted 127.0.0.1/32 scram-sha-256
hostnossl all plain     127.0.0.1/32 scram-sha-256
hostssl   all certified 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
host      all loadcurve 127.0.0.1/32 scram-sha-256
"""
"""Users that are let in with encryption, without it, with their own certificate, and either way."""
NOTE_ENCRYPTION = """
CREATE TABLE noted (encrypted bool, client text);
CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.noted SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid();
END $$;
CREATE EVENT TRIGGER note ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION note();
"""
"""Whoever makes a table is noted with how it is connected."""


@dataclass(frozen=True)
class Encrypted:
    """A PostgreSQL that speaks TLS, and who has issued its certificate, or has not."""

    server: Server
    authority: Authority
    stranger: Authority
    client: Issued
    home: Path

    @property
    def password(self):
        """The same for every user."""
        return urlsplit(self.server.url).password

    def url(self, user="encrypted", host=NAME, **options):
        """Return its URL for a user, with options as libpq names them; those that are None are left out."""
        given = "&".join(f"{name}={value}" for name, value in options.items() if value is not None)
        return f"postgresql://{user}:{self.password}@{host}:{self.server.port}/postgres?{given}"

    def psql(self, url, question="SELECT 1"):
        """Put a question to it through libpq, which knows nothing but the URL."""
        command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", question, url]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def asked(self, question):
        """Return what it answers to one who is let in either way."""
        finished = self.psql(self.server.url, question)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.strip()


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """Start PostgreSQL, and let it speak TLS with a certificate for one name."""
    require_postgresql()
    if shutil.which("psql") is None:
        pytest.skip("needs psql, which is not installed; on Debian: apt-get install postgresql-client")
    folder = tmp_path_factory.mktemp("certificates")
    authority = make_authority(folder, "authority")
    stranger = make_authority(folder, "stranger")
    with running_database("postgresql") as server:
        started = Encrypted(server, authority, stranger, authority.issue("client"), folder)
        begin_to_encrypt(started, authority.issue(NAME))
        yield started


def begin_to_encrypt(started, issued):
    data = Path(started.asked("SHOW data_directory"))
    for source, name in ((issued.certificate, "server.crt"), (issued.key, "server.key"),
                         (started.authority.certificate, "root.crt")):  # fmt: skip
        shutil.copy(source, data / name)
        shutil.chown(data / name, data.stat().st_uid, data.stat().st_gid)
    for name in ("encrypted", "plain", "certified"):
        started.asked(f"CREATE ROLE {name} LOGIN PASSWORD '{started.password}'")
    started.asked(NOTE_ENCRYPTION)
    started.asked("ALTER SYSTEM SET ssl_ca_file = 'root.crt'")
    started.asked("ALTER SYSTEM SET ssl = on")
    Path(started.asked("SHOW hba_file")).write_text(RULES)
    started.asked("SELECT pg_reload_conf()")
    # Until the server has read both, it lets one of these in that it is not to let in, or the reverse.
    expected = {"require": 0, "disable": 2}
    wait_until(
        lambda: {mode: started.psql(started.url(sslmode=mode)).returncode for mode in expected} == expected,
        "PostgreSQL speaks TLS",
    )


def database_at(url, timeout_s=TIMEOUT_S):
    target = {
        "url": url,
        "namespace": "loadcurve",
        "table": "usertable",
        "timeout_s": timeout_s,
        "workload": json.loads(workload("c", None, "", []))["workload"],
    }
    return Database(json.dumps(target))


def lets_us_in(url):
    try:
        return database_at(url).version().startswith("PostgreSQL")
    except ValueError:
        return False


def refusal(url, timeout_s=TIMEOUT_S):
    """Return the class of a refusal, and what is said of it."""
    with pytest.raises(DatabaseError) as refused:
        database_at(url, timeout_s).version()
    return refused.value.args


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_lets_in_and_refuses_whom_libpq_does(postgresql, mode):
    roots = {None: None, "ours": postgresql.authority.certificate, "foreign": postgresql.stranger.certificate}
    ours, libpqs = {}, {}
    hosts = ((NAME, None), (NAME, "ours"), (NAME, "foreign"), ("127.0.0.1", "ours"))
    for case in itertools.product(("encrypted", "plain"), hosts):
        user, (host, root) = case
        url = postgresql.url(user, host, sslmode=mode, sslrootcert=roots[root])
        ours[case] = lets_us_in(url)
        libpqs[case] = postgresql.psql(url).returncode == 0
    assert ours == libpqs


@pytest.mark.parametrize(
    ("mode", "encrypted"), [("disable", "f"), ("allow", "f"), (None, "t"), ("prefer", "t"), ("require", "t")]
)
def test_where_either_is_possible_the_mode_says_what_is_preferred(postgresql, mode, encrypted):
    postgresql.asked("TRUNCATE noted")
    database = database_at(postgresql.url("loadcurve", sslmode=mode))
    database.create()
    database.remove()
    assert postgresql.asked("SELECT DISTINCT encrypted FROM noted") == encrypted


def test_a_client_shows_its_certificate_where_one_is_asked_for(postgresql):
    own = {"sslmode": "require", "sslcert": postgresql.client.certificate, "sslkey": postgresql.client.key}
    assert lets_us_in(postgresql.url("certified", **own))
    failure, text = refusal(postgresql.url("certified", sslmode="require"))
    assert failure == "access_denied"
    assert "certificate" in text
    database = database_at(postgresql.url("loadcurve", **own))
    postgresql.asked("TRUNCATE noted")
    database.create()
    database.remove()
    assert postgresql.asked("SELECT DISTINCT client FROM noted") == "/CN=client"


def test_the_password_can_be_bound_to_the_encrypted_connection(postgresql):
    assert lets_us_in(postgresql.url(sslmode="require", channel_binding="require"))
    assert not lets_us_in(postgresql.url("plain", sslmode="disable", channel_binding="require"))


def test_the_authorities_that_the_machine_trusts_are_asked_for_by_name(postgresql, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(postgresql.authority.certificate))
    assert lets_us_in(postgresql.url(sslrootcert="system"))
    failure, text = refusal(postgresql.url(host="127.0.0.1", sslrootcert="system"))
    assert (failure, text) == ("connect_refused", NOT_FOR_US)


@pytest.mark.parametrize(
    ("root", "host", "reason"),
    [
        ("stranger", NAME, NOT_TRUSTED + "sslrootcert"),
        ("authority", "127.0.0.1", NOT_FOR_US),
    ],
)
def test_a_server_that_cannot_prove_who_it_is_is_refused_in_words(postgresql, root, host, reason):
    certificate = getattr(postgresql, root).certificate
    url = postgresql.url(host=host, sslmode="verify-full", sslrootcert=certificate)
    assert refusal(url) == ("connect_refused", reason)


def test_whom_the_server_wants_encrypted_or_not_is_reported_by_the_server(postgresql):
    for user, mode, reason in (
        ("encrypted", "disable", "no encryption"),
        ("plain", "require", "SSL encryption"),
    ):
        failure, text = refusal(postgresql.url(user, sslmode=mode))
        assert failure == "access_denied"
        assert f'user "{user}", database "postgres", {reason}' in text


def test_without_either_way_in_both_refusals_are_reported(postgresql):
    failure, text = refusal(postgresql.url("nowhere", sslmode="prefer"))
    assert failure == "access_denied"
    assert text.count("no pg_hba.conf entry") == 2
    assert "; without encryption: " in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sslmode": "verify"}, "expected disable, allow, prefer, require, verify-ca, verify-full"),
        ({"sslmode": "verify-full"}, "sslrootcert"),
        ({"sslmode": "require", "sslrootcert": "system"}, "verify-full"),
        ({"sslrootcert": "/nowhere/root.crt"}, "sslrootcert: /nowhere/root.crt: No such file"),
        ({"sslrootcert": __file__}, "it contains no certificate or key of the expected kind"),
        ({"sslcert": "/nowhere/me.crt"}, "require each other"),
        ({"sslnegotiation": "direct"}, "sslmode=require"),
        ({"sslcrl": "/nowhere/me.crl"}, "sslrootcert, sslcert, sslkey"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_sent(options, problem):
    given = "&".join(f"{name}={value}" for name, value in options.items())
    with pytest.raises(ValueError, match="ssl") as refused:
        database_at(f"postgresql://me:secret@127.0.0.1:1/app?{given}")
    assert not isinstance(refused.value, DatabaseError)
    assert problem in str(refused.value)
    assert "secret" not in str(refused.value)


@dataclass(frozen=True)
class Ferret:
    """A server of MongoDB's protocol: its own port, and those where it speaks TLS."""

    port: int
    encrypted_port: int
    """Its certificate is from this authority, for one name."""
    certified_port: int
    """Here it asks clients for one, too."""
    authority: Authority
    client: Path
    """A client's certificate and its key in one file, as MongoDB's clients have them."""


@pytest.fixture(scope="module")
def ferretdb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    ferretdb_folder()
    authority = make_authority(folder, "authority")
    issued = authority.issue(NAME)
    client = authority.issue("client")
    both = folder / "client.pem"
    both.write_text(client.certificate.read_text() + client.key.read_text())
    with (
        running_database("ferretdb") as server,
        tls_proxy(server.port, issued) as encrypted,
        tls_proxy(server.port, issued, authority.certificate) as certified,
    ):
        yield Ferret(server.port, encrypted, certified, authority, both)


def mongodb(port, options, host=NAME):
    given = "&".join(f"{name}={value}" for name, value in options.items())
    return f"mongodb://{host}:{port}/?{given}"


def test_mongodbs_driver_encrypts_and_checks_the_server_as_its_url_says(ferretdb):
    trusting = {"tls": "true", "tlsCAFile": ferretdb.authority.certificate}
    assert database_at(mongodb(ferretdb.encrypted_port, trusting)).version().startswith("FerretDB")
    blind = {"tls": "true", "tlsAllowInvalidCertificates": "true"}
    assert database_at(mongodb(ferretdb.encrypted_port, blind, "127.0.0.1")).version().startswith("FerretDB")
    not_trusting = mongodb(ferretdb.encrypted_port, {"tls": "true"})
    assert refusal(not_trusting) == ("connect_refused", NOT_TRUSTED + "tlsCAFile")
    elsewhere = mongodb(ferretdb.encrypted_port, trusting, "127.0.0.1")
    assert refusal(elsewhere) == ("connect_refused", NOT_FOR_US)


def test_a_client_of_mongodb_shows_its_certificate_where_one_is_asked_for(ferretdb):
    trusting = {"tls": "true", "tlsCAFile": ferretdb.authority.certificate}
    certified = {**trusting, "tlsCertificateKeyFile": ferretdb.client}
    assert database_at(mongodb(ferretdb.certified_port, certified)).version().startswith("FerretDB")
    _, text = refusal(mongodb(ferretdb.certified_port, trusting))
    assert "certificate" in text


def test_where_one_side_of_mongodb_speaks_tls_alone_that_is_reported(ferretdb):
    _, text = refusal(mongodb(ferretdb.encrypted_port, {}))
    assert "tls=true" in text
    # FerretDB takes the handshake for the start of a long message, and waits for the rest of it.
    _, text = refusal(mongodb(ferretdb.port, {"tls": "true"}), timeout_s=2)
    assert "requires TLS" in text


def test_a_server_that_belongs_to_no_replica_set_is_reported_at_once(ferretdb):
    failure, text = refusal(mongodb(ferretdb.port, {"replicaSet": "rs0"}))
    assert failure == "connect_refused"
    assert "replicaSet" in text


@pytest.mark.parametrize("option", ["tlsCAFile", "tlsCertificateKeyFile"])
def test_files_of_mongodb_that_are_not_there_are_reported_before_anything_is_sent(option):
    with pytest.raises(ValueError, match=f"{option}: /nowhere/file.pem: No such file") as refused:
        database_at(mongodb(1, {"tls": "true", option: "/nowhere/file.pem"}))
    assert not isinstance(refused.value, DatabaseError)


def test_where_names_are_not_resolved_mongodb_srv_says_what_it_needs():
    failure, text = refusal("mongodb+srv://me:secret@nowhere.invalid/", timeout_s=2)
    assert failure in {"connect_refused", "connect_timeout"}
    assert "looks the servers up in DNS" in text
    assert "secret" not in text
