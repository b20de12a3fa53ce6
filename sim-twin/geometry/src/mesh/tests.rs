//! Tests of several files together.

mod mound;
