//! Tests of pictures: visible surfaces are drawn, hidden ones are not.

use palpate_twin::{Instrument, TissueEnergy};
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::surface::VoxelSurface;

use super::camera::Camera;
use super::canvas::Canvas;
use super::*;

/// Edge of the block, in nodes.
const EDGE: i32 = 30;

fn block() -> VoxelNodes<f32> {
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1e-3; 3],
    };
    let sites = (0..EDGE * EDGE * EDGE).map(|n| [n % EDGE, n / EDGE % EDGE, n / EDGE / EDGE]);
    let seeds: Vec<NodeSeed> = sites
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 0,
        })
        .collect();
    let material = VoxelMaterial::of_young("gel", 1000.0, 0.49);
    VoxelNodes::new(frame, vec![material], &seeds).expect("a block")
}

/// Returns vertices and faces of the surface of a voxel model.
fn shown(nodes: &VoxelNodes<f32>) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<u32>) {
    let surface = VoxelSurface::new(nodes);
    let at = |&node: &u32| nodes.position_m(node);
    let positions_m = surface.vertices().iter().map(at).collect();
    (
        positions_m,
        surface.faces().to_vec(),
        surface.vertices().to_vec(),
    )
}

fn view<'a>(positions_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> TissueView<'a> {
    TissueView::new(positions_m, positions_m, faces, TissueEnergy::default())
}

/// Draws the surface in black with a pixel of the colour of tissue at every vertex that no face hides; a distance
/// below the width of a pixel counts as on the face.
fn points(view: &TissueView<'_>, width: usize, height: usize) -> Canvas {
    let camera = Camera::around(view.positions_m, width, height).expect("places");
    let mut canvas = Canvas::new(width, height);
    for face in view.faces {
        let corners = face.map(|vertex| camera.project(&view.positions_m[vertex as usize]));
        canvas.triangle(&corners.map(|seen| (seen, [0.0; 3])));
    }
    for at_m in view.positions_m {
        let seen = camera.project(at_m).nearer(2.0 * camera.m_per_pixel);
        let [x, y] = seen.pixel.map(f64::floor);
        // around the middle of this pixel and of no other
        let corners = [[x - 0.2, y - 0.2], [x + 1.6, y - 0.2], [x - 0.2, y + 1.6]];
        canvas
            .triangle(&corners.map(|pixel| (super::camera::ScreenPoint { pixel, ..seen }, TISSUE)));
    }
    canvas
}

/// Counts the pixels in the colour of tissue.
fn drawn(canvas: &Canvas) -> usize {
    let of_tissue = |c: &&[f64; 3]| (0..3).all(|n| (c[n] - TISSUE[n]).abs() < 1e-9);
    canvas.colours().iter().filter(of_tissue).count()
}

/// RN-01: the surface of a block of 30^3 as points: as many as it has surface nodes, and in the picture those of the
/// three sides that face the eye, and no others.
#[test]
fn rn_01_only_points_of_the_visible_surface_are_drawn() {
    let nodes = block();
    let (positions_m, faces, vertices) = shown(&nodes);
    let n = usize::try_from(EDGE).expect("positive");
    assert_eq!(vertices.len(), n.pow(3) - (n - 2).pow(3));
    let view = view(&positions_m, &faces);
    let canvas = points(&view, 900, 900);
    // sides at the least x and y and the greatest z
    let visible = |at_m: &&Vec3| at_m.x < 1e-6 || at_m.y < 1e-6 || at_m.z > 0.029 - 1e-6;
    let seen: Vec<&Vec3> = positions_m.iter().filter(visible).collect();
    assert_eq!(seen.len(), 3 * n * n - 3 * n + 1);
    let count = drawn(&canvas);
    assert_eq!(count, seen.len());
    let camera = Camera::around(&positions_m, 900, 900).expect("places");
    for at_m in seen {
        let [x, y] = camera.project(at_m).pixel;
        let colour = canvas.colours()[y as usize * 900 + x as usize];
        assert!(
            (0..3).all(|n| (colour[n] - TISSUE[n]).abs() < 1e-9),
            "{at_m}"
        );
    }
    // one node of the inside would be one too many: it must be hidden
    let mut more = positions_m.clone();
    more.push(Vec3::new(0.015, 0.015, 0.015));
    assert_eq!(drawn(&points(&self::view(&more, &faces), 900, 900)), count);
}

/// Returns true if every pixel has a colour, up to rounding.
fn all_are(canvas: &Canvas, colour: [f64; 3]) -> bool {
    let is = |c: &[f64; 3]| (0..3).all(|n| (c[n] - colour[n]).abs() < 1e-9);
    canvas.colours().iter().all(is)
}

#[test]
fn nearer_surfaces_hide_farther_ones() {
    let mut canvas = Canvas::new(20, 20);
    let corner = |pixel, near_m| super::camera::ScreenPoint { pixel, near_m };
    let triangle = |near_m: f64, colour: [f64; 3]| {
        [[-20.0, -20.0], [60.0, -20.0], [-20.0, 60.0]].map(|at| (corner(at, near_m), colour))
    };
    canvas.triangle(&triangle(1.0, [1.0, 0.0, 0.0]));
    canvas.triangle(&triangle(0.0, [0.0, 1.0, 0.0]));
    assert!(all_are(&canvas, [1.0, 0.0, 0.0]));
    canvas.triangle(&triangle(2.0, [0.0, 0.0, 1.0]));
    assert!(all_are(&canvas, [0.0, 0.0, 1.0]));
    // points without coordinates are not drawn
    canvas.triangle(&triangle(f64::NAN, [0.0; 3]));
    canvas.triangle(&[[f64::NAN; 2]; 3].map(|at| (corner(at, 9.0), [0.0; 3])));
    assert!(all_are(&canvas, [0.0, 0.0, 1.0]));
}

/// The picture can be read by another decoder, and shows tool, tissue and force.
#[test]
fn a_picture_is_a_png_of_tissue_tool_and_force() {
    let nodes = block();
    let (positions_m, faces, _) = shown(&nodes);
    let tool = Tool {
        position_m: Vec3::new(0.015, 0.015, 0.033),
        velocity_mps: Vec3::zeros(),
        radius_m: 0.004,
        stiffness_npm: 1000.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    };
    let draw = |tools: &[(Tool, Vec3)]| {
        let view = view(&positions_m, &faces);
        let png = picture(
            &view,
            None,
            &positions_m,
            PictureSize {
                width: 120,
                height: 80,
            },
            |canvas, camera| {
                for (tool, force_n) in tools {
                    draw_tool(canvas, camera, tool, force_n);
                }
            },
        );
        let png = png.expect("a surface");
        let decoder = png::Decoder::new(std::io::Cursor::new(png));
        let mut reader = decoder.read_info().expect("a header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!((info.width, info.height), (120, 80));
        pixels
    };
    let bluest = |pixels: &[u8]| {
        let rows = pixels.chunks_exact(3);
        rows.filter(|p| p[2] > p[0].saturating_add(60)).count()
    };
    let (alone, with) = (draw(&[]), draw(&[(tool, Vec3::zeros())]));
    assert_ne!(alone, with, "the tool is seen");
    assert_eq!(bluest(&with), 0, "no force, no arrow");
    assert!(
        bluest(&draw(&[(tool, Vec3::z())])) > 20,
        "the force is seen"
    );
    assert_eq!(draw(&[(tool, Vec3::z())]), draw(&[(tool, Vec3::z())]));
}

#[test]
fn an_empty_scene_gives_no_picture() {
    assert!(
        picture(
            &view(&[], &[]),
            None,
            &[],
            PictureSize {
                width: 10,
                height: 10
            },
            |_, _| {}
        )
        .is_none()
    );
    let places = [Vec3::zeros(); 3];
    assert!(Camera::around(&places, 10, 10).is_none(), "no extent");
    assert!(Camera::around(&[Vec3::zeros(), Vec3::x()], 0, 10).is_none());
}

/// The picture presses tissue that lies higher as deep as the session did.
#[test]
fn picture_of_the_hardest_press_follows_the_height_of_the_tissue() {
    use palpate_session::config::Config;
    use palpate_transport::trace::TickRecord;
    let caption = |height_m: f64| {
        let config = Config {
            tissue: "sheet".into(),
            tissue_height_m: height_m,
            ..Config::default()
        };
        let record = |depth_m: f64| TickRecord {
            position_m: [0.0, 0.0, 0.008 + height_m - depth_m, 0.0],
            tissue_force_n: [0.0, 0.0, 200.0 * depth_m, 0.0],
            ..TickRecord::default()
        };
        let slave = [0.0, 0.002, 0.004].map(record);
        let render = super::peak_press::peak_render(&config, &slave);
        render.expect("a press").caption
    };
    let home = caption(0.0);
    assert!(!home.contains(" 0.00 N in this picture"), "{home}");
    assert_eq!(caption(0.02), home);
}

#[test]
fn issue_tissue_that_was_pulled_open_was_shown_whole() {
    use palpate_transport::trace::TickRecord;
    let record = |force_n: f64, edit_batches| TickRecord {
        tissue_force_n: [0.0, 0.0, force_n, 0.0],
        edit_batches,
        ..TickRecord::default()
    };
    let opened = [record(0.2, 0), record(0.5, 0), record(2.0, 7)];
    assert_eq!(super::peak_press::peak(&opened), Some(1));
    assert_eq!(super::peak_press::peak(&opened[2..]), None);
}
