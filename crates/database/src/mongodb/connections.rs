//! What the driver reports of the connections in its pools.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadcurve_plan::Nanos;
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use mongodb::options::ServerAddress;

use crate::database::ConnectionEvent;

/// The connections of one client of the driver. Those of its monitors are not among them.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Mutex<Reported>>);

enum State {
    Begun,
    Open,
}

#[derive(Default)]
struct Reported {
    /// Those that were not closed; a number counts within the pool of a server.
    alive: HashMap<(ServerAddress, u32), State>,
    events: Vec<ConnectionEvent>,
}

impl Reported {
    fn hear(&mut self, event: CmapEvent) {
        match event {
            CmapEvent::ConnectionCreated(event) => {
                self.alive.insert((event.address, event.connection_id), State::Begun);
            }
            CmapEvent::ConnectionReady(event) => {
                self.alive.insert((event.address, event.connection_id), State::Open);
                self.events.push(ConnectionEvent::Opened(Nanos::from_secs_f64(event.duration.as_secs_f64())));
            }
            CmapEvent::ConnectionClosed(event) => {
                // One that could not be established is closed as well.
                let was = self.alive.remove(&(event.address, event.connection_id));
                self.events.extend(was.map(|state| match state {
                    State::Begun => ConnectionEvent::Failed,
                    State::Open => ConnectionEvent::Closed,
                }));
            }
            _ => {}
        }
    }
}

impl Connections {
    /// What receives the driver's events.
    pub(super) fn handler(&self) -> EventHandler<CmapEvent> {
        let reported = self.clone();
        EventHandler::Callback(Arc::new(move |event| reported.lock().hear(event)))
    }

    /// What has happened since this was asked last.
    pub(super) fn take_events(&self) -> Vec<ConnectionEvent> {
        mem::take(&mut self.lock().events)
    }

    fn lock(&self) -> MutexGuard<'_, Reported> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
