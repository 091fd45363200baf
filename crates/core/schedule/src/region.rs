//! The regions of Azure by their display names.

/// Regions that Azure Scheduler ran in, and those that were paired with another.
const REGIONS: [&str; 38] = [
    "North Central US",
    "South Central US",
    "North Europe",
    "West Europe",
    "East Asia",
    "Southeast Asia",
    "West US",
    "East US",
    "Japan West",
    "Japan East",
    "Brazil South",
    "Central US",
    "East US 2",
    "Canada Central",
    "Canada East",
    "West US 2",
    "West Central US",
    "Australia East",
    "Australia Southeast",
    "China North",
    "China East",
    "Central India",
    "South India",
    "West India",
    "Korea Central",
    "Korea South",
    "UK West",
    "UK South",
    "Germany Central",
    "Germany Northeast",
    "US DoD East",
    "US DoD Central",
    "US Gov Arizona",
    "US Gov Texas",
    "US Gov Iowa",
    "US Gov Virginia",
    "France Central",
    "France South",
];

/// The regions that Azure Scheduler was offered in: what its provider lists.
pub const SCHEDULER_REGIONS: [&str; 17] = {
    let mut regions = [""; 17];
    let mut n = 0;
    while n < 17 {
        regions[n] = REGIONS[n];
        n += 1;
    }
    regions
};

/// `westus` is `West US`; a place that is not known is kept as it is written.
pub fn display_name(location: &str) -> String {
    let plain = |text: &str| text.replace([' ', '-'], "").to_ascii_lowercase();
    let written = plain(location);
    let known = REGIONS.iter().find(|region| plain(region) == written);
    known.map_or_else(|| location.trim().to_owned(), |region| (*region).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_shown_by_its_display_name() {
        for (written, shown) in [
            ("westus", "West US"),
            ("WESTUS2", "West US 2"),
            ("South Central US", "South Central US"),
            ("usdodcentral", "US DoD Central"),
            ("basement", "basement"),
        ] {
            assert_eq!(display_name(written), shown);
        }
        assert_eq!(SCHEDULER_REGIONS[16], "West Central US");
    }
}
