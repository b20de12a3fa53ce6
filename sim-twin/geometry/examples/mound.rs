//! The mesh of the scene `mound`: `cargo run -p palpate-geometry --example mound > sim-twin/scene/scenes/mound.msh`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", palpate_geometry::mesh::mound::msh()?);
    Ok(())
}
