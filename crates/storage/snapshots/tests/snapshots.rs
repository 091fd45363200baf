//! Snapshots in real stores: what was put is got on another machine, or what is missing or damaged is named.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt;
use journal::{AppendError, ReadError, Snapshot};
use journal_nats::Snapshots;
use journal_nats::jetstream::JetStream;
use snapshots::bucket::Bucket;
use snapshots::directory::Directory;
use snapshots::store::Store;
use snapshots::stored::StoredSnapshots;
use test_brokers::{NatsCluster, NatsSettings};
use types::{Epoch, PartitionId, Seq};

const P: PartitionId = PartitionId(3);
const LARGE: usize = 10_000_000;
const HOUR: Duration = Duration::from_secs(3600);

type Tree = BTreeMap<&'static str, Vec<u8>>;

/// One machine: its disk, and the snapshots as it sees them.
struct Machine<S> {
    snapshots: StoredSnapshots<S>,
    disk: tempfile::TempDir,
}

impl<S: Store + Clone> Machine<S> {
    fn new(store: &S) -> Machine<S> {
        Machine { snapshots: StoredSnapshots::new(store.clone(), "shop"), disk: tempfile::tempdir().unwrap() }
    }

    /// Makes the disk hold this tree; files that it has already are not touched.
    fn write(&self, tree: &Tree) {
        fs::create_dir_all(self.disk.path().join("tables")).unwrap();
        for (name, old) in read(self.disk.path()) {
            if tree.get(name.as_str()) != Some(&old) {
                fs::remove_file(self.disk.path().join(name)).unwrap();
            }
        }
        for (name, bytes) in tree {
            let path = self.disk.path().join(name);
            if !path.exists() {
                fs::write(path, bytes).unwrap();
            }
        }
    }

    async fn put_tables(&self, epoch: u64, through: u64, tree: &Tree) {
        self.write(tree);
        let dir = self.disk.path().to_owned();
        self.snapshots.tables_put(P, Epoch(epoch), Seq(through), dir).await.unwrap();
    }

    async fn put(&self, epoch: u64, through: u64, tree: &Tree) {
        self.put_tables(epoch, through, tree).await;
        self.finish(epoch, through).await;
    }

    async fn finish(&self, epoch: u64, through: u64) {
        let snapshot = Snapshot { through: Seq(through), bytes: state(through) };
        self.snapshots.put(P, Epoch(epoch), snapshot).await.unwrap();
        // As after a trim.
        self.snapshots.clean(P, Epoch(epoch)).await;
    }

    /// The newest snapshot with its tables, onto this disk.
    async fn take(&self) -> Result<Option<(u64, BTreeMap<String, Vec<u8>>)>, ReadError> {
        let Some((_, snapshot)) = self.snapshots.get(P, None).await? else { return Ok(None) };
        assert_eq!(snapshot.bytes, state(snapshot.through.0));
        for name in read(self.disk.path()).keys() {
            fs::remove_file(self.disk.path().join(name)).unwrap();
        }
        self.snapshots.tables_get(P, snapshot.through, self.disk.path().to_owned()).await?;
        Ok(Some((snapshot.through.0, read(self.disk.path()))))
    }
}

fn state(through: u64) -> Bytes {
    format!("state at {through}").repeat(1000).into()
}

/// A table of this size, unlike any other.
fn table(seed: u64, length: usize) -> Vec<u8> {
    let words = std::iter::successors(Some(seed), |state| Some(types::retry::mix(*state)));
    words.flat_map(u64::to_le_bytes).take(length).collect()
}

fn tree<const N: usize>(files: [(&'static str, Vec<u8>); N]) -> Tree {
    files.into_iter().collect()
}

fn read(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fn below(dir: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                below(&path, &format!("{name}/"), found);
            } else {
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    below(dir, "", &mut found);
    found
}

fn owned(tree: &Tree) -> BTreeMap<String, Vec<u8>> {
    tree.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect()
}

async fn names<S: Store>(store: &S, kind: &str) -> Vec<String> {
    let prefix = format!("shop/00003/{kind}/");
    let mut names = store.list(&prefix).await.unwrap();
    names.sort();
    names.into_iter().map(|name| name.strip_prefix(&prefix).unwrap().to_owned()).collect()
}

async fn objects_are_kept<S: Store>(store: &S) {
    assert_eq!(store.get("a/b/missing").await.unwrap(), None);
    assert_eq!(store.list("a/").await.unwrap(), Vec::<String>::new());
    let large = Bytes::from(table(1, LARGE));
    store.put("a/b/large", large.clone()).await.unwrap();
    store.put("a/b/empty", Bytes::new()).await.unwrap();
    store.put("ab/other", "x".into()).await.unwrap();
    store.put("ab/other", "y".into()).await.unwrap();
    assert!(store.get("a/b/large").await.unwrap() == Some(large), "the large one differs");
    assert_eq!(store.get("a/b/empty").await.unwrap(), Some(Bytes::new()));
    assert_eq!(store.get("ab/other").await.unwrap(), Some("y".into()));
    let mut listed = store.list("a/").await.unwrap();
    listed.sort();
    assert_eq!(listed, ["a/b/empty", "a/b/large"]);
    store.delete("a/b/large").await.unwrap();
    store.delete("a/b/large").await.unwrap();
    assert_eq!(store.get("a/b/large").await.unwrap(), None);
    assert_eq!(store.list("a/").await.unwrap(), ["a/b/empty"]);
}

async fn another_machine_goes_on<S: Store + Clone>(store: &S) {
    let first = Machine::new(store);
    assert_eq!(first.take().await.unwrap(), None);
    let mut held = tree([
        ("current", b"1".to_vec()),
        ("v1", table(1, 100)),
        ("tables/1", table(11, LARGE)),
        ("tables/2", table(12, 5000)),
    ]);
    first.put(1, 10, &held).await;
    // Stored, but its snapshot never came.
    held.insert("tables/3", table(13, 6000));
    first.put_tables(1, 20, &held).await;

    let second = Machine::new(store);
    held.remove("tables/3");
    assert_eq!(second.take().await.unwrap(), Some((10, owned(&held))));
    // Tables of one name and length that differ, and a name that is there already.
    held.insert("tables/3", table(14, 6000));
    held.insert("current", b"2".to_vec());
    second.put(2, 20, &held).await;
    let third = Machine::new(store);
    assert_eq!(third.take().await.unwrap(), Some((20, owned(&held))));
    let stored = names(store, "tables").await;
    let beginnings: Vec<_> = stored.iter().map(|name| &name[..name.len() - 9]).collect();
    assert_eq!(
        beginnings,
        ["0000000001-tables.1", "0000000001-tables.2", "0000000002-tables.3"],
        "what was there is not stored again, and what never had a snapshot is gone"
    );
}

async fn old_ones_are_cleaned<S: Store + Clone>(store: &S) {
    let owner = Machine::new(store);
    let large = table(1, 50_000);
    for number in 1..=6u64 {
        let held = tree([
            ("current", number.to_le_bytes().to_vec()),
            ("tables/1", large.clone()),
            ("tables/2", table(100 + number, 5000)),
        ]);
        owner.put(4, number * 10, &held).await;
    }
    let kept = [40, 50, 60].map(|through| format!("{through:020}-0000000004"));
    assert_eq!(names(store, "manifest").await, kept);
    assert_eq!(names(store, "state").await.len(), 3);
    assert_eq!(names(store, "tables").await.len(), 1 + 3);
    let (through, tables) = Machine::new(store).take().await.unwrap().unwrap();
    assert_eq!((through, &tables["tables/2"]), (60, &table(106, 5000)));
    // Control has no tables.
    let snapshot = Snapshot { through: Seq(1), bytes: "x".into() };
    owner.snapshots.put(PartitionId::CONTROL, Epoch(1), snapshot.clone()).await.unwrap();
    let found = owner.snapshots.get(PartitionId::CONTROL, None).await.unwrap();
    assert_eq!(found.map(|(_, snapshot)| snapshot), Some(snapshot));
}

async fn a_fenced_owner_takes_nothing_away<S: Store + Clone>(store: &S) {
    let base = table(1, 50_000);
    let with_base =
        |number: u64| tree([("current", number.to_le_bytes().to_vec()), ("tables/1", base.clone())]);
    let without =
        |number: u64| tree([("current", number.to_le_bytes().to_vec()), ("tables/9", table(number, 5000))]);
    let fenced = Machine::new(store);
    fenced.put(1, 10, &with_base(1)).await;
    let next = Machine::new(store);
    assert_eq!(next.take().await.unwrap().unwrap().0, 10);
    // It does not know yet, and has merged the table away: what was under way, and one more.
    fenced.put(1, 20, &without(2)).await;
    fenced.put(1, 30, &without(3)).await;
    // The next one builds on the table, goes on, and is the newest however it comes.
    next.put(2, 30, &with_base(4)).await;
    assert_eq!(Machine::new(store).take().await.unwrap(), Some((30, owned(&with_base(4)))));
    for number in 5..8 {
        next.put(2, number * 10, &with_base(number)).await;
    }
    // The files of an upload in progress are not part of a manifest yet.
    let grown = tree([("current", vec![8]), ("tables/1", base.clone()), ("tables/5", table(5, 5000))]);
    next.put_tables(2, 80, &grown).await;
    fenced.put(1, 30, &without(9)).await;
    let manifests = names(store, "manifest").await;
    assert_eq!(manifests.iter().filter(|name| name.ends_with("-0000000002")).count(), 3, "{manifests:?}");
    assert_eq!(Machine::new(store).take().await.unwrap(), Some((70, owned(&with_base(7)))));
    next.finish(2, 80).await;
    assert_eq!(Machine::new(store).take().await.unwrap(), Some((80, owned(&grown))));
}

async fn what_an_owner_left_under_way_is_void<S: Store + Clone>(store: &S) {
    let machine = Machine::new(store);
    let held = |number: u8| tree([("current", vec![number]), ("tables/1", table(number.into(), 5000))]);
    machine.put(1, 10, &held(1)).await;
    machine.put_tables(1, 20, &held(2)).await;
    // It takes the partition once more, before that snapshot has come.
    assert_eq!(machine.take().await.unwrap(), Some((10, owned(&held(1)))));
    let snapshot = Snapshot { through: Seq(20), bytes: state(20) };
    let put = machine.snapshots.put(P, Epoch(2), snapshot).await;
    assert_eq!(put, Err(AppendError::Fenced { partition: P }));
    machine.put(2, 20, &held(3)).await;
    assert_eq!(Machine::new(store).take().await.unwrap(), Some((20, owned(&held(3)))));
}

async fn damage_is_named<S: Store + Clone>(store: &S) {
    let owner = Machine::new(store);
    for (through, name) in [(10, "tables/1"), (20, "tables/2")] {
        let held = tree([("current", vec![through]), (name, table(through.into(), 50_000))]);
        owner.put(1, through.into(), &held).await;
    }
    for kind in ["tables", "state", "manifest"] {
        let name = format!("shop/00003/{kind}/{}", names(store, kind).await.pop().unwrap());
        let whole = store.get(&name).await.unwrap().unwrap();
        let mut changed = whole.to_vec();
        changed[whole.len() / 2] ^= 4;
        for bytes in [changed.into(), whole.slice(..whole.len() / 2)] {
            store.put(&name, bytes).await.unwrap();
            let error = refused(store).await;
            assert!(error.contains(&name), "{name}: {error}");
        }
        if kind != "manifest" {
            store.delete(&name).await.unwrap();
            let error = refused(store).await;
            assert!(error.contains(&name) && error.contains("missing"), "{name}: {error}");
        }
        store.put(&name, whole).await.unwrap();
    }
    assert_eq!(Machine::new(store).take().await.unwrap().unwrap().0, 20);
    let missing = owner.snapshots.tables_get(P, Seq(15), owner.disk.path().to_owned()).await;
    assert!(missing.unwrap_err().to_string().contains("15"));
}

/// What is said to a machine that wants to go on.
async fn refused<S: Store + Clone>(store: &S) -> String {
    let taken = Machine::new(store).take().await.map(|taken| taken.map(|(through, _)| through));
    taken.unwrap_err().to_string()
}

/// A directory for each story.
fn directory() -> (tempfile::TempDir, Directory) {
    let dir = tempfile::tempdir().unwrap();
    let store = Directory::new(dir.path().join("not/made/yet"));
    (dir, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_keeps_objects() {
    let (dir, store) = directory();
    objects_are_kept(&store).await;
    assert_eq!(read(&dir.path().join("not/made/yet/.unfinished")).len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_directory_another_machine_goes_on() {
    another_machine_goes_on(&directory().1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory_old_snapshots_are_cleaned() {
    old_ones_are_cleaned(&directory().1).await;
}

// guards: 37
#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory_a_fenced_owner_takes_nothing_away() {
    a_fenced_owner_takes_nothing_away(&directory().1).await;
}

// guards: 37
#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory_what_an_owner_left_under_way_is_void() {
    what_an_owner_left_under_way_is_void(&directory().1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory_damage_is_named() {
    damage_is_named(&directory().1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_directory_what_was_never_finished_goes_after_a_while() {
    let (dir, store) = directory();
    store.sweep(HOUR).await.unwrap();
    store.put("a/b", "x".into()).await.unwrap();
    let unfinished = dir.path().join("not/made/yet/.unfinished");
    fs::write(unfinished.join("of a process that died"), "half").unwrap();
    store.sweep(HOUR).await.unwrap();
    assert_eq!(read(&unfinished).len(), 1, "it may be under way");
    store.sweep(Duration::ZERO).await.unwrap();
    assert_eq!(read(&unfinished).len(), 0);
    assert_eq!(store.get("a/b").await.unwrap(), Some("x".into()));
}

/// In memory, unless `TEST_CLOUD_STORE` names a store that may be written to.
#[cfg(feature = "cloud")]
#[tokio::test(flavor = "multi_thread")]
async fn a_cloud_keeps_snapshots_like_a_directory() {
    use snapshots::cloud::Cloud;
    let address = std::env::var("TEST_CLOUD_STORE").unwrap_or_else(|_| "memory:///below".to_owned());
    objects_are_kept(&Cloud::open(&format!("{address}/objects")).unwrap()).await;
    another_machine_goes_on(&Cloud::open(&format!("{address}/on")).unwrap()).await;
    old_ones_are_cleaned(&Cloud::open(&format!("{address}/cleaned")).unwrap()).await;
    a_fenced_owner_takes_nothing_away(&Cloud::open(&format!("{address}/fenced")).unwrap()).await;
    damage_is_named(&Cloud::open(&format!("{address}/damage")).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_keeps_snapshots_like_a_directory() {
    let settings = NatsSettings { servers: 1, ..NatsSettings::default() };
    let server = NatsCluster::start_with(settings).unwrap();
    let client = async_nats::connect(server.urls()).await.unwrap();
    let jetstream = JetStream::new(client.clone());
    let context = async_nats::jetstream::new(client);
    let bucket = async |story: &str| {
        let name = journal_nats::names::snapshot_bucket(&format!("shop-{story}"));
        Bucket::open(&jetstream, &name, 1).await.unwrap();
        // The second time it is there.
        Bucket::open(&jetstream, &name, 1).await.unwrap()
    };
    bucket("few").await;
    let few = journal_nats::names::snapshot_bucket("shop-few");
    let few = Bucket::open(&jetstream, &few, 3).await.map(drop).unwrap_err();
    assert!(few.is_of_settings() && few.to_string().contains("num_replicas 1, it must be 3"), "{few}");
    objects_are_kept(&bucket("objects").await).await;
    another_machine_goes_on(&bucket("on").await).await;
    let cleaned = bucket("cleaned").await;
    old_ones_are_cleaned(&cleaned).await;
    a_fenced_owner_takes_nothing_away(&bucket("fenced").await).await;
    damage_is_named(&bucket("damage").await).await;
    // A deletion removes everything.
    let stream = context.get_stream("OBJ_shop-cleaned_snap").await.unwrap();
    let messages = stream.get_info().await.unwrap().state.messages;
    let objects = cleaned.list("shop/").await.unwrap().len() as u64;
    assert!(messages <= 3 * objects, "{messages} messages for {objects} objects");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_nats_parts_of_no_object_go_after_a_while() {
    let settings = NatsSettings { servers: 1, ..NatsSettings::default() };
    let server = NatsCluster::start_with(settings).unwrap();
    let client = async_nats::connect(server.urls()).await.unwrap();
    let jetstream = JetStream::new(client.clone());
    let context = async_nats::jetstream::new(client);
    let store = Bucket::open(&jetstream, "parts", 1).await.unwrap();
    for name in ["a/1", "a/2"] {
        store.put(name, name.to_owned().into()).await.unwrap();
    }
    let stream = context.get_stream("OBJ_parts").await.unwrap();
    let strays = async || {
        let parts = stream.info_with_subjects("$O.parts.C.*").await.unwrap();
        let parts: Vec<(String, usize)> = parts.try_collect().await.unwrap();
        parts.iter().filter(|(subject, _)| subject.ends_with("stray")).count()
    };
    for _ in 0..2 {
        let stored = context.publish("$O.parts.C.stray", "half".into()).await.unwrap();
        stored.await.unwrap();
    }
    Bucket::open(&jetstream, "parts", 1).await.unwrap().sweep(Duration::ZERO).await.unwrap();
    assert_eq!(strays().await, 1, "the next leader may know whose they are");
    store.sweep(HOUR).await.unwrap();
    assert_eq!(strays().await, 1, "they may be of an object that is being stored");
    store.sweep(Duration::ZERO).await.unwrap();
    assert_eq!(strays().await, 0);
    assert_eq!(store.get("a/1").await.unwrap(), Some("a/1".into()));
    assert_eq!(store.get("a/2").await.unwrap(), Some("a/2".into()));
}
