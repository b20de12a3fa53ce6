//! Files of the page, inside the binary: every file that a browser may request, and no other.

use axum::body::Bytes;
use palpate_session::monitor::PageResource;

/// A file of the page: its name after the token, its media type, and its content.
type Asset = (&'static str, &'static str, &'static [u8]);

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

macro_rules! asset {
    ($name:literal, $media_type:expr) => {
        (
            $name,
            $media_type,
            include_bytes!(concat!("page/", $name)).as_slice(),
        )
    };
}

const ASSETS: &[Asset] = &[
    asset!("index.html", HTML),
    asset!("console.css", STYLE),
    asset!("console.js", SCRIPT),
    asset!("wire.js", SCRIPT),
    asset!("link.js", SCRIPT),
    asset!("scene.js", SCRIPT),
    asset!("tool.js", SCRIPT),
    asset!("stiffness_map.js", SCRIPT),
    asset!("viewer.js", SCRIPT),
    asset!("trial.js", SCRIPT),
    asset!("smooth.js", SCRIPT),
    asset!("pointer.js", SCRIPT),
    asset!("strips.js", SCRIPT),
    asset!("controls.js", SCRIPT),
    asset!("recording.css", STYLE),
    asset!("recording.js", SCRIPT),
    asset!("timeline.js", SCRIPT),
    asset!("tracks.js", SCRIPT),
    asset!("practice.js", SCRIPT),
    asset!("marks.js", SCRIPT),
    asset!("practice.css", STYLE),
    asset!("vendor/three.module.min.js", SCRIPT),
    asset!("vendor/uPlot.iife.min.js", SCRIPT),
    asset!("vendor/uPlot.min.css", STYLE),
    asset!("vendor/three.LICENSE", TEXT),
    asset!("vendor/uPlot.LICENSE", TEXT),
];

/// Returns the file of this name; the page itself has an empty name.
pub(super) fn named(name: &str) -> Option<PageResource> {
    let name = if name.is_empty() { "index.html" } else { name };
    let (_, media_type, bytes) = ASSETS.iter().find(|(own, ..)| *own == name)?;
    Some((*media_type, Bytes::from_static(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_transport::trace::EventFlags;

    #[test]
    fn files_are_found_by_their_exact_names_only() {
        assert_eq!(named("").map(|(media_type, _)| media_type), Some(HTML));
        assert!(named("vendor/three.module.min.js").is_some());
        for none in [
            "..",
            "../Cargo.toml",
            "vendor/../index.html",
            "/etc/passwd",
            "Index.html",
        ] {
            assert!(named(none).is_none(), "{none}");
        }
    }

    #[test]
    fn events_of_the_page_have_the_bits_of_the_records() {
        let (_, wire) = named("wire.js").expect("a file of the page");
        let wire = String::from_utf8_lossy(&wire);
        let events = [
            ("STALE", EventFlags::STALE),
            ("TISSUE_COLLAPSED", EventFlags::TISSUE_COLLAPSED),
        ];
        for (name, event) in events {
            let line = format!("export const {name} = 1 << {};", event.trailing_zeros());
            assert!(wire.contains(&line), "{line}");
        }
    }

    /// A page that requests another host does not work without a network.
    #[test]
    fn the_page_requests_no_other_host() {
        let own = ASSETS
            .iter()
            .filter(|(name, ..)| !name.starts_with("vendor/"));
        for (name, _, bytes) in own {
            let text = String::from_utf8_lossy(bytes);
            for outside in ["https:", "http:", "src=\"//", "url(", "@import", "eval("] {
                assert!(!text.contains(outside), "{name}: {outside}");
            }
        }
    }
}
