//! What a load needs of this machine and what there is, checked before its first connection.

mod descriptors;
mod ports;

use std::path::Path;

use loadcurve_plan::{HttpLoad, Sockets};

use crate::error::StartError;
use crate::io::route::Route;

pub(crate) use descriptors::Descriptors;
pub use ports::LocalPorts;

/// The open files and local ports of a load.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    pub(crate) descriptors: Descriptors,
    /// As they were before the load; `None` if the kernel does not publish them.
    pub(crate) ports: Option<LocalPorts>,
}

/// Makes sure that this many connections can be open at once; raises the soft limit of open files for it.
///
/// # Errors
/// When they cannot: what is needed, what there is and the setting to change.
pub fn allow_connections(connections: usize) -> Result<(), StartError> {
    Descriptors::allow(connections).map(drop).map_err(StartError::Machine)
}

impl Capacity {
    /// Makes sure that this number of a load's connections can be open at once, from the addresses that it names; raises the
    /// soft limit of open files for it.
    ///
    /// # Errors
    /// When they cannot: a sentence with what is needed, what there is and the setting to change.
    pub(crate) fn secure(plan: &HttpLoad, connections: usize) -> Result<Self, String> {
        let route = Route::of(plan, 0, 1).map_err(|errno| format!("{}: {errno}", plan.work.address))?;
        route.require_sources()?;
        let sockets = match plan.work.sockets {
            Sockets::Connection => connections,
            Sockets::Thread => connections.min(plan.threads * route.pairs()),
        };
        let descriptors = Descriptors::allow(sockets)?;
        let ports = route.destinations().and_then(|(first, count)| {
            let ports = LocalPorts::towards(first, Path::new("/proc"))?;
            Some(ports.of_each(route.sources() * count))
        });
        if let Some(ports) = &ports {
            ports.require(sockets)?;
        }
        Ok(Self { descriptors, ports })
    }

    /// The same, with the limit of open files as it is at the end of the load.
    pub(crate) fn at_the_end(self) -> Self {
        Self { descriptors: self.descriptors.now(), ..self }
    }
}
