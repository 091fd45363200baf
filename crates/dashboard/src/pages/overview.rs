//! The overview: how everything is doing.

use maud::html;
use wire::PartitionView;

use crate::page::{Page, Place};
use crate::pieces;
use crate::trouble::Trouble;
use crate::visit::Visit;

#[derive(serde::Deserialize)]
struct Items {
    items: Vec<PartitionView>,
}

pub(super) async fn show(visit: &Visit) -> Result<Page, Trouble> {
    let Items { items } = visit.get("/v1/partitions").await?;
    let live: usize = items.iter().map(|partition| partition.live_runs).sum();
    Ok(Page::new("Overview", Place::Overview)
        .live("overview", pieces::facts(&[("Live runs", html! { (pieces::count(live as u64)) })])))
}
