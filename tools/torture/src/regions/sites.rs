//! The addresses of the regions and the witness: the same for all rounds.

use crate::cluster::network::{MemberAddress, Network};
use crate::cluster::region::{Layout, Programs};

/// Instances in each region: one may be missing.
const INSTANCES: usize = 2;

pub struct RegionSites {
    pub network: Network,
    /// East and west.
    pub layouts: [Layout; 2],
    /// The address of the witness.
    pub third: MemberAddress,
    pub programs: Programs,
}

impl RegionSites {
    pub fn make(mut network: Network, programs: Programs) -> anyhow::Result<RegionSites> {
        let east = Layout::new("east", &mut network, 11, INSTANCES)?;
        let west = Layout::new("west", &mut network, 31, INSTANCES)?;
        let third = network.place(51)?;
        Ok(RegionSites { network, layouts: [east, west], third, programs })
    }

    /// The regions cannot see each other; clients see both.
    pub fn cut_link(&self) -> anyhow::Result<()> {
        let [east, west] = self.layouts.each_ref().map(Layout::places);
        self.network.sever(&east, &west)
    }

    pub fn restore_link(&self) -> anyhow::Result<()> {
        let [east, west] = self.layouts.each_ref().map(Layout::places);
        self.network.restore(&east, &west)
    }

    /// A region cannot see the witness.
    pub fn cut_witness(&self, region: usize) -> anyhow::Result<()> {
        self.network.sever(&self.layouts[region].places(), &[&self.third])
    }

    pub fn restore_witness(&self, region: usize) -> anyhow::Result<()> {
        self.network.restore(&self.layouts[region].places(), &[&self.third])
    }
}
