//! Cron expressions of five or six fields, as sets of the moments that they name.

use serde::{Deserialize, Serialize};

/// A cron expression. Each field is a set of bits: bit n stands for the value n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cron {
    pub seconds: u64,
    pub minutes: u64,
    pub hours: u32,
    /// Bits 1 to 31.
    pub month_days: u32,
    /// The expression names the last day of the month (`L`).
    pub last_day: bool,
    /// Bits 1 to 12.
    pub months: u16,
    /// Bits 0 (Sunday) to 6.
    pub week_days: u8,
    /// Both day fields are named: a day counts when either names it, as cron has it.
    pub either_day: bool,
}
