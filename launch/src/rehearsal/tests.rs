//! Tests of scripts and rehearsals.
