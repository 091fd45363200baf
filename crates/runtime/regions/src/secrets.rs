//! Under which keys each region seals secrets: what one has sealed, the other must be able to open after a switch.

use crate::{RegionAgent, RegionError, Regions};

impl Regions {
    /// Notes the names of the keys that this region opens secrets with, first that of the one it seals with. Says what
    /// is wrong when its pair has others.
    pub async fn note_keys(&self, keys: &[String]) -> Result<Option<String>, RegionError> {
        self.inner.here.records.set_keys(keys).await.map_err(RegionError::Here)?;
        // A pair that has noted none has never started: it compares them when it does.
        let there = self.inner.there.records.keys().await.map_err(|error| self.inner.pair_error(error))?;
        if there.is_some() { self.inner.keys_differ().await } else { Ok(None) }
    }
}

impl RegionAgent {
    /// Why secrets could not be opened after a switch, as far as both regions have noted their keys.
    pub(super) async fn keys_differ(&self) -> Result<Option<String>, RegionError> {
        let here = self.here.records.keys().await.map_err(RegionError::Here)?;
        let there = self.there.records.keys().await.map_err(|error| self.pair_error(error))?;
        Ok(differ((&self.settings.name, here.as_deref()), (&self.settings.pair, there.as_deref())))
    }
}

type Noted<'a> = (&'a str, Option<&'a [String]>);

/// An older key may be enough: while a key is replaced, one region seals with the new one before the other does.
fn differ(one: Noted, other: Noted) -> Option<String> {
    match (one, other) {
        ((_, None), (_, None)) => None,
        ((region, None), _) | (_, (region, None)) => {
            Some(format!("{region} has not noted which keys it has"))
        }
        ((one, Some(ones)), (other, Some(others))) => {
            let closed = |by: &str, keys: &[String], at: &str, known: &[String]| {
                let key = keys.first().filter(|key| !known.contains(key))?;
                Some(format!("what {by} seals, under the key {key}, cannot be opened in {at}"))
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
        assert_eq!(told(&["b", "a"], &["a"]), "what east seals, under the key b, cannot be opened in west");
        assert_eq!(told(&["a"], &["b", "a"]), "what west seals, under the key b, cannot be opened in east");
        assert_eq!(differ(("east", None), ("west", None)), None);
        let unknown = differ(("east", Some(&keys(&["a"]))), ("west", None));
        assert_eq!(unknown.as_deref(), Some("west has not noted which keys it has"));
    }
}
