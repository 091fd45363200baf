//! The keys of both regions: after a switch, each must be able to open the secrets that the other has sealed.

use crate::sites::Sites;
use crate::{RegionError, Regions};

impl Regions {
    /// Records the ids of this region's keys; the first one seals. Returns the problem if the keys of the pair do not match.
    pub async fn note_keys(&self, keys: &[String]) -> Result<Option<String>, RegionError> {
        let sites = &self.agent.sites;
        sites.here.records.set_keys(keys).await.map_err(RegionError::Here)?;
        // A pair without recorded keys has never started; it compares them when it does.
        let there = sites.there.records.keys().await.map_err(|error| sites.pair_error(error))?;
        if there.is_some() { keys_differ(sites).await } else { Ok(None) }
    }
}

/// Why secrets could not be opened after a switch, as far as both regions have recorded their keys.
pub(crate) async fn keys_differ(sites: &Sites) -> Result<Option<String>, RegionError> {
    let here = sites.here.records.keys().await.map_err(RegionError::Here)?;
    let there = sites.there.records.keys().await.map_err(|error| sites.pair_error(error))?;
    Ok(differ((&sites.settings.name, here.as_deref()), (&sites.settings.pair, there.as_deref())))
}

type Noted<'a> = (&'a str, Option<&'a [String]>);

/// An older key is enough: while a key is being replaced, one region seals with the new key before the other does.
fn differ(one: Noted, other: Noted) -> Option<String> {
    match (one, other) {
        ((_, None), (_, None)) => None,
        ((region, None), _) | (_, (region, None)) => Some(format!("{region} has not recorded its keys")),
        ((one, Some(ones)), (other, Some(others))) => {
            let closed = |by: &str, keys: &[String], at: &str, known: &[String]| {
                let key = keys.first().filter(|key| !known.contains(key))?;
                Some(format!("secrets that {by} seals under the key {key} cannot be opened in {at}"))
            };
            closed(one, ones, other, others).or_else(|| closed(other, others, one, ones))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_must_open_what_the_other_seals() {
        let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let told = |east: &[&str], west: &[&str]| {
            differ(("east", Some(&keys(east))), ("west", Some(&keys(west)))).unwrap_or_default()
        };
        assert_eq!(told(&["a"], &["a"]), "");
        assert_eq!(told(&["b", "a"], &["a", "b"]), "", "a key that is being replaced");
        assert_eq!(
            told(&["b", "a"], &["a"]),
            "secrets that east seals under the key b cannot be opened in west"
        );
        assert_eq!(
            told(&["a"], &["b", "a"]),
            "secrets that west seals under the key b cannot be opened in east"
        );
        assert_eq!(differ(("east", None), ("west", None)), None);
        let unknown = differ(("east", Some(&keys(&["a"]))), ("west", None));
        assert_eq!(unknown.as_deref(), Some("west has not recorded its keys"));
    }
}
