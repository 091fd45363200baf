//! Which locations of Azure stand in for each other.

/// Locations that Azure pairs with each other.
const PAIRS: [(&str, &str); 28] = [
    ("australiacentral", "australiacentral2"),
    ("australiaeast", "australiasoutheast"),
    ("canadacentral", "canadaeast"),
    ("centralindia", "southindia"),
    ("centralus", "eastus2"),
    ("chinaeast", "chinanorth"),
    ("chinaeast2", "chinanorth2"),
    ("chinaeast3", "chinanorth3"),
    ("eastasia", "southeastasia"),
    ("eastus", "westus"),
    ("francecentral", "francesouth"),
    ("germanycentral", "germanynortheast"),
    ("germanynorth", "germanywestcentral"),
    ("japaneast", "japanwest"),
    ("jioindiacentral", "jioindiawest"),
    ("koreacentral", "koreasouth"),
    ("northcentralus", "southcentralus"),
    ("northeurope", "westeurope"),
    ("norwayeast", "norwaywest"),
    ("southafricanorth", "southafricawest"),
    ("swedencentral", "swedensouth"),
    ("switzerlandnorth", "switzerlandwest"),
    ("uaecentral", "uaenorth"),
    ("uksouth", "ukwest"),
    ("usdodcentral", "usdodeast"),
    ("usgovarizona", "usgovtexas"),
    ("westcentralus", "westus2"),
    ("brazilsoutheast", "brazilsouth"),
];

/// Locations whose pair is another one's pair in turn.
const ONE_WAY: [(&str, &str); 5] = [
    ("brazilsouth", "southcentralus"),
    ("usgoviowa", "usgovvirginia"),
    ("usgovvirginia", "usgovtexas"),
    ("westindia", "southindia"),
    ("westus3", "eastus"),
];

/// The location that Azure pairs with this one. It is written in any case, with or without spaces.
pub fn azure_pair(location: &str) -> Option<&'static str> {
    let letters = location.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase());
    let location: String = letters.collect();
    // One way first: Brazil South is the pair of Brazil Southeast, but has another one itself.
    let one_way = ONE_WAY.iter().find(|(from, _)| *from == location).map(|(_, to)| *to);
    one_way.or_else(|| {
        PAIRS.iter().find_map(|(one, other)| match () {
            () if *one == location => Some(*other),
            () if *other == location => Some(*one),
            () => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_have_the_pairs_that_azure_gives_them() {
        assert_eq!(azure_pair("westeurope"), Some("northeurope"));
        assert_eq!(azure_pair("North Europe"), Some("westeurope"));
        assert_eq!(azure_pair("South Central US"), Some("northcentralus"));
        assert_eq!(azure_pair("brazilsouth"), Some("southcentralus"));
        assert_eq!(azure_pair("brazilsoutheast"), Some("brazilsouth"));
        assert_eq!(azure_pair("westus3"), Some("eastus"));
        assert_eq!(azure_pair("eastus"), Some("westus"));
        assert_eq!(azure_pair("qatarcentral"), None);
    }

    #[test]
    fn no_location_is_in_two_pairs() {
        let mut all: Vec<_> = PAIRS.iter().flat_map(|(one, other)| [one, other]).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(ONE_WAY.iter().all(|(from, to)| from != to && azure_pair(to).is_some()));
    }
}
