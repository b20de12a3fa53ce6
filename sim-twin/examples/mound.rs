//! The mesh of the scene `mound`: `cargo run -p palpate-twin --example mound > scenes/mound.msh`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", palpate_twin::mesh::mound::msh()?);
    Ok(())
}
