//! The description of the API, for people's tools.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

/// Kept by hand beside the routes; a test holds it against them.
pub(crate) const DOCUMENT: &str = include_str!("../openapi.json");

pub(crate) async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::DOCUMENT;

    /// The routes as the code has them: those of the router, and those that the entrance matches by hand.
    fn routes() -> BTreeSet<String> {
        let router = include_str!("routes.rs").lines().filter_map(|line| {
            let path = line.trim().strip_prefix(".route(\"")?;
            path.split('"').next().map(str::to_owned)
        });
        let entrance = include_str!("entrance.rs").lines().filter_map(|line| {
            let path = line.trim().strip_prefix("/// `")?.strip_suffix('`')?.split_once(' ')?.1;
            Some(path.to_owned())
        });
        router.chain(entrance).collect()
    }

    #[test]
    fn the_document_names_every_route_and_no_other() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        let described: BTreeSet<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(described, routes());
        assert!(described.len() > 15, "the routes were found in the source");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        for part in DOCUMENT.split("\"$ref\": \"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
