//! Cron expressions, from text.

use types::Cron;

/// An expression of five fields, of six with seconds before them, or a macro like `@daily`.
pub(crate) fn parse_cron(text: &str) -> Result<Cron, String> {
    // The path of the field says already what it is about.
    text.parse()
        .map_err(|error: types::cron::InvalidCron| error.to_string().trim_start_matches("cron: ").to_owned())
}
