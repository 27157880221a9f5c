//! Our header blocks against those of `httparse`: where both accept, status, length and framing agree; where one
//! alone accepts, the reason is in the list of known differences. What `httparse` leaves to its caller, the framing,
//! is a second reading of the RFC in this file.

use loadcurve_wire::{ClosedEarly, Limits, Malformed, Progress, RequestKind, ResponseParser};

/// What a header block says, as far as the rest of the response depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outline {
    Interim,
    Final { status: u16, header_bytes: u64, body: Body, keep_alive_if_framed: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Absent,
    Length(u64),
    Chunked,
    UntilClose,
}

/// What one parser makes of the header block that some bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading<E> {
    Complete { length: usize, outline: Outline },
    Incomplete,
    Refused(E),
}

/// Why the reference refuses a header block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Grammar(httparse::Error),
    Framing(InvalidFraming),
}

/// The framing fields contradict themselves or RFC 9112 §6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InvalidFraming;

/// What `httparse` and this project's parser are known to judge differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// `httparse` skips blank lines before a status line. RFC 9112 §2.2 grants that to servers only.
    LeadingBlankLine,
    /// `httparse` accepts every three digits; we accept 100 to 599 (RFC 9110 §15), and no 101 unasked.
    StatusCode,
    /// `httparse` knows HTTP/1.0 and 1.1; we read a higher minor version as 1.1 (RFC 9110 §2.5).
    MinorVersion,
}

fn known_difference(
    bytes: &[u8],
    ours: &Reading<Malformed>,
    reference: &Reading<Refusal>,
) -> Option<Difference> {
    match (ours, reference) {
        (
            Reading::Refused(Malformed::NotHttp1),
            Reading::Complete { .. } | Reading::Refused(Refusal::Framing(_)),
        ) if matches!(bytes, [b'\n', ..] | [b'\r', b'\n', ..]) => Some(Difference::LeadingBlankLine),
        (
            Reading::Refused(Malformed::StatusCode { .. } | Malformed::UnexpectedUpgrade),
            Reading::Complete { .. } | Reading::Refused(Refusal::Framing(_)),
        ) => Some(Difference::StatusCode),
        (Reading::Complete { .. }, Reading::Refused(Refusal::Grammar(httparse::Error::Version)))
            if matches!(bytes, [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9', ..]) =>
        {
            Some(Difference::MinorVersion)
        }
        _ => None,
    }
}

fn read_reference(bytes: &[u8]) -> Reading<Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let length = match config.parse_response(&mut response, bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Reading::Incomplete,
        Err(error) => return Reading::Refused(Refusal::Grammar(error)),
    };
    let (Some(status), Some(version)) = (response.code, response.version) else {
        panic!("a complete response has a status and a version");
    };
    match reference_framing(response.headers, status, version) {
        Err(invalid) => Reading::Refused(Refusal::Framing(invalid)),
        Ok(_) if status < 200 => Reading::Complete { length, outline: Outline::Interim },
        Ok((body, keep_alive_if_framed)) => {
            let outline = Outline::Final { status, header_bytes: length as u64, body, keep_alive_if_framed };
            Reading::Complete { length, outline }
        }
    }
}

/// A plain reading of RFC 9112 §6.3 and §9.3: the body and whether the connection is kept if the body has an end of
/// its own.
fn reference_framing(
    headers: &[httparse::Header],
    status: u16,
    version: u8,
) -> Result<(Body, bool), InvalidFraming> {
    let length = reference_length(headers)?;
    let codings = reference_codings(headers)?;
    let body = match (&codings, length) {
        _ if status == 204 || status == 304 => Body::Absent,
        (Some(codings), _) if codings.last().is_some_and(|coding| coding == "chunked") => Body::Chunked,
        (Some(_), _) | (None, None) => Body::UntilClose,
        (None, Some(0)) => Body::Absent,
        (None, Some(length)) => Body::Length(length),
    };
    let options = elements(headers, "connection").unwrap_or_default();
    let has = |option: &str| options.iter().any(|given| given == option);
    let is_faulty = codings.is_some() && (length.is_some() || version == 0);
    Ok((body, !is_faulty && !has("close") && (version == 1 || has("keep-alive"))))
}

/// The Content-Length, where there is one.
fn reference_length(headers: &[httparse::Header]) -> Result<Option<u64>, InvalidFraming> {
    let Some(texts) = elements(headers, "content-length") else { return Ok(None) };
    let is_decimal = |text: &&String| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    let numbers: Vec<u64> = texts.iter().filter(is_decimal).filter_map(|text| text.parse().ok()).collect();
    let is_valid = numbers.len() == texts.len() && numbers.iter().all(|number| *number == numbers[0]);
    if is_valid { Ok(numbers.first().copied()) } else { Err(InvalidFraming) }
}

/// The transfer codings, where the field is there.
fn reference_codings(headers: &[httparse::Header]) -> Result<Option<Vec<String>>, InvalidFraming> {
    let Some(mut codings) = elements(headers, "transfer-encoding") else { return Ok(None) };
    codings.retain(|coding| !coding.is_empty());
    let is_valid = codings.iter().all(|coding| {
        let name = coding.split(';').next().unwrap_or_default().trim();
        let is_token_character = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        !name.is_empty() && name.chars().all(is_token_character) && (name != "chunked" || coding == "chunked")
    });
    let is_chunked_once = codings.iter().filter(|coding| *coding == "chunked").count() <= 1;
    if is_valid && is_chunked_once { Ok(Some(codings)) } else { Err(InvalidFraming) }
}

/// The elements of all fields of this name, in lower case and unfolded; `None` without such a field.
fn elements(headers: &[httparse::Header], name: &str) -> Option<Vec<String>> {
    let fields: Vec<String> = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name))
        .map(|header| String::from_utf8_lossy(header.value).to_lowercase().replace(['\r', '\n'], " "))
        .collect();
    (!fields.is_empty()).then(|| fields.join(",").split(',').map(|part| part.trim().to_owned()).collect())
}

/// Our reading, byte by byte, so that the end of an interim response is seen too.
fn read_ours(bytes: &[u8]) -> Reading<Malformed> {
    // To HEAD, every final response ends with its header block, whatever its framing.
    let mut parser = ResponseParser::new(Limits::default());
    for (place, byte) in bytes.iter().enumerate() {
        let length = place + 1;
        match parser.feed(&[*byte], RequestKind::Head) {
            Err(malformed) => return Reading::Refused(malformed),
            Ok(Progress { response: Some(response), .. }) => {
                let outline = Outline::Final {
                    status: response.status,
                    header_bytes: response.header_bytes,
                    body: our_body(&bytes[..length]),
                    keep_alive_if_framed: response.keep_alive,
                };
                return Reading::Complete { length, outline };
            }
            Ok(_) if parser.clone().end_of_input() == Err(ClosedEarly::InHeader { received_bytes: 0 }) => {
                return Reading::Complete { length, outline: Outline::Interim };
            }
            Ok(_) => {}
        }
    }
    Reading::Incomplete
}

/// The framing after a complete header block: what is missing if the input ends there.
fn our_body(header_block: &[u8]) -> Body {
    let mut parser = ResponseParser::new(Limits::default());
    let progress =
        parser.feed(header_block, RequestKind::Other).expect("the block was accepted byte by byte");
    if progress.response.is_some() {
        return Body::Absent;
    }
    match parser.end_of_input() {
        Ok(_) => Body::UntilClose,
        Err(ClosedEarly::InBody { expected_bytes, .. }) => Body::Length(expected_bytes),
        Err(ClosedEarly::InChunkedBody { .. }) => Body::Chunked,
        Err(closed @ ClosedEarly::InHeader { .. }) => panic!("the header block is complete: {closed}"),
    }
}

/// Whether the two agree, or differ for this known reason. Refusing at different bytes of a block is no difference.
pub(crate) fn compare(bytes: &[u8]) -> Result<Option<Difference>, String> {
    let (ours, reference) = (read_ours(bytes), read_reference(bytes));
    let is_agreed = match (&ours, &reference) {
        (
            Reading::Complete { length, outline },
            Reading::Complete { length: reference_length, outline: reference_outline },
        ) => (length, outline) == (reference_length, reference_outline),
        (Reading::Complete { .. }, _) | (_, Reading::Complete { .. }) => false,
        _ => true,
    };
    if is_agreed {
        return Ok(None);
    }
    match known_difference(bytes, &ours, &reference) {
        Some(difference) => Ok(Some(difference)),
        None => Err(format!("{}\nours: {ours:?}\nreference: {reference:?}", bytes.escape_ascii())),
    }
}
