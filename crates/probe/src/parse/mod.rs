//! Files of `/proc` and of control groups, and answers of the kernel, as figures: pure functions over bytes.
//!
//! Each returns nothing where the bytes are not what proc(5) or the kernel's documentation of control groups says, so
//! that a file of an older kernel, or one that is cut off, is an absent figure and never a wrong one.

pub(crate) mod group;
pub(crate) mod inet_diag;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod process;
pub(crate) mod text;

#[cfg(test)]
mod tests;
