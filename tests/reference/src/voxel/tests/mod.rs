//! Tests by rows of seed-001.

mod dragged;
mod force;
mod link_row_bench;
mod press;
mod printed_chainmail;
mod propagation;
mod raster;
mod relaxation;
mod storage;
mod volume_constraint;
