//! A press so deep that the faces under it are stretched.

use super::*;

#[test]
fn a_ball_is_pressed_by_three_of_its_radii() {
    // faces that counted less when stretched would let it break through
    let mut tissue = tissue((8, 4), &Params::default());
    for step in 0..420 {
        let depth_m = (4e-5 * f64::from(step)).min(0.016);
        tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3));
    }
    assert_eq!(tissue.collapses(), 0);
}
