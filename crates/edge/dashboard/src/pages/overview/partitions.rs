//! The partitions as a row of squares, and as text.

use api_types::PartitionView;
use maud::{Markup, html};

use crate::components;

const IN_A_ROW: usize = 32;
/// The size of a square, and the distance from one to the next.
const SIDE: usize = 10;
const STEP: usize = 12;

pub(super) fn strip(partitions: &[PartitionView]) -> Markup {
    let running = partitions.iter().filter(|one| one.state == "running").count();
    let words = format!("{running} of {} running", partitions.len());
    let (width, height) = (partitions.len().min(IN_A_ROW) * STEP, partitions.len().div_ceil(IN_A_ROW) * STEP);
    html! {
        svg.strip viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img" aria-label={ "Partitions: " (words) } {
            @for (index, partition) in partitions.iter().enumerate() {
                (square(partition, index % IN_A_ROW * STEP, index / IN_A_ROW * STEP))
            }
        }
        p.quiet { (words) ", " (sum(partitions, |one| one.live_runs)) " live runs, " (sum(partitions, |one| one.calls)) " calls pending" }
    }
}

/// A partition that is not running is crossed out, so that the colour is not the only sign.
fn square(partition: &PartitionView, x: usize, y: usize) -> Markup {
    let (far_x, far_y) = (x + SIDE, y + SIDE);
    let well = partition.state == "running";
    html! {
        g.(if well { "running" } else { "ill" }) {
            title { "Partition " (partition.partition) ": " (partition.state) }
            rect x=(x) y=(y) width=(SIDE) height=(SIDE) rx="2" {}
            @if !well { path d={ "M" (x) " " (y) "L" (far_x) " " (far_y) "M" (far_x) " " (y) "L" (x) " " (far_y) } {} }
        }
    }
}

fn sum(partitions: &[PartitionView], count: impl Fn(&PartitionView) -> usize) -> String {
    components::count(partitions.iter().map(count).sum::<usize>() as u64)
}
