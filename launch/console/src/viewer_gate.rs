//! Gate in front of the server of Foxglove's protocol, which itself admits any page of any browser.
//!
//! It admits a connection whose request names this host, has the token of the run as its path, and comes from no page or
//! from a known one. Its bytes then pass unchanged to the server, which listens at a random address of the loopback net.
//! Source: ours.

use core::time::Duration;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::token;

/// Viewers at once; further connections wait, and a flood of them does not reach the server.
const VIEWERS_MAX: usize = 8;

/// Longest head of a request \[bytes\].
const HEAD_BYTES_MAX: usize = 8192;

/// Most header fields of a request.
const FIELDS_MAX: usize = 64;

/// Longest wait for the head of a request.
const HEAD_WAIT: Duration = Duration::from_secs(2);

/// Page of the viewer itself; its desktop program sends no origin or a file.
const VIEWER_ORIGINS: [&[u8]; 2] = [b"https://app.foxglove.dev", b"file://"];

/// Random address of the loopback net for the server behind the gate.
pub(super) fn hidden_address() -> std::io::Result<Ipv4Addr> {
    let random = token::generate()?;
    let byte = |at: usize| u8::from_str_radix(&random[at..at + 2], 16).unwrap_or(1);
    Ok(Ipv4Addr::new(127, byte(0), byte(2), byte(4).clamp(1, 254)))
}

/// Conditions of the gate.
#[derive(Debug)]
pub(super) struct ViewerGate {
    /// Token of the run.
    pub(super) token: String,
    /// Port of the gate on 127.0.0.1.
    pub(super) port: u16,
    /// Address of the server behind it.
    pub(super) server: SocketAddr,
}

impl ViewerGate {
    /// Admits viewers until it is dropped.
    pub(super) async fn serve(self, listener: TcpListener) {
        let (gate, slots) = (Arc::new(self), Arc::new(Semaphore::new(VIEWERS_MAX)));
        // a closed semaphore or listener ends the gate
        while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                return;
            };
            let gate = Arc::clone(&gate);
            tokio::spawn(async move {
                // a viewer that leaves in the middle is no error of ours
                let _ = gate.pass(stream).await;
                drop(slot);
            });
        }
    }

    async fn pass(&self, mut viewer: TcpStream) -> std::io::Result<()> {
        let head = tokio::time::timeout(HEAD_WAIT, read_head(&mut viewer)).await??;
        if let Err(refusal) = self.admit(&head) {
            let text =
                format!("HTTP/1.1 {refusal}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            return viewer.write_all(text.as_bytes()).await;
        }
        let mut server = TcpStream::connect(self.server).await?;
        server.write_all(&head).await?;
        copy_bidirectional(&mut viewer, &mut server).await?;
        Ok(())
    }

    /// Checks the head of a request; the status of the refusal otherwise.
    fn admit(&self, head: &[u8]) -> Result<(), &'static str> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        let Ok(httparse::Status::Complete(_)) = request.parse(head) else {
            return Err("400 Bad Request");
        };
        let path = request.path.unwrap_or_default().trim_matches('/');
        let field = |name: &str| {
            let mut fields = request.headers.iter();
            fields
                .find(|field| field.name.eq_ignore_ascii_case(name))
                .map(|field| field.value)
        };
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        let is_own = |value: &[u8]| hosts.iter().any(|own| own.as_bytes() == value);
        if !field("host").is_some_and(is_own) {
            return Err("421 Misdirected Request");
        }
        let known = |origin: &[u8]| {
            VIEWER_ORIGINS.contains(&origin) || origin.strip_prefix(b"http://").is_some_and(is_own)
        };
        if !field("origin").is_none_or(known) || !token::constant_time_eq(path, &self.token) {
            return Err("403 Forbidden");
        }
        Ok(())
    }
}

/// Reads a request up to the end of its head.
async fn read_head(viewer: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        head.push(viewer.read_u8().await?);
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(path: &str, host: &str, more: &str) -> Result<(), &'static str> {
        let gate = ViewerGate {
            token: "abc".into(),
            port: 8765,
            server: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
        };
        gate.admit(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n").as_bytes())
    }

    #[test]
    fn issue_any_page_could_open_the_viewers_server() {
        let own = "127.0.0.1:8765";
        assert_eq!(answer("/abc", own, ""), Ok(()));
        assert_eq!(answer("/abc/", "localhost:8765", ""), Ok(()));
        let from = |origin: &str| answer("/abc", own, &format!("Origin: {origin}\r\n"));
        assert_eq!(from("https://app.foxglove.dev"), Ok(()));
        assert_eq!(from("http://127.0.0.1:8765"), Ok(()));
        assert_eq!(from("http://evil.example"), Err("403 Forbidden"));
        assert_eq!(answer("/", own, ""), Err("403 Forbidden"));
        assert_eq!(answer("/abd", own, ""), Err("403 Forbidden"));
        let rebound = answer("/abc", "evil.example:8765", "");
        assert_eq!(rebound, Err("421 Misdirected Request"));
        assert_eq!(answer("/abc", own, "\0"), Err("400 Bad Request"));
    }
}
