//! The forking servers: what they answer, in memory and as the real program over sockets.

mod answers;
mod cases;
mod connections;
mod folder;
mod memory;
mod options;
mod pipelining;
mod process;
mod processes;
mod response;
mod splits;
