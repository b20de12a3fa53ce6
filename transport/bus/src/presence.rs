//! Liveliness tokens of nodes, as ROS 2 peers read and write them.
//!
//! A token drops within the lease after a silent cut, seconds late: it serves the state of a
//! session. A watchdog on the data itself protects the hand (transport fact 8).

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use super::{BusError, BusSession};
use palpate_transport::msg::key::{DOMAIN, Ros2Token};

impl BusSession {
    /// Announces this session's node until the token is dropped.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh refuses.
    pub(crate) fn announce(&self) -> Result<LivelinessToken, BusError> {
        self.declare_token(&self.identity.token(0, None))
    }

    /// Calls `on_change` with the token of each other node of the domain until the subscriber is dropped: with
    /// `true` for nodes that exist or appear, with `false` for one that leaves.
    ///
    /// # Errors
    /// [`BusError::Zenoh`] when zenoh refuses.
    pub(crate) fn watch(
        &self,
        mut on_change: impl FnMut(&Ros2Token, bool) + Send + Sync + 'static,
    ) -> Result<Subscriber<()>, BusError> {
        let own = self.identity.session.clone();
        self.zenoh
            .liveliness()
            .declare_subscriber(format!("@ros2_lv/{DOMAIN}/*/*/*/NN/**"))
            .history(true)
            .callback_mut(move |sample| {
                // A token that does not parse belongs to another program.
                if let Some(token) = Ros2Token::parse_node(sample.key_expr().as_str())
                    && token.session != own
                {
                    on_change(&token, sample.kind() == SampleKind::Put);
                }
            })
            .wait()
            .map_err(BusError::zenoh("watch liveliness"))
    }
}
