//! Palpate.
