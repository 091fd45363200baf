//! Damage in one partition stops that partition loudly; the others go on.

use crate::world::World;

// guards: 11
#[tokio::test(flavor = "multi_thread")]
async fn damage_is_reported_and_never_served_as_data() {
    let mut world = World::start().await;
    for n in 0..40 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    for n in 0..40 {
        world.wait(&format!("d-{n}"), "completed").await;
    }
    world.stop().await;
    flip_a_byte_of_an_event(&world);
    world.restart().await;
    let ready = world.get("/readyz").await.expect(200).json();
    assert_eq!(ready["stopped"].as_array().unwrap().len(), 1, "{ready}");
    let partitions = world.get("/v1/partitions").await.expect(200).json();
    let running = partitions["items"].as_array().unwrap().iter().filter(|p| p["state"] == "running").count();
    assert_eq!(running, 3);
    let reason = ready["stopped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("journal/"), "the reason names the file: {reason}");
    let mut untold = 0;
    for n in 0..40 {
        let answer = world.get(&format!("/v1/runs/d-{n}")).await;
        assert!(
            [200, 503].contains(&answer.status.as_u16()),
            "d-{n} was accepted, and asked for it is {}",
            answer.status
        );
        untold += u32::from(answer.status == 503);
    }
    assert!(untold > 0, "the runs of the stopped partition cannot be shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_partition_takes_nothing_and_denies_no_run() {
    let mut world = World::start_with_journal_of(1).await;
    let ids: Vec<String> = (0..40).map(|n| format!("d-{n}")).collect();
    for id in &ids {
        world.post_delivery(id).await.expect(202);
    }
    for id in &ids {
        world.wait(id, "completed").await;
    }
    let manifest = world.directory.path().join("data/view/p-00000/current");
    // A snapshot writes the view to disk.
    while !manifest.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    world.stop().await;
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&manifest, bytes).unwrap();
    world.restart().await;
    let ready = world.get("/readyz").await.expect(200).json();
    assert_eq!(ready["stopped"].as_array().unwrap().len(), 1, "{ready}");
    let mut withheld = 0;
    for id in &ids {
        let shown = world.get(&format!("/v1/runs/{id}")).await;
        let posted = world.post_delivery(id).await;
        if shown.status == 503 {
            withheld += 1;
            assert_eq!(posted.expect(503).json()["code"], "partition_stopped");
        } else {
            shown.expect(200);
            posted.expect(200);
        }
    }
    assert!((1..40).contains(&withheld), "{withheld} of 40 runs are in a stopped partition");
    // Nobody knows whether a stopped partition holds it.
    assert_eq!(world.get("/v1/runs/nobody").await.expect(503).json()["code"], "partition_stopped");
}

/// Changes one byte in the middle of the first recorded answer of a drone.
fn flip_a_byte_of_an_event(world: &World) {
    let dir = world.directory.path().join("data/journal");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let mut bytes = std::fs::read(&file).unwrap();
        let needle = b"37.43,-78.65";
        let found = bytes.windows(needle.len()).position(|window| window == needle);
        if let Some(place) = found {
            bytes[place] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            return;
        }
    }
    panic!("no request was found in the journal");
}
