//! Encoding of the options of netem, the kernel's network emulator, and its limits.
//!
//! Source: ours (transport.md 3), layout of linux/pkt_sched.h: a `tc_netem_qopt`, then attributes
//! `{ u16 length, u16 kind, payload }`, each padded to 4 bytes, all in the byte order of the host.
//! It has its own random generator: the same seed repeats the same losses, but not those
//! of virtual time.

use palpate_transport::Span;
use palpate_transport::link::LinkParams;

use super::NetLabError;

/// Name of the queueing discipline.
pub(super) const KIND: &str = "netem";

/// Attribute kinds of netem in linux/pkt_sched.h.
const REORDER: u16 = 3;
const LOSS: u16 = 5;
const RATE: u16 = 6;
const RATE64: u16 = 8;
const LATENCY64: u16 = 10;
const JITTER64: u16 = 11;
const PRNG_SEED: u16 = 14;
/// The Gilbert-Elliott form inside [`LOSS`].
const LOSS_GE: u16 = 2;
/// Bit that marks an attribute with nested attributes.
const NESTED: u16 = 1 << 15;

/// Rate at which a packet takes no time \[byte/s\]; with a rate, netem keeps the order.
const UNLIMITED_BYTEPS: u64 = 125_000_000_000;

/// `TCA_OPTIONS` of netem for `params`; at most `packets` may wait.
///
/// # Errors
/// [`NetLabError::Inexpressible`] for a periodic outage.
pub(super) fn options(
    params: &LinkParams,
    packets: u32,
    seed: u64,
) -> Result<Vec<u8>, NetLabError> {
    if params.outage.is_some() {
        return Err(NetLabError::Inexpressible { field: "outage" });
    }
    let bursty = params.burst > 1.0 && params.loss < 1.0;
    let loss = if bursty { 0.0 } else { params.loss };
    let gap = u32::from(params.reorder > 0.0);
    let mut bytes = Vec::with_capacity(160);
    // latency and jitter in the old unit are zero: the 64 bit attributes replace them
    for word in [0, packets, share(loss), gap, share(params.duplicate), 0] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    for (kind, ms) in [(LATENCY64, params.oneway_ms), (JITTER64, params.jitter_ms)] {
        put(&mut bytes, kind, &Span::from_ms(ms).0.to_ne_bytes());
    }
    if params.reorder > 0.0 {
        put(&mut bytes, REORDER, &words(&[share(params.reorder), 0]));
    }
    if bursty {
        put(&mut bytes, LOSS | NESTED, &burst_loss(params));
    }
    put_rate(&mut bytes, params);
    put(&mut bytes, PRNG_SEED, &seed.to_ne_bytes());
    Ok(bytes)
}

/// Attribute of burst loss: good to bad p / ((1 - p) L), bad to good 1 / L, all lost in bad, none in good.
fn burst_loss(params: &LinkParams) -> Vec<u8> {
    let enter = params.loss / ((1.0 - params.loss) * params.burst);
    let leave = 1.0 / params.burst;
    let mut bytes = Vec::with_capacity(20);
    let chain = words(&[share(enter), share(leave), u32::MAX, 0]);
    put(&mut bytes, LOSS_GE, &chain);
    bytes
}

/// Appends the rate limit; without one, an unlimited rate if the order must be kept.
fn put_rate(bytes: &mut Vec<u8>, params: &LinkParams) {
    let rate_byteps = match params.rate_kbps {
        Some(rate_kbps) => (rate_kbps * 125.0).round() as u64,
        None if params.jitter_reorders => return,
        None => UNLIMITED_BYTEPS,
    };
    let narrow = u32::try_from(rate_byteps).unwrap_or(u32::MAX);
    // then packet overhead, cell size and cell overhead, none of which a packet link has
    put(bytes, RATE, &words(&[narrow, 0, 0, 0]));
    if narrow == u32::MAX {
        put(bytes, RATE64, &rate_byteps.to_ne_bytes());
    }
}

/// Appends an attribute, padded to 4 bytes.
fn put(bytes: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    // 4 bytes of header; every payload here is far shorter than 64 KiB.
    let length = 4 + payload.len() as u16;
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Probability in netem's unit of 1 / (2^32 - 1).
fn share(probability: f64) -> u32 {
    (probability * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests {
    use palpate_transport::link::Outage;

    use super::*;

    /// Parses attributes by the rules of netlink(7), as a second route.
    fn attributes(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
            let kind = u16::from_ne_bytes([bytes[2], bytes[3]]);
            found.push((kind, bytes[4..length].to_vec()));
            bytes = &bytes[length.next_multiple_of(4)..];
        }
        found
    }

    fn word(bytes: &[u8], n: usize) -> u32 {
        u32::from_ne_bytes(bytes[4 * n..4 * n + 4].try_into().unwrap())
    }

    fn of(attributes: &[(u16, Vec<u8>)], kind: u16) -> Option<&[u8]> {
        attributes
            .iter()
            .find(|(found, _)| *found == kind)
            .map(|(_, payload)| &payload[..])
    }

    #[test]
    fn options_have_the_layout_of_the_kernel() {
        let params = LinkParams {
            oneway_ms: 50.0,
            jitter_ms: 5.0,
            loss: 0.02,
            duplicate: 0.5,
            reorder: 0.25,
            rate_kbps: Some(5000.0),
            ..LinkParams::default()
        };
        let bytes = options(&params, 8192, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let head: Vec<u32> = (0..6).map(|n| word(&bytes, n)).collect();
        assert_eq!(head, [0, 8192, 85_899_346, 1, 2_147_483_648, 0]);
        let found = attributes(&bytes[24..]);
        assert_eq!(of(&found, LATENCY64).unwrap(), 50_000_000_i64.to_ne_bytes());
        assert_eq!(of(&found, JITTER64).unwrap(), 5_000_000_i64.to_ne_bytes());
        assert_eq!(word(of(&found, REORDER).unwrap(), 0), 1_073_741_824);
        let rate = of(&found, RATE).unwrap();
        assert_eq!((rate.len(), word(rate, 0)), (16, 625_000));
        assert_eq!(of(&found, RATE64), None);
        assert_eq!(
            of(&found, PRNG_SEED).unwrap(),
            0x0102_0304_0506_0708_u64.to_ne_bytes()
        );
        assert_eq!(of(&found, LOSS | NESTED), None);
    }

    #[test]
    fn burst_loss_uses_the_two_state_model() {
        let params = LinkParams {
            loss: 0.1,
            burst: 4.0,
            ..LinkParams::default()
        };
        let bytes = options(&params, 100, 1).unwrap();
        assert_eq!(word(&bytes, 2), 0, "no loss of the simple kind besides");
        let found = attributes(&bytes[24..]);
        let inner = attributes(of(&found, LOSS | NESTED).unwrap());
        let chain: Vec<u32> = (0..4)
            .map(|n| word(of(&inner, LOSS_GE).unwrap(), n))
            .collect();
        let [enter, leave] = [chain[0], chain[1]].map(|share| f64::from(share) / 4_294_967_295.0);
        // Stationary loss and mean burst of a two-state chain.
        assert!((enter / (enter + leave) - 0.1).abs() < 1e-9);
        assert!((1.0 / leave - 4.0).abs() < 1e-8);
        assert_eq!(chain[2..], [u32::MAX, 0]);
    }

    #[test]
    fn packets_keep_order_unless_jitter_reorders() {
        let ordered = LinkParams {
            jitter_ms: 1.0,
            ..LinkParams::default()
        };
        let found = attributes(&options(&ordered, 1, 1).unwrap()[24..]);
        assert_eq!(word(of(&found, RATE).unwrap(), 0), u32::MAX);
        assert_eq!(of(&found, RATE64).unwrap(), UNLIMITED_BYTEPS.to_ne_bytes());
        let loose = LinkParams {
            jitter_reorders: true,
            ..ordered
        };
        assert_eq!(
            of(&attributes(&options(&loose, 1, 1).unwrap()[24..]), RATE),
            None
        );
    }

    #[test]
    fn outage_is_refused_by_name() {
        let params = LinkParams {
            outage: Some(Outage {
                on_s: 1.0,
                off_s: 1.0,
            }),
            ..LinkParams::default()
        };
        let error = options(&params, 1, 1).unwrap_err();
        assert!(error.to_string().contains("link.outage"), "{error}");
    }
}
