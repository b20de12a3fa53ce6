//! Test of a press so deep that the faces under it are stretched.

use super::*;

#[test]
fn a_sphere_is_pressed_by_three_of_its_radii() {
    // the sphere would break through if stretched faces counted less
    let mut tissue = tissue((8, 4), &ExplicitParams::default());
    for step in 0..420 {
        let depth_m = (4e-5 * f64::from(step)).min(0.016);
        tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3));
    }
    assert_eq!(tissue.collapses(), 0);
}
