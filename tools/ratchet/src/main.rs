//! The hot paths one by one, each as often as asked, so that their instructions can be counted: `ratchet PATH ROUNDS`.

mod delivery;
mod paths;
mod world;

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        // Whoever counts asks first what there is to count.
        [list] if list == "--list" => {
            for (name, _) in paths::ALL {
                println!("{name}");
            }
            Ok(())
        }
        [name, rounds] => {
            let rounds: u32 =
                rounds.parse().with_context(|| format!("{rounds:?} is not a number of rounds"))?;
            let Some((_, path)) = paths::ALL.iter().find(|(known, _)| known == name) else {
                bail!("no path {name:?}; --list has them");
            };
            path(rounds)
        }
        _ => bail!("usage: ratchet --list, or ratchet PATH ROUNDS"),
    }
}
