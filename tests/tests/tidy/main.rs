//! Repository rules as assertions: dependencies, forbidden places, lengths, and reachability.
//!
//! Source: ARCHITECTURE.md. The rules are read from the manifests and the sources, so that they cannot
//! diverge from the tree. Comments and the contents of strings are ignored by the code rules.

mod crates;
mod places;
mod reach;
mod scan;
mod shape;
mod signature;
mod text;
