//! The roles of a region, and the change of role that follows from the record of its pair. Pure functions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The role of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its instances own partitions and accept requests.
    Active,
    /// It mirrors its pair; its instances own no partitions.
    Standby,
    /// It was active and must not act any more; its streams are unchanged.
    Fenced,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Active => "active",
            Role::Standby => "standby",
            Role::Fenced => "fenced",
        })
    }
}

/// The role of a region, and the highest epoch under which it was active or mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionState {
    pub role: Role,
    pub epoch: u64,
}

/// Which of the two a region is. The region whose name sorts first takes odd epochs, the other one even epochs, so that no
/// epoch can belong to both, whatever they know of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Odd,
    Even,
}

impl Side {
    pub fn of(name: &str, pair: &str) -> Side {
        if name < pair { Side::Odd } else { Side::Even }
    }

    /// The lowest epoch of this side above `known`.
    pub fn epoch_above(self, known: u64) -> u64 {
        let next = known + 1;
        let odd = next % 2 == 1;
        if odd == (self == Side::Odd) { next } else { next + 1 }
    }
}

/// The change that a region has to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChange {
    Stay,
    /// It was overtaken: it becomes fenced, at its epoch.
    Fence,
    /// It is fenced and its pair is active: it keeps its divergent tail, then mirrors the pair, at the pair's epoch.
    Rejoin {
        epoch: u64,
    },
    /// It is a standby, and its pair has a higher epoch.
    AdoptEpoch {
        epoch: u64,
    },
}

/// The change that follows from the states of a region and its pair.
pub fn on_pair(here: RegionState, pair: RegionState) -> RoleChange {
    match (here.role, pair.role) {
        // Whatever the pair is now, it was active later, and has what this region lacks.
        (Role::Active, _) if pair.epoch > here.epoch => RoleChange::Fence,
        (Role::Active, _) => RoleChange::Stay,
        (Role::Fenced, Role::Active) if pair.epoch > here.epoch => RoleChange::Rejoin { epoch: pair.epoch },
        // No region is active: an operator decides which one is promoted.
        (Role::Fenced, _) => RoleChange::Stay,
        (Role::Standby, _) if pair.epoch > here.epoch => RoleChange::AdoptEpoch { epoch: pair.epoch },
        (Role::Standby, _) => RoleChange::Stay,
    }
}

/// The first state of a region, given the state of its pair, which may have none yet either.
pub fn first_state(side: Side, home: bool, pair: Option<RegionState>) -> RegionState {
    // No region is ever active under epoch 0: a pair with that epoch has just been started, too.
    match pair.filter(|pair| pair.epoch > 0) {
        Some(pair) => RegionState { role: Role::Standby, epoch: pair.epoch },
        None if home => RegionState { role: Role::Active, epoch: side.epoch_above(0) },
        None => RegionState { role: Role::Standby, epoch: 0 },
    }
}

/// Whether a region may be promoted: a standby, or a fenced region that was not overtaken.
pub fn may_promote(here: RegionState, pair: Option<RegionState>) -> Result<(), &'static str> {
    match (here.role, pair) {
        (Role::Active, _) => Err("it is active already"),
        (Role::Fenced, Some(pair)) if pair.epoch > here.epoch => {
            Err("its pair was active after it; it must mirror first")
        }
        (Role::Fenced | Role::Standby, _) => Ok(()),
    }
}

/// Whether a region must be level to be promoted. A fenced region that was active last has everything, if its pair responds
/// and was not active since.
pub fn must_be_level(here: RegionState, pair: Option<RegionState>) -> bool {
    match here.role {
        Role::Active => false,
        Role::Standby => true,
        Role::Fenced => pair.is_none(),
    }
}

#[cfg(test)]
mod tests;
