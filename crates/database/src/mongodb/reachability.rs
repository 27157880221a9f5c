//! What the driver's monitors have found out about the servers.
//!
//! An operation that finds no server waits in the driver until the driver's time is up and then hears of it in words
//! only. The monitors know the cause at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use loadcurve_record::Failure;
use mongodb::event::EventHandler;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::ServerAddress;
use tokio::sync::watch;

use super::failures::failed;
use crate::database::Failed;

/// What is known of a server, or of all together.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    /// Nothing has been heard yet.
    Unknown,
    /// It answers; of several, one does.
    Reached,
    /// It has answered before, and now takes too long.
    Slow,
    /// It does not answer, and why; of several, none does.
    Unreachable(Failed),
}

#[derive(Default)]
struct Servers {
    asked: HashMap<ServerAddress, Reach>,
    /// Whether the driver has turned away from any.
    is_any_left_out: bool,
}

impl Servers {
    fn hear(&mut self, event: SdamEvent) {
        match event {
            SdamEvent::ServerOpening(event) => {
                self.asked.entry(event.address).or_insert(Reach::Unknown);
            }
            SdamEvent::ServerClosed(event) => {
                self.asked.remove(&event.address);
                self.is_any_left_out = true;
            }
            SdamEvent::ServerHeartbeatSucceeded(event) => {
                self.asked.insert(event.server_address, Reach::Reached);
            }
            SdamEvent::ServerHeartbeatFailed(event) => {
                let failed = failed(&event.failure);
                let server = self.asked.entry(event.server_address).or_insert(Reach::Unknown);
                *server = match (&server, failed.failure) {
                    (Reach::Reached | Reach::Slow, Failure::ConnectTimeout) => Reach::Slow,
                    _ => Reach::Unreachable(failed),
                };
            }
            _ => {}
        }
    }

    /// What holds for all together: the best that is known of any.
    fn reach(&self) -> Reach {
        if self.asked.is_empty() && self.is_any_left_out {
            let text = "none of the servers in the address belongs to its replica set (replicaSet)";
            return Reach::Unreachable(Failed::new(Failure::ConnectRefused, text));
        }
        let rank = |reach: &Reach| match reach {
            Reach::Reached => 0,
            Reach::Slow => 1,
            Reach::Unknown => 2,
            Reach::Unreachable(_) => 3,
        };
        self.asked.values().min_by_key(|reach| rank(reach)).cloned().unwrap_or(Reach::Unknown)
    }
}

/// The latest news of the servers.
pub(super) struct Reachability {
    news: watch::Receiver<Reach>,
}

impl Reachability {
    /// The news, and what receives the driver's events.
    pub(super) fn new() -> (Self, EventHandler<SdamEvent>) {
        let (tell, news) = watch::channel(Reach::Unknown);
        let servers = Mutex::new(Servers::default());
        let handler = move |event: SdamEvent| {
            let mut servers = servers.lock().unwrap_or_else(PoisonError::into_inner);
            servers.hear(event);
            tell.send_replace(servers.reach());
        };
        (Self { news }, EventHandler::Callback(Arc::new(handler)))
    }

    /// Comes back once no server can be reached, with the cause.
    pub(super) async fn lost(&self) -> Failed {
        let mut news = self.news.clone();
        match news.wait_for(|reach| matches!(reach, Reach::Unreachable(_))).await {
            Ok(reach) => match &*reach {
                Reach::Unreachable(failed) => failed.clone(),
                Reach::Unknown | Reach::Reached | Reach::Slow => unreachable!("it was waited for"),
            },
            // The driver is gone, and with it whoever could still have news.
            Err(_) => std::future::pending().await,
        }
    }

    /// What it means that an operation has had no answer in time: nobody to ask, or nothing said.
    pub(super) fn overdue(&self) -> Failed {
        match &*self.news.borrow() {
            Reach::Unknown => Failed::new(Failure::ConnectTimeout, "no server answered within the timeout"),
            Reach::Reached | Reach::Slow => Failed::new(Failure::Timeout, "no answer within the timeout"),
            Reach::Unreachable(failed) => failed.clone(),
        }
    }

    /// What it means that the driver found no server for an operation, or took its connection away; `refusal` is what it
    /// says itself, which tells more only where there are servers.
    pub(super) fn without_server(&self, refusal: Failed) -> Failed {
        match &*self.news.borrow() {
            Reach::Reached => refusal,
            Reach::Unknown | Reach::Slow | Reach::Unreachable(_) => self.overdue(),
        }
    }
}
