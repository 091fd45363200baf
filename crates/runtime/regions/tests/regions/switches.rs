//! How two regions change places, and what becomes of what was written meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use regions::{Mode, PromotionStep, RegionError, RegionReading, Role, Settings};

use tokio::io::AsyncReadExt;

use crate::stage::{
    Stage, contents, denied, join, make_streams, publish, role, subject, until, until_status,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_mirrors_what_its_pair_has() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    assert!(*east.active().borrow());
    assert!(!*west.active().borrow());
    for number in 1..=20 {
        assert_eq!(publish(&stage.east, "ing", &format!("frame {number}")).await, Ok(number));
    }
    let status = until_status(&west, "the mirror has all", |status| {
        status.mirrors.iter().any(|mirror| mirror.last == Some(20) && mirror.lag == Some(0))
    })
    .await;
    assert_eq!(status.active(), Some("east"));
    let reading = RegionReading { active: true, level: true, epoch: 1, pair_reachable: true, leased: None };
    assert_eq!(east.meter().read(), Some(reading));
    let standby = RegionReading { active: false, ..reading };
    until("it is seen", async || west.meter().read().filter(|seen| *seen == standby)).await;
    until("the mirrors know it", async || west.meter().mirror_lag().await.ok().filter(|lag| *lag == 0)).await;
    assert_eq!(contents(&stage.west, "ING").await, contents(&stage.east, "ING").await);
}

// guards: 46
#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_forgets_what_its_origin_has_forgotten_once_it_has_the_rest() {
    let stage = Stage::start().await;
    let (_east, west) = stage.joined().await;
    for number in 1..=400 {
        publish(&stage.east, "ing", &format!("{number}")).await.unwrap();
    }
    let js = async_nats::jetstream::new(stage.east.clone());
    js.get_stream("sortie_ING_00000").await.unwrap().purge().sequence(390).await.unwrap();
    let kept: Vec<_> = (390..=400).map(|number| number.to_string()).collect();
    until("the mirror is trimmed", async || {
        west.maintain_streams().await.ok()?;
        (contents(&stage.west, "ING").await == kept).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_is_never_quite_there_is_trimmed_all_the_same() {
    let stage = Stage::start().await;
    let (_east, west) = stage.joined().await;
    // Whoever looks from the west sees an origin that is ahead.
    stage.link.delay(Duration::from_millis(100));
    let stop = Arc::new(AtomicBool::new(false));
    let (client, stopped) = (stage.east.clone(), stop.clone());
    let writer = tokio::spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            publish(&client, "ing", "more").await.unwrap();
        }
    });
    until("there is something", async || (ends(&stage.west).await.1 > 400).then_some(())).await;
    let js = async_nats::jetstream::new(stage.east.clone());
    js.get_stream("sortie_ING_00000").await.unwrap().purge().sequence(390).await.unwrap();
    until("the mirror is trimmed", async || {
        west.maintain_streams().await.ok()?;
        (ends(&stage.west).await.0 >= 390).then_some(())
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    writer.await.unwrap();
}

/// The first and the last sequence of the inbox.
async fn ends(client: &async_nats::Client) -> (u64, u64) {
    let js = async_nats::jetstream::new(client.clone());
    let state = js.get_stream("sortie_ING_00000").await.unwrap().cached_info().state.clone();
    (state.first_sequence, state.last_sequence)
}

// guards: 44
#[tokio::test(flavor = "multi_thread")]
async fn a_planned_switch_loses_nothing_under_load() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..4 {
        let (clients, stop) = ([stage.east.clone(), stage.west.clone()], stop.clone());
        writers.push(tokio::spawn(async move {
            let (mut acked, mut number, mut side) = (Vec::new(), 0, 0);
            while !stop.load(Ordering::Relaxed) {
                let text = format!("{writer}-{number}");
                match publish(&clients[side], "ing", &text).await {
                    Ok(_) => {
                        acked.push(text);
                        number += 1;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Err(_) => side = 1 - side,
                }
            }
            acked
        }));
    }
    until("there is something", async || (contents(&stage.east, "ING").await.len() > 20).then_some(())).await;
    let promoted = west.promote(Mode::Planned).await.unwrap();
    assert_eq!((promoted.epoch, promoted.lost()), (2, 0));
    let at_switch = contents(&stage.west, "ING").await.len();
    until("west takes more", async || {
        (contents(&stage.west, "ING").await.len() > at_switch + 20).then_some(())
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    let stored = contents(&stage.west, "ING").await;
    for text in acknowledged {
        assert!(stored.contains(&text), "{text} was acknowledged and is gone");
    }
    assert!(*west.active().borrow() && *west.epoch().borrow() == 2);
    let status = until_status(&east, "east mirrors west", |status| {
        role(&status.record) == Some(Role::Standby) && status.mirrors.iter().all(|m| m.lag == Some(0))
    })
    .await;
    assert_eq!((status.active(), &status.tail), (Some("west"), &None));
    assert_eq!(contents(&stage.east, "ING").await, contents(&stage.west, "ING").await);

    let back = east.promote(Mode::Planned).await.unwrap();
    assert_eq!(back.epoch, 3);
    assert_eq!(publish(&stage.east, "ing", "home").await, Ok(stored.len() as u64 + 1));
}

// guards: 45
#[tokio::test(flavor = "multi_thread")]
async fn a_forced_switch_goes_on_and_the_old_region_keeps_its_tail_and_mirrors() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    for number in 1..=10 {
        publish(&stage.east, "ing", &format!("shared {number}")).await.unwrap();
    }
    until_status(&west, "the mirror has all", |status| status.mirrors.iter().any(|m| m.last == Some(10)))
        .await;
    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    for number in 1..=3 {
        publish(&stage.east, "ing", &format!("only east {number}")).await.unwrap();
    }
    assert!(matches!(west.promote(Mode::Planned).await, Err(RegionError::PairUnreachable { .. })));
    let promoted = west.promote(Mode::Forced).await.unwrap();
    assert!(promoted.forced && promoted.epoch == 2);
    assert_eq!(publish(&stage.west, "ing", "west goes on").await, Ok(11));

    stage.link.restore();
    let status = until_status(&east, "east mirrors west", |status| {
        role(&status.record) == Some(Role::Standby) && status.mirrors.iter().all(|m| m.lag == Some(0))
    })
    .await;
    assert!(!*east.active().borrow());
    let tail = status.tail.unwrap();
    assert_eq!((tail.epoch, tail.overtaken_by), (1, 2));
    let inbox = tail.streams.iter().find(|stream| stream.stream.contains("ING")).unwrap();
    assert_eq!((inbox.from, inbox.through, inbox.messages, &inbox.whole), (11, 13, 3, &None));
    let kept = std::fs::read_to_string(format!("{}/{}.jsonl", tail.folder, inbox.stream)).unwrap();
    assert_eq!(kept.lines().count(), 3);
    // The disk of an instance may go with it, and its streams are mirrors by now.
    std::fs::remove_dir_all(&tail.folder).unwrap();
    assert_eq!(object(&stage.east, &format!("epoch-1/{}.jsonl", inbox.stream)).await, kept);
    assert!(object(&stage.east, "epoch-1/tail.json").await.contains(&inbox.stream));
    assert_eq!(contents(&stage.east, "ING").await, contents(&stage.west, "ING").await);
}

/// What the region keeps under a name.
async fn object(client: &async_nats::Client, name: &str) -> String {
    let objects =
        async_nats::jetstream::new(client.clone()).get_object_store("sortie_divergent").await.unwrap();
    let mut text = String::new();
    objects.get(name).await.unwrap().read_to_string(&mut text).await.unwrap();
    text
}

// guards: 62
#[tokio::test(flavor = "multi_thread")]
async fn what_was_on_its_way_when_its_stream_was_replaced_is_stored_nowhere() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    let before = subject(&stage.east, "ing").await.unwrap();
    publish(&stage.east, "ing", "shared").await.unwrap();
    until_status(&west, "the mirror has it", |status| status.mirrors.iter().any(|m| m.last == Some(1))).await;
    stage.link.cut();
    publish(&stage.east, "ing", "only east").await.unwrap();
    west.promote(Mode::Forced).await.unwrap();
    publish(&stage.west, "ing", "only west").await.unwrap();
    stage.link.restore();
    until_status(&east, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    until("east is promoted again", async || east.promote(Mode::Planned).await.ok()).await;

    // An owner of long ago had seen two messages, and there are two.
    let js = async_nats::jetstream::new(stage.east.clone());
    let late = async_nats::jetstream::message::PublishMessage::build().expected_last_sequence(2);
    let late = js.send_publish(before, late.payload("too late".into())).await.unwrap();
    assert!(late.await.is_err());
    assert_eq!(contents(&stage.east, "ING").await, ["shared", "only west"]);
    assert_eq!(publish(&stage.east, "ing", "now").await, Ok(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_tail_is_kept_once_by_whoever_began_it() {
    let stage = Stage::start().await;
    let (way, far) = stage.way_to_east().await;
    make_streams(&stage.east).await;
    let east = |instance: &str| Settings {
        instance: instance.to_owned(),
        data: stage.data.path().join(instance),
        work: Duration::from_secs(2),
        ..stage.settings("east")
    };
    let first = join(far.clone(), east("first")).await.unwrap();
    let _second = join(far.clone(), east("second")).await.unwrap();
    let west = stage.join("west").await.unwrap();
    until_status(&west, "west is level", |status| status.record.as_ref().is_some_and(|here| here.level))
        .await;
    stage.link.cut();
    for number in 1..=120 {
        publish(&stage.east, "ing", &format!("only east {number}")).await.unwrap();
    }
    west.promote(Mode::Forced).await.unwrap();

    // Each question takes so long that the whole tail takes longer than an instance is believed in.
    way.delay(Duration::from_millis(25));
    stage.link.restore();
    let status =
        until_status(&first, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    assert_eq!(status.tail.unwrap().streams[0].messages, 120);
    let kept =
        ["first", "second"].map(|instance| stage.data.path().join(instance).join("divergent").exists());
    assert!(kept[0] != kept[1], "both have begun to keep it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_cannot_keep_the_tail_leaves_it_to_another() {
    let stage = Stage::start().await;
    make_streams(&stage.east).await;
    let east = |instance: &str| Settings {
        instance: instance.to_owned(),
        data: stage.data.path().join(instance),
        ..stage.settings("east")
    };
    std::fs::write(stage.data.path().join("unable"), "where its folder should be").unwrap();
    let unable = join(stage.east.clone(), east("unable")).await.unwrap();
    let west = stage.join("west").await.unwrap();
    until_status(&west, "west is level", |status| status.record.as_ref().is_some_and(|here| here.level))
        .await;
    stage.link.cut();
    publish(&stage.east, "ing", "only east").await.unwrap();
    west.promote(Mode::Forced).await.unwrap();
    stage.link.restore();
    until_status(&unable, "east is fenced", |status| role(&status.record) == Some(Role::Fenced)).await;
    let able = join(stage.east.clone(), east("able")).await.unwrap();
    let status =
        until_status(&able, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    assert_eq!(status.tail.unwrap().instance, "able");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demoted_region_can_write_until_its_instances_have_let_go() {
    let stage = Stage::start().await;
    let (east, _west) = stage.joined().await;
    let js = async_nats::jetstream::new(stage.east.clone());
    let bucket = async |name: &str| {
        let config =
            async_nats::jetstream::kv::Config { bucket: format!("sortie_{name}"), ..Default::default() };
        js.create_key_value(config).await.unwrap()
    };
    let (living, held) = (bucket("inst").await, bucket("part").await);
    living.put("inst.a", "alive".into()).await.unwrap();
    held.put("00000", r#"{"holder":"a","epoch":1}"#.into()).await.unwrap();
    let demoting = tokio::spawn({
        let east = east.clone();
        async move { east.demote().await }
    });
    until_status(&east, "east is asked to stop", |status| role(&status.record) == Some(Role::Fenced)).await;
    for number in 1..=20 {
        let outcome = publish(&stage.east, "jrn", "what became of a call").await;
        assert_eq!(outcome, Ok(number), "its holder still works");
    }
    assert!(!demoting.is_finished());
    held.put("00000", r#"{"holder":null,"epoch":1}"#.into()).await.unwrap();
    demoting.await.unwrap().unwrap();
    assert!(publish(&stage.east, "jrn", "too late").await.is_err());
}

/// A claim whose owner had taken up the inbox through a sequence.
fn claim_that_took(inbox: u64) -> Vec<u8> {
    let mut bytes = b"SrtE".to_vec();
    bytes.extend([1, 1, 0, 0]);
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend([7; 16]);
    bytes.extend(inbox.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_that_lags_its_events_continues_after_the_last_request_they_took() {
    let stage = Stage::start().await;
    let (_east, west) = stage.joined().await;
    publish(&stage.east, "ing", "one").await.unwrap();
    let js = async_nats::jetstream::new(stage.east.clone());
    js.publish("sortie.jrn.00000", claim_that_took(5).into()).await.unwrap().await.unwrap();
    until_status(&west, "both are mirrored", |status| {
        status.mirrors.iter().all(|mirror| mirror.last == Some(1) && mirror.lag == Some(0))
    })
    .await;
    stage.link.cut();
    west.promote(Mode::Forced).await.unwrap();
    assert_eq!(publish(&stage.west, "ing", "next").await, Ok(6), "2 to 5 were taken up in the lost region");
}

// guards: 44
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_promotion_goes_on_where_it_was() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    publish(&stage.east, "ing", "one").await.unwrap();
    // It breaks off somewhere in the middle, wherever that is, later each time.
    let mut after = Duration::from_millis(1);
    until("west is promoted", async || {
        after *= 2;
        tokio::time::timeout(after, west.promote(Mode::Planned)).await.ok()?.ok()
    })
    .await;
    until_status(&west, "west is active", |status| role(&status.record) == Some(Role::Active)).await;
    assert_eq!(publish(&stage.west, "ing", "two").await, Ok(2));
    until_status(&east, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    until("all is there", async || (contents(&stage.east, "ING").await == ["one", "two"]).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_care_of_mirrors_leaves_a_promotion_alone() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    let stop = Arc::new(AtomicBool::new(false));
    let carer = tokio::spawn({
        let (regions, stopped) = ([east.clone(), west.clone()], stop.clone());
        async move {
            while !stopped.load(Ordering::Relaxed) {
                for region in &regions {
                    // One that is busy or not to be cared for says so.
                    let _ = region.maintain_streams().await;
                }
                // A refusal comes at once, and what was woken meanwhile may wait for this task.
                tokio::task::yield_now().await;
            }
        }
    });
    // Nothing was ever written: an empty stream looks like one that was made before it was mirrored.
    for (name, region) in [("west", &west), ("east", &east), ("west", &west)] {
        until("the region is promoted", async || region.promote(Mode::Planned).await.ok()).await;
        let js = async_nats::jetstream::new(stage.client(name));
        for stream in ["sortie_ING_00000", "sortie_JRN_00000"] {
            let config = js.get_stream(stream).await.unwrap().cached_info().config.clone();
            assert!(config.mirror.is_none() && !config.subjects.is_empty(), "{name}: {config:?}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    carer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_promotion_leaves_no_trace() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    publish(&stage.east, "ing", "one").await.unwrap();
    let mut after = Duration::from_millis(5);
    until("west is caught in the middle of its promotion", async || {
        after = after * 11 / 10;
        if tokio::time::timeout(after, west.promote(Mode::Planned)).await.is_ok() {
            // It went through: back to the start.
            until("east is promoted", async || east.promote(Mode::Planned).await.ok()).await;
            after = Duration::from_millis(5);
        }
        let record = west.status().await.ok()?.record?;
        record.promotion.filter(|promotion| promotion.step >= PromotionStep::CatchUp)
    })
    .await;
    let back = until("east is promoted", async || east.promote(Mode::Planned).await.ok()).await;
    assert!(back.epoch >= 3);
    assert_eq!(publish(&stage.east, "ing", "two").await, Ok(2));
    until_status(&west, "west mirrors east", |status| {
        role(&status.record) == Some(Role::Standby)
            && status.mirrors.len() == 2
            && status.mirrors.iter().all(|mirror| mirror.lag == Some(0) && mirror.last.is_some())
    })
    .await;
    assert_eq!(contents(&stage.west, "ING").await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_switches_there_and_back_from_either_side() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    publish(&stage.east, "ing", "one").await.unwrap();
    for regions in [&east, &west] {
        let drill = until("all is well", async || {
            let checked = regions.check().await.ok()?;
            checked.ready.then_some(())?;
            regions.switch_and_back().await.ok()
        })
        .await;
        assert!(drill.ready, "{:?}", drill.checks);
        let to: Vec<_> = drill.switches.iter().map(|switch| switch.region.as_str()).collect();
        assert_eq!(to, ["west", "east"]);
    }
    assert_eq!(publish(&stage.east, "ing", "two").await, Ok(2));
    stage.link.cut();
    until_status(&east, "the link is down", |status| !status.pair_reachable).await;
    assert!(!east.check().await.unwrap().ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_whose_switch_back_fails_reports_the_first_switch() {
    let stage = Stage::start().await;
    make_streams(&stage.east).await;
    let _east = stage.join("east").await.unwrap();
    let settings = Settings { patience: Duration::from_secs(3), ..stage.settings("west") };
    let west = join(stage.west.clone(), settings).await.unwrap();
    until("all is well", async || west.check().await.ok().filter(|drill| drill.ready)).await;
    let mut active = west.active();
    let cut = async {
        active.wait_for(|active| *active).await.unwrap();
        stage.link.cut();
    };
    let (drill, ()) = tokio::join!(west.switch_and_back(), cut);
    let drill = drill.unwrap();
    assert!(!drill.ready);
    assert_eq!(drill.checks.last().unwrap().check, "the pair responds");
    let to: Vec<_> = drill.switches.iter().map(|switch| switch.region.as_str()).collect();
    assert_eq!(to, ["west"]);
    assert!(*west.active().borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_carries_the_subjects_is_refused() {
    // Between two domains NATS keeps buckets of keys apart by itself.
    for carried in denied().into_iter().filter(|subject| subject != "$KV.>") {
        let stage = Stage::start_with(without(&carried)).await;
        let refused = until("the link is up", async || stage.join("east").await.err()).await;
        // What it names must be what denies it: that is copied into the configuration.
        let RegionError::LinkCarries { subject, pair } = refused else { panic!("{carried}: {refused}") };
        assert_eq!((subject, pair.as_str()), (carried, "west"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_keeps_buckets_apart_even_when_nobody_denies_them() {
    let stage = Stage::start_with(without("$KV.>")).await;
    let (east, _west) = stage.joined().await;
    let checked = east.check().await.unwrap();
    assert!(checked.ready, "{:?}", checked.checks);
}

/// What a link denies that has been left open for something.
fn without(carried: &str) -> Vec<String> {
    denied().into_iter().filter(|subject| subject != carried).collect()
}
