//! The requests of a web load as the work of its threads.

use loadcurve_plan::{ExpectedStatus, Nanos};
use loadcurve_record::{ConnectionLimits, Failure, Recorder, Shown, StatusClass};
use loadcurve_wire::{BodyPart, ErrorCode, Http2Counts, HttpExchange, Refusal, Response};

use super::redirection;
use super::{RequestSource, TargetReader};
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
    fn asked<'a>(
        &'a self,
        reader: &'a mut TargetReader,
        number: u64,
        operation: usize,
    ) -> Result<Asked<'a, Self>, Failure> {
        let (template, listed) = (self.template(operation), reader.listed(number)?);
        Ok(Asked {
            template: &template.request,
            target: listed.map(|listed| listed.target),
            expected: listed.map_or(template.expected_status, |listed| listed.expected),
        })
    }

    fn append_body(&self, operation: usize, part: BodyPart, to: &mut Vec<u8>) -> Result<(), Failure> {
        let body = self.template(operation).body.as_ref();
        body.map_or(Ok(()), |body| body.append(part.offset, part.bytes, to).map(drop))
    }

    #[inline]
    fn judge(&self, request: &InFlight<ExpectedStatus>, response: &Response, now: Nanos) -> Judged {
        Judged {
            is_mismatched: self.template(request.operation).is_mismatched_by(response),
            shown: Some(shown(response, request.expected, request.first_byte.unwrap_or(now))),
        }
    }

    fn refused(refusal: &Refusal) -> Failure {
        match refusal {
            Refusal::Reset(code) => reset(*code),
            Refusal::Malformed(_) => Failure::Malformed,
        }
    }

    fn record_connection(exchange: &mut E, is_established: bool, recorder: &mut Recorder) {
        if recorder.redirected_to.is_none()
            && let Some(location) = exchange.first_location()
        {
            recorder.redirected_to = Some(redirection::in_words(location));
        }
        if is_established && let Some(counts) = exchange.take_counts() {
            recorder.multiplexing.add(&recorded(counts));
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

/// What a response shows whose first byte came then: without another expectation any status but that of an error is right.
pub(crate) fn shown(response: &Response, expected: Option<ExpectedStatus>, first_byte: Nanos) -> Shown {
    let class = StatusClass::of(response.status);
    Shown {
        first_byte,
        class,
        is_right: expected.map_or(!class.row().is_error, |expected| expected.is_met_by(response.status)),
        was_expected: expected.is_some(),
        has_content: (200..300).contains(&response.status),
        header_bytes: response.header_bytes,
        body_bytes: response.body_bytes,
        framing_bytes: response.framing_bytes,
    }
}

/// What was counted of a connection as results count it.
fn recorded(counts: Http2Counts) -> ConnectionLimits {
    ConnectionLimits {
        streams_allowed: counts.streams_allowed,
        was_limited: counts.was_limited,
        ended_by: counts.ended_by,
        streams_abandoned: counts.streams_abandoned,
        streams_refused: counts.streams_refused,
        bodies_delayed: counts.bodies_delayed,
        windows_used_up: counts.windows_used_up,
        answers_behind_long: counts.answers_behind_long,
    }
}
