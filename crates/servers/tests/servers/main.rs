//! The forking servers: what they answer.

mod cases;
mod folder;
mod memory;
mod response;
mod splits;
