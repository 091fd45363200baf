//! Azure Scheduler as it was recorded: every step of every recording, sent again and compared.

mod recording;
mod replay;
mod runs;
