//! What a region may be, and what it becomes by what it sees. Nothing here asks anybody.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a region is at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its instances hold partitions and take requests.
    Active,
    /// It mirrors its pair and holds nothing.
    Standby,
    /// It was active and must not be any more; its streams are as it left them.
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

/// Which of the two a region is: the one whose name sorts first takes odd epochs, the other one even ones. So no epoch
/// can be taken by both, whatever they know of each other.
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

/// What a region has to do about its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChange {
    Stay,
    /// It was overtaken: from now on it is fenced, at the epoch that it has.
    Fence,
    /// It is fenced and its pair is active: keep the divergent tail, then mirror, at the pair's epoch.
    Rejoin {
        epoch: u64,
    },
    /// It mirrors, and its pair has a newer epoch.
    AdoptEpoch {
        epoch: u64,
    },
}

/// What a region with this state does when it sees its pair's.
pub fn on_pair(here: RegionState, pair: RegionState) -> RoleChange {
    match (here.role, pair.role) {
        // Whatever the pair is now, it was active after us, and has what we have not.
        (Role::Active, _) if pair.epoch > here.epoch => RoleChange::Fence,
        (Role::Active, _) => RoleChange::Stay,
        (Role::Fenced, Role::Active) if pair.epoch > here.epoch => RoleChange::Rejoin { epoch: pair.epoch },
        // Nobody is active: a person decides who goes on.
        (Role::Fenced, _) => RoleChange::Stay,
        (Role::Standby, _) if pair.epoch > here.epoch => RoleChange::AdoptEpoch { epoch: pair.epoch },
        (Role::Standby, _) => RoleChange::Stay,
    }
}

/// What a region is that has never been anything, once its pair was asked. The pair's answer may be that it is
/// nothing yet either.
pub fn first_state(side: Side, home: bool, pair: Option<RegionState>) -> RegionState {
    // Nobody was ever active under epoch 0: a pair that was started a moment earlier has no past either.
    match pair.filter(|pair| pair.epoch > 0) {
        Some(pair) => RegionState { role: Role::Standby, epoch: pair.epoch },
        None if home => RegionState { role: Role::Active, epoch: side.epoch_above(0) },
        None => RegionState { role: Role::Standby, epoch: 0 },
    }
}

/// Who may be promoted: a standby, a fenced region that no one has followed, never one that was overtaken.
pub fn may_promote(here: RegionState, pair: Option<RegionState>) -> Result<(), &'static str> {
    match (here.role, pair) {
        (Role::Active, _) => Err("it is active already"),
        (Role::Fenced, Some(pair)) if pair.epoch > here.epoch => {
            Err("its pair was active after it; it must mirror first")
        }
        (Role::Fenced | Role::Standby, _) => Ok(()),
    }
}

/// Whether a region may be promoted only when it is known to have had everything. One that was active last has, if its
/// pair can be asked that nobody was active since.
pub fn must_be_level(here: RegionState, pair: Option<RegionState>) -> bool {
    match here.role {
        Role::Active => false,
        Role::Standby => true,
        Role::Fenced => pair.is_none(),
    }
}

#[cfg(test)]
mod tests;
