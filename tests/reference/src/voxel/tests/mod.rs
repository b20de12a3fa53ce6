//! The rows of seed-001 by name.

mod bench1d;
mod chain;
mod dragged;
mod drawn;
mod force;
mod preserve;
mod press;
mod propagation;
mod relax;
mod storage;
