//! Build of the next scene of a rehearsal on another thread, so that the running session's queues are still emptied.
//!
//! Source: ours.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use palpate_session::run::RunError;
use palpate_session::run::side::spawn;

use super::controller::PendingRequest;

/// Receiver of the built value, or of the reason of a failure.
pub(crate) type BuildReceiver<S> = Receiver<Result<Box<S>, String>>;

/// A pending build with its request and the reply to it.
pub(crate) struct PendingBuild<S> {
    /// Receiver of the result.
    pub receiver: BuildReceiver<S>,
    /// Request that started the build.
    pub request: PendingRequest,
    /// Reply for the time at which the scene begins.
    pub reply: String,
}

/// Builds on a new thread.
///
/// # Errors
/// [`RunError::Thread`] if the system has no more threads.
pub(crate) fn spawn_build<S: Send + 'static>(
    make: impl FnOnce() -> Result<S, RunError> + Send + 'static,
) -> Result<BuildReceiver<S>, RunError> {
    let (done, built) = channel();
    spawn("scene", move || {
        let result = make().map(Box::new);
        // the rehearsal may be over
        let _ = done.send(result.map_err(|error| error.to_string()));
    })?;
    Ok(built)
}

/// Returns the result of a build, if it is ready and still awaited; replies to the request with an error if it failed.
pub(crate) fn take_finished<S>(
    build: &mut Option<PendingBuild<S>>,
) -> Option<(S, (PendingRequest, String))> {
    let built = match build.as_ref()?.receiver.try_recv() {
        Err(TryRecvError::Empty) => return None,
        Err(TryRecvError::Disconnected) => Err("its building ended".into()),
        Ok(built) => built,
    };
    let PendingBuild { request, reply, .. } = build.take()?;
    match built {
        Ok(made) if request.is_awaited() => Some((*made, (request, reply))),
        Ok(_) => None,
        Err(reason) => {
            // the requester may be gone
            let _ = request.answer.send(Err(reason));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use palpate_session::monitor::OrderReply;
    use palpate_session::monitor::request::RehearsalRequest;
    use palpate_transport::Span;
    use palpate_transport::clock::sleep_for;

    use super::*;

    /// Returns a pending build, its waiter, and the receiver of the reply.
    fn pending_build(
        make: impl FnOnce() -> Result<u8, RunError> + Send + 'static,
    ) -> (Option<PendingBuild<u8>>, Arc<()>, Receiver<OrderReply>) {
        let (answer, answered) = channel();
        let awaited = Arc::new(());
        let request = PendingRequest {
            request: RehearsalRequest::Leave,
            answer,
            waiter: Arc::downgrade(&awaited),
        };
        let build = PendingBuild {
            receiver: spawn_build(make).expect("a thread"),
            request,
            reply: "here".into(),
        };
        (Some(build), awaited, answered)
    }

    /// Waits for the result.
    fn wait(build: &mut Option<PendingBuild<u8>>) -> Option<u8> {
        while build.is_some() {
            if let Some((made, _)) = take_finished(build) {
                return Some(made);
            }
            sleep_for(Span::from_ms(1.0));
        }
        None
    }

    #[test]
    fn a_build_is_returned_unless_its_request_was_abandoned() {
        let (mut one, _awaited, _answered) = pending_build(|| Ok(7));
        assert_eq!(wait(&mut one), Some(7));
        let (mut one, awaited, _answered) = pending_build(|| Ok(7));
        drop(awaited);
        assert_eq!(wait(&mut one), None);
    }

    #[test]
    fn a_failed_build_replies_to_its_request() {
        let (mut one, _awaited, answered) = pending_build(|| {
            Err(RunError::Thread {
                name: "scene",
                detail: "no such scene".into(),
            })
        });
        assert_eq!(wait(&mut one), None);
        let answer = answered.recv().expect("a reply").expect_err("refused");
        assert!(answer.contains("no such scene"), "{answer}");
    }
}
