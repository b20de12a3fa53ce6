//! Pictures show what is there and hide what is behind it.

use palpate_twin::{Instrument, Ledger};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::matter::Matter;
use palpate_voxel::surface::Surface;

use super::camera::Camera;
use super::canvas::Canvas;
use super::*;

/// Edge of the block, in elements.
const EDGE: i32 = 30;

fn block() -> Elements<f32> {
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1e-3; 3],
    };
    let sites = (0..EDGE * EDGE * EDGE).map(|n| [n % EDGE, n / EDGE % EDGE, n / EDGE / EDGE]);
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    let matter = Matter::of_young("gel", 1000.0, 0.49);
    Elements::new(frame, vec![matter], &seeds).expect("a block")
}

/// Vertices and faces of the surface of a volume.
fn shown(elements: &Elements<f32>) -> (Vec<Vec3>, Vec<[u32; 3]>, Vec<u32>) {
    let surface = Surface::new(elements);
    let at = |&element: &u32| elements.at_m(element);
    let positions_m = surface.vertices().iter().map(at).collect();
    (
        positions_m,
        surface.faces().to_vec(),
        surface.vertices().to_vec(),
    )
}

fn view<'a>(positions_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> View<'a> {
    View {
        positions_m,
        rest_m: positions_m,
        faces,
        ledger: Ledger::default(),
        topology: None,
        changes: &[],
        edit: 0,
    }
}

/// RN-01: the surface of a block of 30^3 as points: as many as it has elements at its surface, and in the
/// picture those of the three sides that look at the eye, and no others.
#[test]
fn rn_01_only_points_of_the_visible_surface_are_drawn() {
    let elements = block();
    let (positions_m, faces, vertices) = shown(&elements);
    let n = usize::try_from(EDGE).expect("positive");
    assert_eq!(vertices.len(), n.pow(3) - (n - 2).pow(3));
    let view = view(&positions_m, &faces);
    let subject = Subject {
        view,
        colours: None,
        tools: &[],
    };
    let (canvas, drawn) = subject.points(900, 900).expect("a surface");
    // sides at the least x and y and the greatest z
    let visible = |at_m: &&Vec3| at_m.x < 1e-6 || at_m.y < 1e-6 || at_m.z > 0.029 - 1e-6;
    let seen: Vec<&Vec3> = positions_m.iter().filter(visible).collect();
    assert_eq!(seen.len(), 3 * n * n - 3 * n + 1);
    assert_eq!(drawn, seen.len());
    let camera = Camera::around(&positions_m, 900, 900).expect("places");
    for at_m in seen {
        let [x, y] = camera.see(at_m).pixel;
        let colour = canvas.colours()[y as usize * 900 + x as usize];
        assert_eq!(colour, TISSUE, "{at_m}");
    }
    // one element of the inside would be one too many: it must be hidden
    let mut more = positions_m.clone();
    more.push(Vec3::new(0.015, 0.015, 0.015));
    let subject = Subject {
        view: self::view(&more, &faces),
        ..subject
    };
    assert_eq!(subject.points(900, 900).expect("a surface").1, drawn);
}

/// Whether every pixel has a colour, but for rounding.
fn all_are(canvas: &Canvas, colour: [f64; 3]) -> bool {
    let is = |c: &[f64; 3]| (0..3).all(|n| (c[n] - colour[n]).abs() < 1e-9);
    canvas.colours().iter().all(is)
}

#[test]
fn what_is_nearer_hides_what_is_behind() {
    let mut canvas = Canvas::new(20, 20);
    let corner = |pixel, near_m| super::camera::Seen { pixel, near_m };
    let triangle = |near_m: f64, colour: [f64; 3]| {
        [[-20.0, -20.0], [60.0, -20.0], [-20.0, 60.0]].map(|at| (corner(at, near_m), colour))
    };
    canvas.triangle(&triangle(1.0, [1.0, 0.0, 0.0]));
    canvas.triangle(&triangle(0.0, [0.0, 1.0, 0.0]));
    assert!(all_are(&canvas, [1.0, 0.0, 0.0]));
    canvas.triangle(&triangle(2.0, [0.0, 0.0, 1.0]));
    assert!(all_are(&canvas, [0.0, 0.0, 1.0]));
    // what is nowhere is not drawn, and harms nothing
    canvas.triangle(&triangle(f64::NAN, [0.0; 3]));
    canvas.triangle(&[[f64::NAN; 2]; 3].map(|at| (corner(at, 9.0), [0.0; 3])));
    assert!(all_are(&canvas, [0.0, 0.0, 1.0]));
}

/// The picture can be read by another's decoder, and shows tool, tissue and force.
#[test]
fn a_picture_is_a_png_with_all_that_stands_in_it() {
    let elements = block();
    let (positions_m, faces, _) = shown(&elements);
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
        let subject = Subject {
            view: view(&positions_m, &faces),
            colours: None,
            tools,
        };
        let png = subject.draw(120, 80).expect("a surface");
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
fn nothing_to_see_is_no_picture() {
    let subject = Subject {
        view: view(&[], &[]),
        colours: None,
        tools: &[],
    };
    assert!(subject.draw(10, 10).is_none());
    let places = [Vec3::zeros(); 3];
    assert!(Camera::around(&places, 10, 10).is_none(), "no extent");
    assert!(Camera::around(&[Vec3::zeros(), Vec3::x()], 0, 10).is_none());
}

#[test]
fn issue_tissue_that_was_pulled_open_was_shown_whole() {
    use palpate_transport::trace::TickRecord;
    let record = |force_n: f64, strokes| TickRecord {
        tissue_force_n: [0.0, 0.0, force_n, 0.0],
        strokes,
        ..TickRecord::default()
    };
    let opened = [record(0.2, 0), record(0.5, 0), record(2.0, 7)];
    assert_eq!(super::pressed::peak(&opened), Some(1));
    assert_eq!(super::pressed::peak(&opened[2..]), None);
}
