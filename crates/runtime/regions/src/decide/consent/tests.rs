//! Two regions and a witness in simulated time, with lines that are cut and answers that get lost: never are both active.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::time::sleep;

use super::super::role::Side;
use super::super::witness::Witness;
use super::*;

const LEASE: Duration = Duration::from_secs(30);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);
const EAST: usize = 0;
const WEST: usize = 1;
const THIRD: usize = 2;

/// What a region's record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Active,
    Standby { promoting: bool },
    Fenced,
}

#[derive(Default)]
struct Entry {
    value: Vec<u8>,
    revision: u64,
    stored: Option<Instant>,
}

struct State {
    dice: u64,
    revision: u64,
    entries: BTreeMap<(usize, String), Entry>,
    records: [(Role, u64); 2],
    /// Whether two places cannot see each other.
    cut: [[bool; 3]; 3],
}

#[derive(Clone)]
struct World(Arc<Mutex<State>>);

impl World {
    fn new(seed: u64) -> World {
        let records = [(Role::Active, 1), (Role::Standby { promoting: false }, 1)];
        let state =
            State { dice: seed, revision: 0, entries: BTreeMap::new(), records, cut: [[false; 3]; 3] };
        World(Arc::new(Mutex::new(state)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }

    fn roll(&self, sides: u64) -> u64 {
        self.with(|state| {
            state.dice = types::retry::mix(state.dice.wrapping_add(1));
            state.dice % sides
        })
    }

    async fn pause(&self, ms_max: u64) {
        sleep(Duration::from_millis(self.roll(ms_max))).await;
    }

    fn record(&self, region: usize) -> (Role, u64) {
        self.with(|state| state.records[region])
    }

    fn set_record(&self, region: usize, role: Role, epoch: u64) {
        self.with(|state| state.records[region] = (role, epoch));
    }

    fn set_cut(&self, one: usize, other: usize, cut: bool) {
        self.with(|state| {
            state.cut[one][other] = cut;
            state.cut[other][one] = cut;
        });
    }
}

/// The way from a region to the keys of a place.
#[derive(Clone)]
struct Way {
    world: World,
    from: usize,
    to: usize,
}

impl Way {
    /// Half of a round trip; what is underway when the line is cut is lost.
    async fn travel(&self) -> Result<(), JetStreamError> {
        // Mostly quick; sometimes an answer comes at the last moment, and now and then whoever asks was frozen.
        let ms_max = match self.world.roll(200) {
            0 => 40_000,
            1..20 => 1_490,
            _ => 20,
        };
        self.world.pause(ms_max).await;
        if self.world.with(|state| state.cut[self.from][self.to]) {
            sleep(PATIENCE).await;
            return Err(JetStreamError::unreachable("", "cut"));
        }
        Ok(())
    }

    async fn ask<T>(&self, act: impl FnOnce(&mut State) -> T) -> Result<T, JetStreamError> {
        self.travel().await?;
        let answer = self.world.with(act);
        self.travel().await?;
        Ok(answer)
    }

    /// Whether the pair's record says that it stands by under no epoch above this one.
    async fn stands_by(&self, epoch: u64) -> Result<bool, JetStreamError> {
        let (role, known) = self.ask(|state| state.records[self.to]).await?;
        Ok(role == Role::Standby { promoting: false } && known <= epoch)
    }

    fn entry<'a>(&self, state: &'a mut State, bucket: &str, key: &str) -> &'a mut Entry {
        let entry = state.entries.entry((self.to, format!("{bucket}.{key}"))).or_default();
        let leased = key == "lease";
        if leased && entry.stored.is_some_and(|stored| stored.elapsed() >= LEASE) {
            *entry = Entry::default();
        }
        entry
    }
}

impl Keys for Way {
    async fn newest(&self, bucket: &str, key: &str) -> Result<Option<(Bytes, u64)>, JetStreamError> {
        self.ask(|state| {
            let entry = self.entry(state, bucket, key);
            (entry.revision > 0).then(|| (entry.value.clone().into(), entry.revision))
        })
        .await
    }

    async fn replace(
        &self,
        bucket: &str,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<(), JetStreamError> {
        self.ask(|state| {
            let next = state.revision + 1;
            let entry = self.entry(state, bucket, key);
            if entry.revision != revision {
                return Err(JetStreamError::Changed);
            }
            *entry = Entry { value, revision: next, stored: Some(Instant::now()) };
            state.revision = next;
            Ok(())
        })
        .await?
    }
}

/// An instance of a region: it does what the leases of the product are for, in their order.
struct Region {
    world: World,
    number: usize,
    side: Side,
    witness: Witness<Way>,
    consent: Consent<Way>,
    to_pair: Way,
}

impl Region {
    fn new(world: &World, number: usize) -> Arc<Region> {
        let way = |to| Way { world: world.clone(), from: number, to };
        let name = ["east", "west"][number];
        Arc::new(Region {
            world: world.clone(),
            number,
            side: if number == EAST { Side::Odd } else { Side::Even },
            witness: Witness::new(way(THIRD), "sortie", name, LEASE),
            consent: Consent::new(way(number), way(1 - number), "sortie", name, LEASE),
            to_pair: way(1 - number),
        })
    }

    fn is_active(&self) -> bool {
        let (role, _) = self.world.record(self.number);
        role == Role::Active && (self.witness.is_held() || self.consent.is_held())
    }

    async fn live(self: Arc<Region>) {
        loop {
            let (role, epoch) = self.world.record(self.number);
            match role {
                Role::Active => self.go_on(epoch).await,
                // An error is as good as a no: it is asked again.
                Role::Standby { .. } => drop(self.stand_in(epoch).await),
                Role::Fenced => self.rejoin(epoch).await,
            }
            // Sometimes it is long until it has another turn.
            let busy = self.world.roll(20) == 0;
            self.world.pause(if busy { 45_000 } else { 5_000 }).await;
        }
    }

    async fn go_on(&self, epoch: u64) {
        let witness = self.witness.renew(epoch, Overwrite::OwnOrFree);
        let pair = self.consent.renew(epoch, self.to_pair.stands_by(epoch));
        if let (Ok(LeaseReply::Superseded(_)), _) = tokio::join!(witness, pair) {
            self.world.set_record(self.number, Role::Fenced, epoch);
        }
    }

    async fn stand_in(&self, epoch: u64) -> Result<(), JetStreamError> {
        let free =
            self.witness.held_by_another().await?.is_none() && self.consent.given_to().await?.is_none();
        let granted = self.witness.highest().await?;
        let next = self.side.epoch_above(epoch);
        if !free || granted == 0 || granted > epoch && granted != next {
            return Ok(());
        }
        self.world.pause(2_000).await;
        if self.witness.renew(next, Overwrite::OwnOrFree).await? != LeaseReply::Granted {
            return Ok(());
        }
        self.world.pause(2_000).await;
        self.world.set_record(self.number, Role::Standby { promoting: true }, epoch);
        while self.consent.take_back(next).await? != LeaseReply::Granted {
            self.world.pause(1_000).await;
        }
        self.world.pause(2_000).await;
        self.world.set_record(self.number, Role::Active, next);
        Ok(())
    }

    /// It mirrors its pair, once it sees that it was overtaken.
    async fn rejoin(&self, epoch: u64) {
        let pair = self.to_pair.ask(|state| state.records[1 - self.number]).await;
        if let Ok((Role::Active, above)) = pair
            && above > epoch
        {
            self.world.set_record(self.number, Role::Standby { promoting: false }, above);
        }
    }
}

/// What happened in a world, so that a course without trouble is not taken for proof.
#[derive(Default)]
struct Observed {
    changes: u64,
    by_consent_alone: u64,
    nobody: u64,
}

/// Ten minutes of trouble.
async fn course(seed: u64, seen: &mut Observed) {
    let world = World::new(seed);
    let regions = [Region::new(&world, EAST), Region::new(&world, WEST)];
    let living = regions.clone().map(|region| tokio::spawn(region.live()));
    let mut trouble = Instant::now();
    let mut last = EAST;
    for _ in 0..6_000 {
        sleep(Duration::from_millis(100)).await;
        let active = regions.each_ref().map(|region| region.is_active());
        assert_ne!(active, [true, true], "seed {seed}: both are active");
        match active.iter().position(|active| *active) {
            None => seen.nobody += 1,
            Some(now) => {
                seen.changes += u64::from(now != last);
                seen.by_consent_alone += u64::from(!regions[now].witness.is_held());
                last = now;
            }
        }
        if Instant::now() >= trouble {
            let (one, other) = [(EAST, WEST), (EAST, THIRD), (WEST, THIRD)][world.roll(3) as usize];
            world.set_cut(one, other, world.roll(2) == 0);
            trouble = Instant::now() + Duration::from_millis(2_000 + world.roll(30_000));
        }
    }
    living.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn whatever_is_cut_never_are_both_active() {
    let mut seen = Observed::default();
    for seed in 0..300 {
        course(seed, &mut seen).await;
    }
    assert!(seen.changes > 100, "{} changes", seen.changes);
    assert!(seen.by_consent_alone > 1_000, "{} moments by consent alone", seen.by_consent_alone);
    assert!(seen.nobody > 1_000, "{} moments without anybody", seen.nobody);
}

/// Which region is active after two minutes, in which these places could not see each other.
async fn without(cut: &[(usize, usize)]) -> [bool; 2] {
    let world = World::new(7);
    let regions = [Region::new(&world, EAST), Region::new(&world, WEST)];
    let living = regions.clone().map(|region| tokio::spawn(region.live()));
    sleep(Duration::from_secs(60)).await;
    for (one, other) in cut {
        world.set_cut(*one, *other, true);
    }
    sleep(Duration::from_secs(120)).await;
    living.iter().for_each(tokio::task::JoinHandle::abort);
    regions.each_ref().map(|region| region.is_active())
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_any_one_of_three_places_or_lines_stops_nobody() {
    let east = [true, false];
    assert_eq!(without(&[]).await, east, "all is well");
    assert_eq!(without(&[(EAST, THIRD), (WEST, THIRD)]).await, east, "the witness is lost");
    assert_eq!(without(&[(EAST, THIRD)]).await, east, "it cannot see the witness");
    assert_eq!(without(&[(EAST, WEST)]).await, east, "it cannot see its pair");
    assert_eq!(without(&[(WEST, THIRD), (EAST, WEST)]).await, east, "the standby is lost");
    assert_eq!(without(&[(EAST, THIRD), (EAST, WEST)]).await, [false, true], "the active region is lost");
}
