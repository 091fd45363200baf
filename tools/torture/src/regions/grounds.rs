//! Where the regions and the witness are: the same places for all rounds.

use crate::cluster::network::{Network, Place};
use crate::cluster::region::{Layout, Programs};

/// Instances in each region: one may be missing.
const INSTANCES: usize = 2;

pub struct Grounds {
    pub network: Network,
    /// East and west.
    pub layouts: [Layout; 2],
    /// Where the witness is.
    pub third: Place,
    pub programs: Programs,
}

impl Grounds {
    pub fn make(mut network: Network, programs: Programs) -> anyhow::Result<Grounds> {
        let east = Layout::new("east", &mut network, 11, INSTANCES)?;
        let west = Layout::new("west", &mut network, 31, INSTANCES)?;
        let third = network.place(51)?;
        Ok(Grounds { network, layouts: [east, west], third, programs })
    }

    /// The regions cannot see each other; clients see both.
    pub fn cut_link(&self) -> anyhow::Result<()> {
        let [east, west] = self.layouts.each_ref().map(Layout::places);
        self.network.sever(&east, &west)
    }

    pub fn mend_link(&self) -> anyhow::Result<()> {
        let [east, west] = self.layouts.each_ref().map(Layout::places);
        self.network.mend(&east, &west)
    }

    /// A region cannot see the witness.
    pub fn cut_witness(&self, region: usize) -> anyhow::Result<()> {
        self.network.sever(&self.layouts[region].places(), &[&self.third])
    }

    pub fn mend_witness(&self, region: usize) -> anyhow::Result<()> {
        self.network.mend(&self.layouts[region].places(), &[&self.third])
    }
}
