//! The parser of responses: what real servers send, any split of it, what is refused, and what another parser says.

mod closing;
mod corpus;
mod differential;
mod limits;
mod malformed;
mod reading;
mod reference;
mod splits;
