//! Memberships over models of a register and a journal, with paused time.

mod model;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;
use types::PartitionId;

use model::{Dice, Fleet};

/// As many as a test run can wait for; each new rule was tried with hundreds.
const SEEDS: u64 = 10;
const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn several_share_all_partitions_and_then_rest() {
    let mut fleet = Fleet::new(1);
    for _ in 0..3 {
        fleet.join();
    }
    fleet.settles().await;
    let takes = fleet.takes();
    sleep(60 * SECOND).await;
    assert_eq!(fleet.takes(), takes, "partitions move though nothing happens");
    assert!(fleet.shares().values().all(|share| *share >= 4), "{:?}", fleet.shares());
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_instance_held_is_taken_by_the_others() {
    let mut fleet = Fleet::new(2);
    for _ in 0..3 {
        fleet.join();
    }
    fleet.settles().await;
    fleet.kill(0);
    fleet.settles().await;
    assert_eq!(fleet.shares().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_leaves_has_released_everything_and_nobody_waits_for_it() {
    let mut fleet = Fleet::new(3);
    for _ in 0..3 {
        fleet.join();
    }
    fleet.settles().await;
    fleet.leave(0).await;
    let of_two = fleet.shares();
    assert!(of_two.len() <= 2, "it has left and holds partitions: {of_two:?}");
    // Less than the handover timeout.
    sleep(15 * SECOND).await;
    fleet.assert_settled();
}

// guards: 61
#[tokio::test(start_paused = true)]
async fn nobody_takes_what_ends_before_it_was_noted_to() {
    let mut fleet = Fleet::new(10);
    fleet.end_all_at(50);
    fleet.join();
    fleet.join();
    fleet.settles().await;
    fleet.end_all_at(100);
    sleep(40 * SECOND).await;
    assert_eq!(fleet.lowest_durable_end(), Some(100), "it is noted while partitions stay where they are");

    fleet.end_all_at(99);
    fleet.kill(0);
    sleep(60 * SECOND).await;
    assert!(fleet.unsettled().is_some(), "a partition that has lost events was acquired");
    fleet.end_all_at(100);
    fleet.settles().await;
    fleet.end_all_at(120);
    fleet.join();
    fleet.settles().await;
    assert!(fleet.lowest_durable_end() >= Some(100), "a hand-over keeps what was noted");
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_gets_its_share_without_a_wait() {
    let mut fleet = Fleet::new(8);
    fleet.join();
    fleet.join();
    fleet.settles().await;
    fleet.join();
    sleep(15 * SECOND).await;
    fleet.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn what_one_that_leaves_has_released_is_taken_while_it_is_still_leaving() {
    let mut fleet = Fleet::new(9);
    fleet.join();
    fleet.join();
    fleet.settles().await;
    let stuck = fleet.one_of(0);
    fleet.stick(stuck);
    fleet.leave_in_background(0);
    sleep(15 * SECOND).await;
    let left = fleet.unsettled().expect("one partition is stuck");
    assert!(left.starts_with(&format!("{stuck}: ")), "{left}, and {stuck} alone is stuck");
    assert_eq!(fleet.shares().values().sum::<usize>(), 32);
    fleet.settles().await;
}

// guards: 39
#[tokio::test(start_paused = true)]
async fn whoever_never_releases_is_overtaken() {
    let mut fleet = Fleet::new(10);
    fleet.join();
    fleet.settles().await;
    (0..32).for_each(|partition| fleet.stick(PartitionId(partition)));
    fleet.join();
    sleep(15 * SECOND).await;
    assert!(fleet.unsettled().is_some(), "it was overtaken before its time");
    fleet.settles().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_is_counted_and_taken_again() {
    let mut fleet = Fleet::new(11);
    fleet.join();
    fleet.settles().await;
    fleet.rob(PartitionId(5));
    fleet.rob(PartitionId::CONTROL);
    fleet.settles().await;
    assert_eq!(fleet.losses(), 2);
}

// guards: 40
#[tokio::test(start_paused = true)]
async fn one_that_nobody_hears_starts_no_calls_until_it_is_heard() {
    let mut fleet = Fleet::new(4);
    fleet.join();
    fleet.join();
    fleet.settles().await;
    assert!(!fleet.pauses_calls(0));
    fleet.cut(0);
    sleep(3 * SECOND / 2).await;
    assert!(!fleet.pauses_calls(0), "one missed heartbeat stops nothing");
    sleep(3 * SECOND).await;
    assert!(fleet.pauses_calls(0));
    fleet.reconnect(0);
    sleep(3 * SECOND).await;
    assert!(!fleet.pauses_calls(0));
    fleet.settles().await;
}

#[tokio::test(start_paused = true)]
async fn a_register_that_forgot_everybody_moves_nothing() {
    let mut fleet = Fleet::new(5);
    for _ in 0..3 {
        fleet.join();
    }
    fleet.settles().await;
    let takes = fleet.takes();
    (0..3).for_each(|index| fleet.cut(index));
    sleep(20 * SECOND).await;
    (0..3).for_each(|index| fleet.reconnect(index));
    sleep(30 * SECOND).await;
    fleet.assert_settled();
    assert_eq!(fleet.takes(), takes);
}

#[tokio::test(start_paused = true)]
async fn a_region_that_is_no_longer_active_releases_everything() {
    let mut fleet = Fleet::new(6);
    fleet.join();
    fleet.join();
    fleet.settles().await;
    fleet.set_active(false);
    sleep(30 * SECOND).await;
    assert_eq!(fleet.shares(), BTreeMap::new());
    fleet.set_active(true);
    fleet.settles().await;
}

#[tokio::test(start_paused = true)]
async fn a_take_that_fails_is_tried_again() {
    let mut fleet = Fleet::new(7);
    fleet.refuse(PartitionId(3), 4);
    fleet.join();
    fleet.settles().await;
    assert_eq!(fleet.refusals_left(PartitionId(3)), 0);
}

// guards: 39
/// Instances come, go, die, are cut off and release slowly. When that ends, each partition is with its desired
/// owner, and stays there.
#[test]
fn after_any_trouble_partitions_come_to_rest_where_they_belong() {
    for seed in 0..SEEDS {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(trouble(seed));
    }
}

async fn trouble(seed: u64) {
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    let mut fleet = Fleet::new(seed.wrapping_mul(31).wrapping_add(7));
    fleet.slow_down();
    fleet.join();
    for _ in 0..40 {
        sleep(Duration::from_millis(dice.below(9_000))).await;
        let index = dice.below(8) as usize;
        match dice.below(8) {
            0..=2 => fleet.join(),
            3 => fleet.kill(index),
            4 => fleet.leave_in_background(index),
            5 => fleet.cut(index),
            6 => fleet.refuse(PartitionId(dice.below(8) as u16), dice.below(4)),
            _ => fleet.reconnect(index),
        }
    }
    fleet.join();
    fleet.reconnect_all();
    fleet.settles().await;
    let takes = fleet.takes();
    sleep(120 * SECOND).await;
    assert_eq!(fleet.takes(), takes, "seed {seed}: partitions go on moving");
    fleet.assert_settled();
}
