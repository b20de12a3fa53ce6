//! Who is there: liveliness tokens of nodes, as ROS 2 peers read and write them.
//!
//! A token drops within the lease after a silent cut, seconds late: it is for the state of a
//! session. What keeps the hand safe is a watchdog on the data itself (transport fact 8).

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;

use super::{Session, SessionError};
use palpate_transport::msg::key::Token;

/// Says that this node is there until dropped.
pub struct Announcement {
    _token: LivelinessToken,
}

/// Watches other nodes until dropped.
pub struct Watch {
    _subscriber: Subscriber<()>,
}

impl Session {
    /// Announce this session's node.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh refuses.
    pub fn announce(&self) -> Result<Announcement, SessionError> {
        let token = self.declare_token(&self.identity.token(0, None))?;
        Ok(Announcement { _token: token })
    }

    /// Call `on_change` with the token of each other node of the domain when it comes (`true`; also
    /// for those already there) and when it goes.
    ///
    /// # Errors
    /// [`SessionError::Bus`] when zenoh refuses.
    pub fn watch(
        &self,
        mut on_change: impl FnMut(&Token, bool) + Send + Sync + 'static,
    ) -> Result<Watch, SessionError> {
        let own = self.identity.session.clone();
        let subscriber = self
            .zenoh
            .liveliness()
            .declare_subscriber(format!("@ros2_lv/{}/*/*/*/NN/**", self.identity.domain))
            .history(true)
            .callback_mut(move |sample| {
                // A token that does not parse is of some other program.
                if let Ok(token) = sample.key_expr().as_str().parse::<Token>()
                    && token.session != own
                {
                    on_change(&token, sample.kind() == SampleKind::Put);
                }
            })
            .wait()
            .map_err(SessionError::bus("watch liveliness"))?;
        Ok(Watch {
            _subscriber: subscriber,
        })
    }
}
