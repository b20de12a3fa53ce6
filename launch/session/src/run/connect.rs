//! Connection of a side to the other one: bus, keys and terms. Source: ours.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use palpate_bus::{Bus, BusError, BusSession};
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};
use palpate_transport::codec::AgreedCodec;
use palpate_transport::mailbox::LatestWriter;
use palpate_transport::{HapticFrame, Span, Time};

use super::RunError;
use super::agreement::{TermsExchange, stop_for_handover};
use super::command_state::CommandState;
use super::side::{POLL_PERIOD, SideOptions};
use crate::config::Config;

/// Longest time for connecting, and then again for the agreement \[ns\]; ours. A wait for a hand-over is added to the
/// agreement, which has no limit in a session without an end. The other side may still be loading its tissue, which
/// takes some ten times as long on a busy machine.
pub(super) const PEER_WAIT: Span = Span(20_000_000_000);

/// Time between two requests of the terms \[ns\].
const RETRY_PERIOD: Span = Span(100_000_000);

/// Newest frame of the other side, with its time of arrival.
pub(super) type Inbound = Option<(HapticFrame, Time)>;

/// Connection to the other side, after the agreement.
pub(super) struct ConnectedPeer {
    pub(super) bus: Arc<Bus>,
    pub(super) command_state: Arc<CommandState>,
    /// Serves the terms as long as the side runs; it must end before the bus.
    pub(super) terms: TermsExchange,
    pub(super) agreed: AgreedCodec,
}

/// Opens the bus, whose receiving thread writes every frame that is newer than the last, and agrees with the other
/// side; none if this side is stopped before.
pub(super) fn connect(
    config: &Config,
    options: &SideOptions,
    mut inbound: LatestWriter<Inbound>,
) -> Result<Option<ConnectedPeer>, RunError> {
    let Some(session) = open_session(options)? else {
        return Ok(None);
    };
    let write = move |frame: &HapticFrame, received: Time| inbound.write(Some((*frame, received)));
    let bus = Bus::over_session(session, &options.session, write)?;
    let command_state = Arc::default();
    let mut terms = TermsExchange::serve(&bus, config, options, &command_state)?;
    let agreed = wait_for_peer(&bus, &mut terms, options)?;
    if terms.has_asked() {
        // a new owner enables motion by its own act
        stop_for_handover(&command_state);
    }
    Ok(agreed.map(|agreed| ConnectedPeer {
        bus: Arc::new(bus),
        command_state,
        terms,
        agreed,
    }))
}

/// Name of a key of the session that is no longer trusted.
pub(super) fn revoked(options: &SideOptions) -> Option<String> {
    let keys = options.keys.as_ref()?;
    keys.revoked().map(str::to_owned)
}

/// Waits until the other side is present and agrees; none if this side is stopped before.
fn wait_for_peer(
    bus: &Bus,
    agreement: &mut TermsExchange,
    options: &SideOptions,
) -> Result<Option<AgreedCodec>, RunError> {
    let clock = MonotonicClock;
    let (started, mut agreed) = (clock.now(), None);
    let wait = PEER_WAIT + options.handover_wait.unwrap_or_default();
    while !options.stop.load(Ordering::Relaxed) {
        // a side that refuses our terms may have gone before its stream was seen here
        agreement.check_peer_terms()?;
        if let Some(name) = revoked(options) {
            return Err(RunError::Revoked { name });
        }
        // the stream of a secured side needs the keys that the agreement gives
        let may_agree = match &options.keys {
            Some(_) => bus.peer_present(),
            None => bus.wait_ready(POLL_PERIOD),
        };
        if may_agree && agreed.is_none() {
            agreed = agreement.negotiate()?;
            if agreed.is_none() {
                // refused, or not answered: the other side has more to do
                sleep_for(RETRY_PERIOD);
            }
        }
        if agreed.is_some() && bus.wait_ready(POLL_PERIOD) {
            return Ok(agreed);
        }
        if !may_agree {
            sleep_for(POLL_PERIOD);
        }
        // a side without an end waits until it is stopped
        if options.ticks_max.is_some() && clock.now() - started > wait {
            let waited_s = wait.s();
            return Err(RunError::NoPeer { waited_s });
        }
    }
    Ok(None)
}

/// Opens the session; none if this side is stopped before. A connecting side retries for [`PEER_WAIT`]: on a busy
/// machine the other may still be loading its tissue.
fn open_session(options: &SideOptions) -> Result<Option<BusSession>, RunError> {
    let begun = MonotonicClock.now();
    let mut attempt = options.session.clone();
    while !options.stop.load(Ordering::Relaxed) {
        let opened = BusSession::open(&attempt);
        if !matches!(
            opened,
            Err(BusError::Unreachable { .. } | BusError::NoTrustedPeer { .. })
        ) {
            return Ok(Some(opened?));
        }
        let waited = MonotonicClock.now() - begun;
        // the last attempt is shorter, so that a side never connects for longer than documented
        attempt.connect_timeout = attempt.connect_timeout.min(PEER_WAIT - waited);
        if attempt.connect_timeout < POLL_PERIOD {
            let mut unreachable = opened.err();
            if let Some(
                BusError::Unreachable { waited_ms, .. } | BusError::NoTrustedPeer { waited_ms, .. },
            ) = &mut unreachable
            {
                *waited_ms = waited.ms().round();
            }
            return unreachable.map_or(Ok(None), |error| Err(error.into()));
        }
    }
    Ok(None)
}
