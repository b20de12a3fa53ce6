//! What a rehearsal waits for: a scene that another thread builds, since its own empties the rings of the session that
//! goes on meanwhile, and whoever wished it.
//!
//! Source: ours.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use palpate_session::run::RunError;
use palpate_session::run::side::spawn;

use super::desk::Wished;

/// Where what is being built comes from, or why it cannot be.
pub type Built<S> = Receiver<Result<Box<S>, String>>;

/// Something that is being built, who wished it, and what that one is told then.
pub struct Coming<S> {
    /// Where it comes from.
    pub built: Built<S>,
    /// Who wished it.
    pub wished: Wished,
    /// What they are told when it has begun.
    pub text: String,
}

/// Build on a thread of its own.
///
/// # Errors
/// [`RunError::Thread`] if the system has no more threads.
pub fn build<S: Send + 'static>(
    make: impl FnOnce() -> Result<S, RunError> + Send + 'static,
) -> Result<Built<S>, RunError> {
    let (done, built) = channel();
    spawn("scene", move || {
        let made = make().map(Box::new);
        // the rehearsal may be over
        let _ = done.send(made.map_err(|error| error.to_string()));
    })?;
    Ok(built)
}

/// What is being built, if it is ready and still awaited; whoever wished what cannot be is told so.
pub fn arrived<S>(coming: &mut Option<Coming<S>>) -> Option<(S, (Wished, String))> {
    let built = match coming.as_ref()?.built.try_recv() {
        Err(TryRecvError::Empty) => return None,
        Err(TryRecvError::Disconnected) => Err("its building ended".into()),
        Ok(built) => built,
    };
    let Coming { wished, text, .. } = coming.take()?;
    match built {
        Ok(made) if wished.is_awaited() => Some((*made, (wished, text))),
        Ok(_) => None,
        Err(reason) => {
            // whoever asked may have gone
            let _ = wished.answer.send(Err(reason));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use palpate_session::monitor::Answer;
    use palpate_session::monitor::request::Wish;
    use palpate_transport::Span;
    use palpate_transport::clock::pause;

    use super::*;

    /// One that is being built, whether it is awaited, and where its wisher is told.
    fn coming(
        make: impl FnOnce() -> Result<u8, RunError> + Send + 'static,
    ) -> (Option<Coming<u8>>, Arc<AtomicBool>, Receiver<Answer>) {
        let (answer, answered) = channel();
        let awaited = Arc::new(AtomicBool::new(true));
        let wished = Wished {
            wish: Wish::Leave,
            answer,
            awaited: Arc::clone(&awaited),
        };
        let coming = Coming {
            built: build(make).expect("a thread"),
            wished,
            text: "here".into(),
        };
        (Some(coming), awaited, answered)
    }

    /// What arrives in the end.
    fn waited(coming: &mut Option<Coming<u8>>) -> Option<u8> {
        while coming.is_some() {
            if let Some((made, _)) = arrived(coming) {
                return Some(made);
            }
            pause(Span::from_ms(1.0));
        }
        None
    }

    #[test]
    fn what_is_built_arrives_and_what_was_given_up_does_not() {
        let (mut one, _, _told) = coming(|| Ok(7));
        assert_eq!(waited(&mut one), Some(7));
        let (mut one, awaited, _told) = coming(|| Ok(7));
        awaited.store(false, Ordering::Relaxed);
        assert_eq!(waited(&mut one), None);
    }

    #[test]
    fn what_cannot_be_is_said_to_who_wished_it() {
        let (mut one, _, told) = coming(|| {
            Err(RunError::Thread {
                name: "scene",
                detail: "no such scene".into(),
            })
        });
        assert_eq!(waited(&mut one), None);
        let answer = told.recv().expect("told").expect_err("refused");
        assert!(answer.contains("no such scene"), "{answer}");
    }
}
