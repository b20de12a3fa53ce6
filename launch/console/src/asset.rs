//! The page, inside the binary: every file that a browser may ask for, and no other.

/// One file of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asset {
    /// Its name behind the token.
    name: &'static str,
    /// What it is, for a browser.
    pub(super) media_type: &'static str,
    /// What is in it.
    pub(super) bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

macro_rules! asset {
    ($name:literal, $media_type:expr) => {
        Asset {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!("page/", $name)),
        }
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
    asset!("felt.js", SCRIPT),
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

/// The file of this name; the page itself has none.
pub(super) fn named(name: &str) -> Option<&'static Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    ASSETS.iter().find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_exact_names_only() {
        assert_eq!(named("").map(|it| it.media_type), Some(HTML));
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

    /// A page that asks another host for anything does not work where there is no network.
    #[test]
    fn the_page_asks_nobody_else() {
        let own = ASSETS
            .iter()
            .filter(|asset| !asset.name.starts_with("vendor/"));
        for asset in own {
            let text = String::from_utf8_lossy(asset.bytes);
            for outside in ["https:", "http:", "src=\"//", "url(", "@import", "eval("] {
                assert!(!text.contains(outside), "{}: {outside}", asset.name);
            }
        }
    }
}
