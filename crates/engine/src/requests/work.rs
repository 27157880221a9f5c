//! The requests of a web load as the work of its threads.

use loadcurve_plan::{ExpectedStatus, Nanos};
use loadcurve_record::{Extremes, Failure, Multiplexing, Recorder, Shown, StatusClass};
use loadcurve_wire::{BodyPart, ErrorCode, Http2Counts, HttpExchange, Refusal, Response, Tag};

use super::{RequestSource, TargetReader};
use super::{grpc, quic, redirection, websocket};
use crate::connection::refused;
use crate::places::InFlight;
use crate::work::{Asked, Judged, Work};

impl<E: HttpExchange> Work for RequestSource<E> {
    type Exchange = E;
    type Reader = TargetReader;
    type Expected = ExpectedStatus;

    fn reader(&self) -> TargetReader {
        TargetReader::of(self)
    }

    fn tallies(&self) -> usize {
        self.tally_labels().len()
    }

    #[inline]
    fn operation(&self, number: u64) -> usize {
        Self::operation(self, number)
    }

    #[inline]
    fn tally(&self, operation: usize) -> usize {
        Self::tally(self, operation)
    }

    #[inline]
    fn asked<'a>(
        &'a self,
        reader: &'a mut TargetReader,
        number: u64,
        operation: usize,
    ) -> Result<Asked<'a, Self>, Failure> {
        let listed = reader.listed(number)?;
        Ok(Asked {
            template: self.sent(number, operation),
            target: listed.map(|listed| listed.target),
            expected: listed.and_then(|listed| listed.expected),
        })
    }

    fn append_body(&self, operation: usize, part: BodyPart, to: &mut Vec<u8>) -> Result<(), Failure> {
        let body = self.template(operation).body.as_ref();
        body.map_or(Ok(()), |body| body.append(part.offset, part.bytes, to).map(drop))
    }

    fn reopen(exchange: &mut E, tag: Tag, asked: &Asked<'_, Self>, last_id: &[u8], to: &mut Vec<u8>) {
        exchange.reopen(tag, asked.template, asked.target, last_id, to);
    }

    #[inline]
    fn judge(&self, request: &InFlight<ExpectedStatus>, response: &Response, now: Nanos) -> Judged {
        let template = self.template(request.operation);
        if let Some(grpc) = self.grpc {
            return Judged {
                failure: grpc::failure(grpc, response),
                shown: Some(shown(
                    response,
                    grpc::is_http_right(response),
                    request.first_byte.unwrap_or(now),
                )),
            };
        }
        let is_met = match (&request.expected, &template.expected) {
            (Some(of_line), _) => Some(of_line.is_met_by(response.status)),
            (None, Some(of_template)) => Some(of_template.is_met_by(response.status)),
            (None, None) => None,
        };
        Judged {
            failure: template.is_mismatched_by(response).then_some(Failure::Mismatch),
            shown: Some(shown(response, is_met, request.first_byte.unwrap_or(now))),
        }
    }

    #[inline]
    fn lengths(response: &Response) -> (u64, u64) {
        (response.body_bytes, response.framing_bytes)
    }

    const REFUSED_TWICE: Failure =
        if E::IS_HTTP3 { Failure::H3RequestRejected } else { Failure::StreamRefused };

    fn refused(refusal: &Refusal) -> Failure {
        match refusal {
            Refusal::Reset(code) => reset(*code),
            Refusal::ResetHttp3(code) => quic::reset(*code),
            Refusal::Malformed(malformed) => refused(*malformed),
            Refusal::Ended(status) => grpc::ended(*status),
            Refusal::Closed(code) => closed(*code),
        }
    }

    fn record_connection(exchange: &mut E, is_established: bool, recorder: &mut Recorder) {
        if recorder.redirected_to.is_none()
            && let Some(location) = exchange.first_location()
        {
            recorder.redirected_to = Some(redirection::in_words(location));
        }
        if is_established && let Some(counts) = exchange.take_counts() {
            add(&mut recorder.multiplexing, &counts);
        }
        for counts in exchange.take_compression_counts() {
            websocket::add(&mut recorder.compression, &counts);
        }
        if let Some(counts) = exchange.take_http3_counts() {
            quic::add(&mut recorder.quic, &counts, is_established);
        }
    }
}

/// The class of a stream that its server has reset with this code (RFC 9113, section 7).
fn reset(code: ErrorCode) -> Failure {
    match code {
        ErrorCode::ProtocolError
        | ErrorCode::FlowControlError
        | ErrorCode::SettingsTimeout
        | ErrorCode::StreamClosed
        | ErrorCode::FrameSizeError
        | ErrorCode::CompressionError => Failure::StreamProtocolError,
        ErrorCode::InternalError => Failure::StreamInternalError,
        ErrorCode::RefusedStream => Failure::StreamRefused,
        ErrorCode::Cancel => Failure::StreamCancelled,
        ErrorCode::EnhanceYourCalm => Failure::StreamExcessive,
        ErrorCode::NoError
        | ErrorCode::ConnectError
        | ErrorCode::InadequateSecurity
        | ErrorCode::Http11Required
        | ErrorCode::Other(_) => Failure::StreamReset,
    }
}

/// The class of a WebSocket that its server has closed with this code (RFC 6455, section 7.4, and IANA's later ones).
fn closed(code: u16) -> Failure {
    match code {
        // The last one stands for no code.
        1000 | 1005 => Failure::ClosedNormally,
        1001 | 1012 => Failure::ClosedGoingAway,
        // This one stands for an end without a close frame.
        1006 => Failure::ClosedEarly,
        1002 | 1003 | 1007 | 1010 => Failure::ClosedProtocolError,
        1008 => Failure::ClosedPolicy,
        1009 => Failure::ClosedTooBig,
        1011 | 1013 | 1014 => Failure::ClosedInternalError,
        _ => Failure::ClosedOther,
    }
}

/// What a response shows whose first byte came then, and which is as expected or not: without an expectation any status but
/// that of an error is right.
pub(crate) fn shown(response: &Response, is_met: Option<bool>, first_byte: Nanos) -> Shown {
    Shown {
        first_byte,
        status: response.status,
        is_right: is_met.unwrap_or(!StatusClass::of(response.status).row().is_error),
        was_expected: is_met.is_some(),
        has_content: (200..300).contains(&response.status),
        header_bytes: response.header_bytes,
        body_bytes: response.body_bytes,
        content_bytes: response.content_bytes(),
        framing_bytes: response.framing_bytes,
    }
}

/// Adds what was counted of a connection to what is counted of all.
fn add(all: &mut Multiplexing, connection: &Http2Counts) {
    let allowed = connection.streams_allowed.map(|(least, most)| (least.into(), most.into()));
    all.streams_allowed.merge(Extremes(allowed));
    all.connections_limited += u64::from(connection.was_limited);
    if let Some(code) = connection.ended_by {
        all.connections_ended.add(code);
    }
    all.streams_abandoned += connection.streams_abandoned;
    all.streams_refused += connection.streams_refused;
    all.bodies_delayed += connection.bodies_delayed;
    all.windows_used_up += connection.windows_used_up;
    all.answers_behind_long += connection.answers_behind_long;
}

#[cfg(test)]
mod tests {
    use loadcurve_plan::Nanos;

    use super::{Extremes, Http2Counts, Multiplexing, add};

    fn connection(allowed: Option<(u32, u32)>, was_limited: bool) -> Http2Counts {
        Http2Counts {
            streams_allowed: allowed,
            was_limited,
            ended_by: allowed.map(|(least, _)| if was_limited { 0 } else { least }),
            streams_abandoned: 5,
            streams_refused: 1,
            bodies_delayed: 2,
            windows_used_up: 3,
            answers_behind_long: 4,
        }
    }

    #[test]
    fn connections_add_up_and_limits_widen_in_whatever_order_recordings_merge() {
        let connections =
            [connection(Some((8, 8)), true), connection(None, false), connection(Some((128, 256)), false)];
        for split in 0..=connections.len() {
            let (mut first, mut second) = (Multiplexing::default(), Multiplexing::default());
            connections[..split].iter().for_each(|one| add(&mut first, one));
            connections[split..].iter().for_each(|one| add(&mut second, one));
            first.stream_wait.record(Nanos(1_000));
            second.stream_wait.record(Nanos(3_000));
            first.merge(&second);
            assert_eq!(first.streams_allowed, Extremes(Some((8, 256))));
            assert_eq!(first.connections_limited, 1);
            // NO_ERROR is 0, and nothing is 128.
            let ended: Vec<_> = first.connections_ended.named().collect();
            assert_eq!(ended, [("NO_ERROR", 1), ("unknown", 1)]);
            assert_eq!((first.connections_ended.total(), first.connections_ended.by_error()), (2, 1));
            assert_eq!(first.streams_abandoned, 15);
            assert_eq!((first.streams_refused, first.bodies_delayed), (3, 6));
            assert_eq!((first.windows_used_up, first.answers_behind_long), (9, 12));
            assert_eq!(first.stream_wait.extremes(), Some((Nanos(1_000), Nanos(3_000))));
        }
    }

    #[test]
    fn where_no_server_has_set_a_limit_none_is_reported() {
        let mut all = Multiplexing::default();
        add(&mut all, &connection(None, false));
        assert_eq!(all.streams_allowed, Extremes(None));
    }
}
