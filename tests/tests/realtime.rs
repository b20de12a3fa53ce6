//! Tests that the servo path does not allocate after its warm-up: both ticks, the devices, the twin, the link
//! and the mailboxes between threads, counted on this thread in virtual time.

use palpate_master::device::params::HandleKind;
use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_session::run::allocation::{self, CountingAllocator};
use palpate_transport::HapticFrame;
use palpate_transport::coupling::Mode;
use palpate_transport::mailbox::{latest, ring};
use palpate_transport::trace::TickRecord;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Number of first ticks in which caches and queues may fill, as in the live loop.
const WARM_UP_TICKS: u64 = 100;

/// Returns the number of allocations of a session after its warm-up.
fn allocations(config: &Config) -> u64 {
    let mut session = VirtualSession::new(config).expect("valid");
    let (mut outbound, mut frames) = latest(HapticFrame::default());
    let (mut records, mut waiting) = ring::<TickRecord>(64);
    let mut before = allocation::count();
    for tick in 0..session.ticks() {
        if tick == WARM_UP_TICKS {
            before = allocation::count();
        }
        let both = session.step();
        outbound.write(HapticFrame {
            sequence: tick,
            ..HapticFrame::default()
        });
        assert_eq!(frames.read().sequence, tick);
        for record in [both.master, both.slave] {
            assert!(records.push(record) && waiting.pop().is_some());
        }
    }
    allocation::count() - before
}

#[test]
fn the_servo_path_allocates_nothing_after_its_warm_up() {
    let begun = allocation::count();
    drop(vec![0_u8; 64]);
    assert_eq!(allocation::count(), begun + 1, "the allocator counts");
    for mode in Mode::ALL {
        for handle in [HandleKind::Phantom, HandleKind::Mass] {
            let mut config = Config {
                duration_s: 5.0,
                ..Config::default()
            };
            config.coupling.mode = mode;
            // layers at both ends are slowest, and independent of the coupling
            if !matches!(mode, Mode::Direct | Mode::Wave | Mode::Mmt) {
                (config.duration_s, config.tissue) = (2.0, "sheet-lump".into());
            }
            config.operator.handle = handle;
            assert_eq!(allocations(&config), 0, "{mode:?}, {handle:?}");
        }
    }
}

/// Tissue is pressed, cut, carved, undone, attached and joined, over a network with loss and delay.
#[test]
fn instruments_allocate_nothing_on_both_sides() {
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/opened.toml");
    for mode in [Mode::Mmt, Mode::Auto, Mode::Wave] {
        let text = include_str!("../scenes/opening.toml");
        let mut config = Config::parse(text, "opening.toml").expect("a configuration");
        (config.twin, config.tissue) = (scene.into(), scene.into());
        config.coupling.mode = mode;
        (config.link.forward.loss, config.link.forward.jitter_ms) = (0.2, 10.0);
        assert_eq!(allocations(&config), 0, "{mode:?}");
    }
}
