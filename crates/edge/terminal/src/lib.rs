//! What the commands and the benches share: the screen they print to, tables, and facts about this machine.

pub mod machine;
pub mod screen;
pub mod table;
