//! What a load asks, as a worker sees it: it knows when to ask, and neither what is asked nor what an answer is.

use std::fmt::Debug;

use loadcurve_plan::Nanos;
use loadcurve_record::{Failure, Recorder, Shown};
use loadcurve_wire::{BodyPart, Exchange, Refusal, Tag};

use crate::places::InFlight;

/// The work of a load in a protocol: its operations, what is expected of their answers, and what is counted of them.
///
/// All threads share one; what a thread needs for itself is its reader.
pub(crate) trait Work: Send + Sync {
    /// What speaks on a connection.
    type Exchange: Exchange;
    /// How a thread finds what its requests ask for.
    type Reader: Send;
    /// What is expected of an answer when its request is written.
    type Expected: Copy + Debug + Send;

    /// A reader for one thread.
    fn reader(&self) -> Self::Reader;

    /// How many figures of operations there are.
    fn tallies(&self) -> usize;

    /// Which operation is request `number` of the load.
    fn operation(&self, number: u64) -> usize;

    /// Which of the figures an operation counts for; several may share one.
    fn tally(&self, operation: usize) -> usize;

    /// What request `number` of the load, of this operation, asks for.
    ///
    /// # Errors
    /// It cannot be found any more.
    fn asked<'a>(
        &'a self,
        reader: &'a mut Self::Reader,
        number: u64,
        operation: usize,
    ) -> Result<Asked<'a, Self>, Failure>;

    /// Appends a part of the body of a request of this operation, where its template does not have it.
    ///
    /// # Errors
    /// The body cannot be read any more.
    fn append_body(&self, operation: usize, part: BodyPart, to: &mut Vec<u8>) -> Result<(), Failure>;

    /// Begins a request that opens a stream of events again, behind the event with this id. A work without such streams has
    /// none to open again.
    fn reopen(
        exchange: &mut Self::Exchange,
        tag: Tag,
        asked: &Asked<'_, Self>,
        _last_id: &[u8],
        to: &mut Vec<u8>,
    ) {
        exchange.begin(tag, asked.template, asked.target, to);
    }

    /// What an answer that is complete `now` is for results.
    fn judge(&self, request: &InFlight<Self::Expected>, answer: &AnswerOf<Self>, now: Nanos) -> Judged;

    /// How long an answer is, without its framing, and its framing, where messages are counted by that.
    fn lengths(_answer: &AnswerOf<Self>) -> (u64, u64) {
        (0, 0)
    }

    /// The class of a request that the peer has twice refused to look at.
    const REFUSED_TWICE: Failure = Failure::StreamRefused;

    /// The class of the failure of a request that the peer alone has refused.
    fn refused(refusal: &Refusal) -> Failure;

    /// Records what was counted and seen on a connection since it was opened, or since this was last done.
    fn record_connection(exchange: &mut Self::Exchange, is_established: bool, recorder: &mut Recorder);
}

/// What a request asks for.
pub(crate) struct Asked<'a, W: Work + ?Sized> {
    pub(crate) template: &'a <W::Exchange as Exchange>::Template,
    /// What the template leaves open.
    pub(crate) target: Option<&'a [u8]>,
    pub(crate) expected: Option<W::Expected>,
}

/// What an answer is for results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    /// Why the request has failed, where its answer is not what was asked for.
    pub(crate) failure: Option<Failure>,
    /// What it shows beside its times, where it shows statuses and bytes.
    pub(crate) shown: Option<Shown>,
}

/// What an answer to a work's requests shows.
pub(crate) type AnswerOf<W> = <<W as Work>::Exchange as Exchange>::Answer;

/// How the bytes of a work's protocol travel.
pub(crate) type CarrierOf<W> = <<W as Work>::Exchange as Exchange>::Carrier;

/// How a work's protocol is spoken.
pub(crate) type SettingsOf<W> = <<W as Work>::Exchange as Exchange>::Settings;
