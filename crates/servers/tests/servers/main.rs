//! The forking servers: what they answer, in memory and as the real program over sockets. And the faults of `limit`.

mod answers;
mod cases;
mod clock;
mod connections;
mod faults;
mod folder;
mod memory;
mod options;
mod pipelining;
mod process;
mod processes;
mod response;
mod splits;
