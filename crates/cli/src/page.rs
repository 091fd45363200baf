//! Lists of any length: the limit options, and fetching page by page.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::Call;
use crate::session::Session;

/// The page size for long lists.
const PAGE_ITEMS: usize = 500;

/// The limit of a list; `USUAL` is the default.
#[derive(Debug, Clone, Copy, Args)]
pub struct Amount<const USUAL: u32> {
    // A derived default is stored in a static, which all limits would share.
    #[arg(
        long,
        value_name = "N",
        help = format!("Show at most this many [default: {USUAL}]"),
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    limit: Option<u32>,
    /// Show all
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// Items as the API returned them.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct RawPage {
    pub items: Vec<Box<RawValue>>,
    /// The cursor of the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Whether there are more items, even if the API returns no cursor.
    #[serde(skip)]
    pub more: bool,
}

impl<const USUAL: u32> Amount<USUAL> {
    /// The limit.
    pub fn wanted(self) -> usize {
        if self.all { usize::MAX } else { self.limit.unwrap_or(USUAL) as usize }
    }

    /// Fetches up to the limit. `path` returns the path of a page of that size after a cursor.
    pub async fn get(
        self,
        session: &mut Session,
        path: impl Fn(usize, Option<String>) -> String,
    ) -> anyhow::Result<RawPage> {
        let mut found = RawPage::default();
        found.fill(session, self.wanted(), path).await?;
        Ok(found)
    }
}

impl RawPage {
    /// Adds items up to the limit.
    pub async fn fill(
        &mut self,
        session: &mut Session,
        wanted: usize,
        path: impl Fn(usize, Option<String>) -> String,
    ) -> anyhow::Result<()> {
        loop {
            let limit = PAGE_ITEMS.min(wanted.saturating_sub(self.items.len()));
            let call = Call::get(path(limit, self.next.take()));
            let page: RawPage = session.client.send(call).await?.value()?;
            self.items.extend(page.items);
            self.next = page.next;
            self.more = self.next.is_some() || self.items.len() > wanted;
            self.items.truncate(wanted);
            if self.next.is_none() || self.items.len() >= wanted {
                return Ok(());
            }
        }
    }

    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<Vec<T>> {
        self.items.iter().map(|item| serde_json::from_str(item.get())).collect()
    }

    /// The note below a truncated list.
    pub fn hint(&self) -> &'static str {
        if self.more { "There are more; see them with --all or a larger --limit.\n" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Line<const USUAL: u32> {
        #[command(flatten)]
        amount: Amount<USUAL>,
    }

    #[test]
    fn each_list_has_its_own_usual_amount() {
        let wanted = |words: &[&str]| Line::<20>::try_parse_from(words).map(|line| line.amount.wanted()).ok();
        assert_eq!(Line::<50>::try_parse_from(["list"]).unwrap().amount.wanted(), 50);
        assert_eq!(wanted(&["list"]), Some(20));
        assert_eq!(wanted(&["list", "--limit", "7"]), Some(7));
        assert_eq!(wanted(&["list", "--all"]), Some(usize::MAX));
        assert_eq!(wanted(&["list", "--all", "--limit", "7"]), None);
        assert!(Line::<20>::command().render_help().to_string().contains("[default: 20]"));
    }
}
