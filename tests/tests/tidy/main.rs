//! The rules of the house as assertions: who knows whom, what must not be where, how long things are, and that nothing
//! lies unreached.
//!
//! Source: ARCHITECTURE.md. Read from the manifests and the sources, so that a rule and the tree cannot drift apart.
//! Comments and the contents of strings count for none of the code rules.

mod crates;
mod places;
mod reach;
mod scan;
mod shape;
mod signature;
mod text;
