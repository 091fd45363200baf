//! Every command with its usage, its options and its examples, from the command line's own description.

use clap::Command;

/// Columns of a line of help.
const WIDTH: usize = 100;

/// A heading and the help of each command, in the order of `sortie --help`.
pub fn render(command: Command) -> String {
    let mut root = command.term_width(WIDTH).disable_help_subcommand(true);
    root.build();
    let mut out = String::new();
    write(&root, 0, &mut out);
    out
}

fn write(command: &Command, depth: usize, out: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let below: Vec<&Command> = command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    if !out.is_empty() {
        out.push('\n');
    }
    let help = help(command, depth).replace("\n\n\n", "\n\n");
    *out +=
        &format!("{} {name}\n\n```text figure\n{}\n```\n", "#".repeat((depth + 2).min(4)), help.trim_end());
    for command in below {
        write(command, depth + 1, out);
    }
}

/// The long help without what differs by machine, and without the options that all commands share.
fn help(command: &Command, depth: usize) -> String {
    let shown = command.clone().mut_args(|arg| {
        let shared = depth > 0 && arg.is_global_set();
        let hide = shared || matches!(arg.get_id().as_str(), "help" | "version") || arg.is_hide_set();
        arg.hide_env_values(true).hide(hide)
    });
    let text = shown.term_width(WIDTH).disable_help_flag(true).render_long_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
