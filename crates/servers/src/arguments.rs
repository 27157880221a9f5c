//! What the command line asks for.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lexopt::prelude::*;
use loadcurve_servers::reply::Reply;
use loadcurve_servers::{persistent, pipelined, simple};

use crate::forking::{ServeClient, Settings};
use crate::limit::options::{self, FaultOptions};
use crate::limit::{self, Admission, Identity};
use crate::quantities::{COUNT_ABOVE_ZERO, Quantity, SECONDS, SHARE, TRUTH, count, parsed, value_of};

const USAGE: &str = "\
Usage: loadcurve-server KIND --listen ADDRESS:PORT --root FOLDER [options]

Kinds:
  limit       answers from memory at the least cost the kernel allows; it calibrates a rig
  simple      forks a process for each client, answers its first request and closes
  persistent  the same, but answers many requests of a client, one after another
  pipelined   the same, but answers requests that arrive together at once, in order

Options:
  --listen ADDRESS:PORT     where to listen; port 0 takes a free one. The address is printed
  --root FOLDER             the files to serve; limit reads them once, at the start
  --backlog N               length of the listen queue (default 4096)
  --idle-timeout-s SECONDS  after how long a silent client is disconnected (default 5, for limit never)
  --buffer-bytes N          size of the buffer for a client's requests, and so the longest request
                            (default 8192, for pipelined 51200; not for limit)
  --certificate FILE        a certificate (PEM), with which limit speaks TLS; empty: clear text
  --certificate-key FILE    the certificate's private key (PEM)
  --http2 BOOLEAN           whether limit speaks HTTP/2 besides HTTP/1.x: negotiated by ALPN with TLS, with prior
                            knowledge in clear text (default false)
  --http3 BOOLEAN           whether limit speaks HTTP/3 besides, on the UDP port of the same number; it requires
                            --certificate (default false)
  --call-messages N         with how many messages limit answers each call of gRPC (default 1); echo: with each
                            of the call's messages, as it comes
  --early-data SHARE        the share of connections of HTTP/3 on which limit takes requests before the handshake is
                            over (0-RTT), from clients that resume a session (default 0)
  --retry BOOLEAN           whether limit has each client of HTTP/3 begin again, to prove its address (default false)
  --announce-http3-s N      for how many seconds answers of limit over HTTP/1.x say that HTTP/3 is spoken on the same
                            port (Alt-Svc); default 0: they do not
  --version                 the version
";

const ADDRESS: Quantity<SocketAddr> =
    Quantity { read: parsed, expected: "an address with a port, such as 127.0.0.1:8080" };
const TO_CALL: Quantity<Reply> = Quantity {
    read: |text| match text.parse() {
        Ok(messages) if messages <= CALL_MESSAGES_MAX => Some(Reply::to_call(messages)),
        Err(_) if text == "echo" => Some(Reply::to_echoed_call()),
        _ => None,
    },
    expected: "a whole number of at most a million, or echo",
};
/// All messages of an answer are held in memory.
const CALL_MESSAGES_MAX: usize = 1_000_000;
const DEFAULT_BACKLOG: i32 = 4096;
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// A command line that makes sense.
pub(crate) enum Asked {
    Limit { settings: Box<limit::Settings>, root: PathBuf },
    Forking { settings: Settings, root: PathBuf, serve_client: ServeClient },
    Print(String),
}

/// What a command line gives.
struct Given {
    kind: Option<String>,
    listen: Option<SocketAddr>,
    root: Option<PathBuf>,
    backlog: i32,
    idle_timeout: Option<Duration>,
    buffer_bytes: Option<usize>,
    fault_options: FaultOptions,
    /// The last of the options that only `limit` has.
    option_of_limit: Option<String>,
    certificate: PathBuf,
    certificate_key: PathBuf,
    speaks_http2: bool,
    speaks_http3: bool,
    admission: Admission,
    to_call: Option<Reply>,
    /// What it asks to be printed, instead of anything else.
    printed: Option<String>,
}

impl Given {
    /// Reads the command line, up to an option that asks for something to be printed.
    fn read(parser: &mut lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut given = Self {
            kind: None,
            listen: None,
            root: None,
            backlog: DEFAULT_BACKLOG,
            idle_timeout: None,
            buffer_bytes: None,
            fault_options: FaultOptions::default(),
            option_of_limit: None,
            certificate: PathBuf::new(),
            certificate_key: PathBuf::new(),
            speaks_http2: false,
            speaks_http3: false,
            admission: Admission::default(),
            to_call: None,
            printed: None,
        };
        while given.printed.is_none()
            && let Some(argument) = parser.next()?
        {
            match argument {
                Long("listen") => given.listen = Some(value_of(parser, "listen", &ADDRESS)?),
                Long("root") => given.root = Some(PathBuf::from(parser.value()?)),
                Long("backlog") => given.backlog = value_of(parser, "backlog", &count())?,
                Long("idle-timeout-s") => {
                    given.idle_timeout = Some(value_of(parser, "idle-timeout-s", &SECONDS)?);
                }
                Long("buffer-bytes") => {
                    given.buffer_bytes = Some(value_of(parser, "buffer-bytes", &COUNT_ABOVE_ZERO)?.get());
                }
                Long("certificate") => given.certificate = PathBuf::from(parser.value()?),
                Long("certificate-key") => given.certificate_key = PathBuf::from(parser.value()?),
                Long("help") | Short('h') => given.printed = Some(format!("{USAGE}{}", options::USAGE)),
                Long("version") => {
                    given.printed = Some(format!("loadcurve-server {}\n", env!("CARGO_PKG_VERSION")));
                }
                Long(option) => {
                    let option = option.to_owned();
                    if !given.read_of_limit(&option, parser)? {
                        return Err(Long(&option).unexpected());
                    }
                    given.option_of_limit = Some(option);
                }
                Value(value) if given.kind.is_none() => given.kind = Some(value.string()?),
                other => return Err(other.unexpected()),
            }
        }
        Ok(given)
    }

    /// Reads the value of an option that only `limit` has; false where it is none.
    fn read_of_limit(&mut self, option: &str, parser: &mut lexopt::Parser) -> Result<bool, lexopt::Error> {
        match option {
            "http2" => self.speaks_http2 = value_of(parser, option, &TRUTH)?,
            "http3" => self.speaks_http3 = value_of(parser, option, &TRUTH)?,
            "early-data" => self.admission.early_data_share = value_of(parser, option, &SHARE)?,
            "retry" => self.admission.retries = value_of(parser, option, &TRUTH)?,
            "announce-http3-s" => {
                self.admission.announced_s = NonZeroU64::new(value_of(parser, option, &count())?);
            }
            "call-messages" => self.to_call = Some(value_of(parser, option, &TO_CALL)?),
            _ => return self.fault_options.read(option, parser),
        }
        Ok(true)
    }
}

/// Reads the command line.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Asked, lexopt::Error> {
    let mut given = Given::read(&mut parser)?;
    given.printed.take().map_or_else(|| asked(given), |text| Ok(Asked::Print(text)))
}

/// What makes sense of what is given, where it does.
fn asked(given: Given) -> Result<Asked, lexopt::Error> {
    let Given {
        kind,
        listen,
        root,
        backlog,
        idle_timeout,
        buffer_bytes,
        fault_options,
        option_of_limit,
        certificate,
        certificate_key,
        speaks_http2,
        speaks_http3,
        to_call,
        admission,
        printed: _,
    } = given;
    let kind = kind.ok_or("missing KIND")?;
    let listen = listen.ok_or("missing --listen")?;
    let root = root.ok_or("missing --root")?;
    let is_encrypted = !certificate.as_os_str().is_empty();
    let option_of_limit = option_of_limit.or(is_encrypted.then(|| "certificate".into()));
    let (serve_client, default_buffer_bytes): (ServeClient, usize) = match kind.as_str() {
        "limit" if buffer_bytes.is_some() => return Err("limit has no option --buffer-bytes".into()),
        "limit" => {
            let faults = fault_options.faults(idle_timeout)?;
            let identity = identity(&certificate, &certificate_key, speaks_http2, speaks_http3)?;
            require_http3(admission, speaks_http3)?;
            let to_call = to_call.unwrap_or_else(|| Reply::to_call(1));
            let settings = limit::Settings {
                listen,
                backlog,
                faults,
                identity,
                speaks_http2,
                speaks_http3,
                to_call,
                admission,
            };
            return Ok(Asked::Limit { settings: Box::new(settings), root });
        }
        "simple" => (simple::serve_client, simple::DEFAULT_BUFFER_BYTES),
        "persistent" => (persistent::serve_client, persistent::DEFAULT_BUFFER_BYTES),
        "pipelined" => (pipelined::serve_client, pipelined::DEFAULT_BUFFER_BYTES),
        _ => return Err(unknown(&kind)),
    };
    if let Some(option) = option_of_limit {
        return Err(format!("{kind} has no option --{option}; only limit has it").into());
    }
    let idle_timeout = idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT);
    if idle_timeout.is_zero() {
        return Err("--idle-timeout-s is 0: expected a number of seconds above 0".into());
    }
    let buffer_bytes = buffer_bytes.unwrap_or(default_buffer_bytes);
    Ok(Asked::Forking {
        settings: Settings { listen, backlog, idle_timeout, buffer_bytes },
        root,
        serve_client,
    })
}

fn unknown(kind: &str) -> lexopt::Error {
    format!("unknown kind {kind:?}; expected limit, simple, persistent or pipelined").into()
}

/// Refuses what is of HTTP/3 alone where that is not served.
fn require_http3(admission: Admission, speaks_http3: bool) -> Result<(), String> {
    if speaks_http3 || admission.is_usual() {
        return Ok(());
    }
    Err("--early-data, --retry and --announce-http3-s are for HTTP/3: set --http3 true as well".into())
}

/// What `limit` shows its clients, where there is a certificate.
fn identity(
    certificate: &Path,
    key: &Path,
    speaks_http2: bool,
    speaks_http3: bool,
) -> Result<Option<Identity>, String> {
    let is_encrypted = !certificate.as_os_str().is_empty();
    if speaks_http3 && !is_encrypted {
        return Err("--http3 is true without --certificate: HTTP/3 is always encrypted".into());
    }
    is_encrypted.then(|| Identity::read(certificate, key, speaks_http2)).transpose()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Asked, parse};

    fn buffer_bytes_and_timeout(arguments: &[&str]) -> (usize, Duration) {
        let always = ["--listen", "127.0.0.1:0", "--root", "."];
        match parse(lexopt::Parser::from_args(always.iter().chain(arguments))) {
            Ok(Asked::Forking { settings, .. }) => (settings.buffer_bytes, settings.idle_timeout),
            _ => panic!("expected a server that forks"),
        }
    }

    #[test]
    fn a_silent_client_has_five_seconds_and_pipelined_a_buffer_of_fifty_kib() {
        let five_seconds = Duration::from_secs(5);
        assert_eq!(buffer_bytes_and_timeout(&["simple"]), (8192, five_seconds));
        assert_eq!(buffer_bytes_and_timeout(&["persistent"]), (8192, five_seconds));
        assert_eq!(buffer_bytes_and_timeout(&["pipelined"]), (51_200, five_seconds));
        let given = ["pipelined", "--buffer-bytes", "100", "--idle-timeout-s", "0.25"];
        assert_eq!(buffer_bytes_and_timeout(&given), (100, Duration::from_millis(250)));
    }
}
