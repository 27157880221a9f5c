//! A tunnel through an HTTP proxy, which a client asks for by CONNECT (RFC 9110, 9.3.6).

/// The longest answer that is read: more than any proxy sends.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const INTERIM: std::ops::RangeInclusive<u16> = 100..=199;

/// The field that tells a proxy who asks (RFC 9110, section 11.7.2).
pub const PROXY_AUTHORIZATION: &str = "Proxy-Authorization";

/// The request for a tunnel to a host and port, with the credentials for the proxy.
#[must_use]
pub fn connect_request(target: &str, authorization: Option<&str>) -> Vec<u8> {
    let field = authorization.map(|value| format!("{PROXY_AUTHORIZATION}: {value}\r\n")).unwrap_or_default();
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{field}\r\n").into()
}

/// A tunnel that was asked for, until the proxy has answered.
#[derive(Clone, Debug, Default)]
pub struct Tunnel {
    head: Vec<u8>,
}

impl Tunnel {
    /// Takes what the proxy sends; says whether the tunnel is open. What is on the other side sends nothing before it has
    /// been sent something.
    ///
    /// # Errors
    /// The proxy does not open it; the sentence says what it answered.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<bool, String> {
        self.head.extend_from_slice(bytes);
        while let Some(length) = head_length(&self.head) {
            let status = status_of(&self.head);
            let Some(status) = status else { return Err("its answer to CONNECT is not HTTP".into()) };
            if INTERIM.contains(&status) {
                self.head.drain(..length);
                continue;
            }
            return match status {
                200..=299 if self.head.len() == length => Ok(true),
                200..=299 => Err("it sent something through the tunnel before it was asked".into()),
                407 => Err(
                    "it answered CONNECT with status 407: it asks for a user and a password, or does not \
                            take those of proxy_credentials"
                        .into(),
                ),
                _ => Err(format!("it answered CONNECT with status {status}")),
            };
        }
        if self.head.len() > HEAD_BYTES_MAX {
            return Err("its answer to CONNECT has no end".into());
        }
        Ok(false)
    }
}

/// Where the first head ends, if it does.
fn head_length(bytes: &[u8]) -> Option<usize> {
    let mut line_start = 0;
    for (place, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        if matches!(&bytes[line_start..place], b"" | b"\r") && line_start > 0 {
            return Some(place + 1);
        }
        line_start = place + 1;
    }
    None
}

fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.strip_prefix(b"HTTP/1.")?;
    let (version, rest) = line.split_first()?;
    let digits = rest.strip_prefix(b" ")?.get(..3)?;
    let is_status = version.is_ascii_digit() && digits.iter().all(u8::is_ascii_digit);
    is_status.then(|| digits.iter().fold(0, |status, digit| 10 * status + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::{Tunnel, connect_request};

    fn answered(parts: &[&str]) -> Result<bool, String> {
        let mut tunnel = Tunnel::default();
        parts.iter().try_fold(false, |_, part| tunnel.receive(part.as_bytes()))
    }

    #[test]
    fn the_request_names_host_and_port_twice() {
        let request = String::from_utf8(connect_request("example.org:443", None)).unwrap();
        assert_eq!(request, "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n");
    }

    #[test]
    fn the_request_tells_the_proxy_who_asks() {
        let request = String::from_utf8(connect_request("a.org:443", Some("Basic bWU6eA=="))).unwrap();
        let expected =
            "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\nProxy-Authorization: Basic bWU6eA==\r\n\r\n";
        assert_eq!(request, expected);
    }

    #[test]
    fn a_status_of_success_opens_the_tunnel_however_it_is_cut() {
        let answer = "HTTP/1.1 200 Connection established\r\nProxy-Agent: x\r\n\r\n";
        assert_eq!(answered(&[answer]), Ok(true));
        for cut in 1..answer.len() {
            assert_eq!(answered(&[&answer[..cut]]), Ok(false), "{cut}");
            assert_eq!(answered(&[&answer[..cut], &answer[cut..]]), Ok(true), "{cut}");
        }
        assert_eq!(answered(&["HTTP/1.0 200\n\n"]), Ok(true));
        assert_eq!(answered(&["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 OK\r\n\r\n"]), Ok(true));
    }

    #[test]
    fn any_other_answer_is_said() {
        for (answer, part) in [
            ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\nlogin", "status 407"),
            ("HTTP/1.1 502\r\n\r\n", "status 502"),
            ("HTTP/1.1 200 OK\r\n\r\nSSH-2.0", "before it was asked"),
            ("\x15\x03\x01\r\n\r\n", "not HTTP"),
            ("HTTP/1.1 2x0 OK\r\n\r\n", "not HTTP"),
            (&"x".repeat(65_537), "no end"),
        ] {
            assert!(answered(&[answer]).unwrap_err().contains(part), "{answer}");
        }
    }
}
