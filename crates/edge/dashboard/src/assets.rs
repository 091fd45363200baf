//! Stylesheets, scripts and the logo, compiled into the binary and served at addresses that include a content hash.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Request, Response};

use crate::response;

/// A static file.
pub(crate) struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static str,
}

const ASSETS: [Asset; 5] = [
    Asset { name: "docs.css", kind: "text/css; charset=utf-8", content: include_str!("../assets/docs.css") },
    Asset {
        name: "sortie.css",
        kind: "text/css; charset=utf-8",
        content: include_str!("../assets/sortie.css"),
    },
    Asset {
        name: "sortie.js",
        kind: "text/javascript; charset=utf-8",
        content: include_str!("../assets/sortie.js"),
    },
    Asset {
        name: "theme.js",
        kind: "text/javascript; charset=utf-8",
        content: include_str!("../assets/theme.js"),
    },
    Asset { name: "mark.svg", kind: "image/svg+xml", content: include_str!("../assets/mark.svg") },
];

const ROOT: &str = "/ui/assets/";

pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let name = path.strip_prefix(ROOT)?;
    ASSETS.iter().find(|asset| asset.name == name)
}

/// The address of an asset. It includes a content hash, so that browsers may cache it forever.
pub(crate) fn address(name: &str) -> String {
    let asset = ASSETS.iter().find(|asset| asset.name == name).expect("pages refer to existing assets only");
    format!("{ROOT}{name}?v={:x}", fingerprint(asset))
}

fn fingerprint(asset: &Asset) -> u64 {
    let mut hasher = DefaultHasher::new();
    asset.content.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn answer(asset: &'static Asset, request: &Request<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(asset.content));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    let kept =
        if request.uri().query().is_some() { "public, max-age=31536000, immutable" } else { "no-cache" };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    response::with_security_headers(response)
}
