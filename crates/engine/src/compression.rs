//! What the result of a load has that has offered to compress its messages.

use loadcurve_plan::HttpLoad;
use loadcurve_record::{Recorder, Spared};
use serde::Serialize;

/// The compression of the messages of a load, over all its WebSockets, warm-up included.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // The fields are the figures of their names.
pub struct CompressionSummary {
    pub agreed: Vec<Agreed>,
    /// WebSockets whose server has declined, so that their messages were not compressed.
    pub declined: u64,
    pub sent: Spared,
    pub received: Spared,
}

/// On how many connections this was agreed on; over HTTP/2, on how many WebSockets.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Agreed {
    pub extension: String,
    pub connections: u64,
}

/// The compression of a recording, where the plan offers any.
pub(crate) fn summary(plan: &HttpLoad, recorder: &Recorder) -> Option<Box<CompressionSummary>> {
    plan.work.messages.as_ref()?.websocket()?.extension.as_ref()?;
    let counted = &recorder.compression;
    let agreed = counted.agreed.iter();
    Some(Box::new(CompressionSummary {
        agreed: agreed
            .map(|(extension, connections)| Agreed {
                extension: extension.clone(),
                connections: *connections,
            })
            .collect(),
        declined: counted.declined,
        sent: counted.sent,
        received: counted.received,
    }))
}
