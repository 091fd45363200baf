//! The query of a request: which version of the API is spoken, and which part of a list is wanted.

use axum::extract::Query as Pairs;
use http::header::HOST;
use http::{HeaderMap, StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer::AzureError;

/// The versions of the API that are served.
pub(super) const VERSIONS: [&str; 3] = ["2016-03-01", "2016-01-01", "2014-08-01-preview"];

/// Rows of a page that does not say how many: Azure answered with all that a collection could hold.
const PAGE_DEFAULT: usize = 1000;

const TOP_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Query {
    pub version: String,
    pub top: Option<usize>,
    pub skip: usize,
    pub filter: Option<String>,
    pub count: Option<usize>,
}

impl Query {
    pub fn read(uri: &Uri) -> Result<Query, AzureError> {
        let pairs = Pairs::<Vec<(String, String)>>::try_from_uri(uri);
        let Pairs(pairs) = pairs.map_err(|error| AzureError::bad_request(error.body_text()))?;
        let mut query = Query::default();
        for (name, value) in pairs {
            match name.to_ascii_lowercase().as_str() {
                "api-version" => query.version = value,
                "$top" => query.top = Some(number("$top", &value, 1, TOP_MAX)?),
                "$skip" => query.skip = number("$skip", &value, 0, usize::MAX)?,
                "$filter" => query.filter = Some(value),
                "count" => query.count = Some(number("count", &value, 1, 1000)?),
                // Clients add what they like; an unknown option never was an error.
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether the version is one that the scheduler speaks.
    pub fn check_version(&self) -> Result<(), AzureError> {
        if self.version.is_empty() {
            let text = "The api-version query parameter (?api-version=) is required for all requests.";
            let code = "MissingApiVersionParameter";
            return Err(AzureError::new(StatusCode::BAD_REQUEST, code, text));
        }
        if VERSIONS.iter().any(|known| known.eq_ignore_ascii_case(&self.version)) {
            return Ok(());
        }
        let text = format!(
            "The api-version '{}' is invalid. The supported versions are '{}'.",
            self.version,
            VERSIONS.join(",")
        );
        Err(AzureError::new(StatusCode::BAD_REQUEST, "InvalidApiVersionParameter", text))
    }

    pub fn rows(&self) -> usize {
        self.top.unwrap_or(PAGE_DEFAULT)
    }

    /// Where the list goes on, as an absolute address.
    pub fn next_link(&self, uri: &Uri, headers: &HeaderMap) -> String {
        let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
        let host = text(HOST.as_str()).unwrap_or("localhost");
        let scheme = text("x-forwarded-proto").unwrap_or("http");
        let mut link = format!(
            "{scheme}://{host}{}?api-version={}&$skip={}",
            uri.path(),
            self.version,
            self.skip + self.rows()
        );
        if let Some(top) = self.top {
            link.push_str(&format!("&$top={top}"));
        }
        if let Some(filter) = &self.filter {
            link.push_str(&format!("&$filter={}", utf8_percent_encode(filter, NON_ALPHANUMERIC)));
        }
        link
    }
}

fn number(name: &str, text: &str, least: usize, most: usize) -> Result<usize, AzureError> {
    let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
    let range = if most == usize::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    number.ok_or_else(|| AzureError::bad_request(format!("{name}: '{text}' is not a number from {range}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, AzureError> {
        Query::read(&format!("/x?{query}").parse().unwrap())
    }

    #[test]
    fn names_are_taken_in_any_case_and_numbers_in_their_range() {
        let query = read("API-version=2016-03-01&$TOP=5&$skip=10&$filter=state%20eq%20Enabled&x=1").unwrap();
        assert_eq!((query.top, query.skip, query.rows()), (Some(5), 10, 5));
        assert_eq!(query.filter.as_deref(), Some("state eq Enabled"));
        assert!(query.check_version().is_ok());
        for bad in ["$top=0", "$top=101", "$top=x", "$skip=-1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read("api-version=2020-01-01").unwrap().check_version().is_err());
        assert!(read("").unwrap().check_version().is_err());
    }

    #[test]
    fn the_next_link_is_absolute_and_keeps_the_question() {
        let query = read(
            "api-version=2016-03-01&$top=5&$skip=5&$filter=state eq Enabled".replace(' ', "%20").as_str(),
        );
        let headers = HeaderMap::from_iter([(HOST, http::HeaderValue::from_static("h:1"))]);
        let link = query.unwrap().next_link(&"/subscriptions/s?x".parse().unwrap(), &headers);
        assert_eq!(
            link,
            "http://h:1/subscriptions/s?api-version=2016-03-01&$skip=10&$top=5&$filter=state%20eq%20Enabled"
        );
    }
}
