//! `sortie job collections` and `sortie job collection`: the containers of jobs.

use clap::{Args, Subcommand};
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use schedule::Plan;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::JSON;
use crate::client::{self, Call};
use crate::failure::{Failure, code_of};
use crate::names::NameKind;
use crate::page::Amount;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

/// List the collections
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection list\n  sortie job collections     the same")]
pub struct Collections {
    #[command(flatten)]
    amount: Amount<1000>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// List, create, change, enable, disable and delete collections
#[derive(Debug, Subcommand)]
pub enum CollectionCommand {
    List(Collections),
    Show(Show),
    Create(CreateCollection),
    Update(UpdateCollection),
    Delete(DeleteCollection),
    Enable(EnableCollection),
    Disable(DisableCollection),
}

/// Create a collection
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection create ops --max-jobs 100")]
pub struct CreateCollection {
    /// The collection
    collection: String,
    /// The plan: Sortie, or Free, Standard, P10Premium or P20Premium with the limits of Azure
    #[arg(long, value_parser = plan, default_value = "Sortie")]
    plan: Plan,
    /// At most this many jobs; default: the limit of the plan
    #[arg(long, value_name = "N")]
    max_jobs: Option<u32>,
    /// The location, for moving it to or from Azure
    #[arg(long, value_name = "REGION")]
    location: Option<String>,
}

/// Show a collection: its plan, its quota and its number of jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection show ops")]
pub struct Show {
    /// The collection
    collection: String,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Change the plan or the quota of a collection
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection update ops --max-jobs 200")]
pub struct UpdateCollection {
    /// The collection
    collection: String,
    #[command(flatten)]
    change: CollectionChanges,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct CollectionChanges {
    /// The plan: Sortie, or Free, Standard, P10Premium or P20Premium with the limits of Azure
    #[arg(long, value_parser = plan)]
    plan: Option<Plan>,
    /// At most this many jobs
    #[arg(long, value_name = "N")]
    max_jobs: Option<u32>,
}

/// Delete a collection with all its jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection delete ops")]
pub struct DeleteCollection {
    /// The collection
    collection: String,
}

/// Enable a collection: its jobs fire again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection enable ops")]
pub struct EnableCollection {
    /// The collection
    collection: String,
}

/// Disable a collection: none of its jobs fires until it is enabled again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection disable ops")]
pub struct DisableCollection {
    /// The collection
    collection: String,
}

#[derive(Deserialize)]
struct CollectionItem {
    collection: String,
    jobs: u32,
    #[serde(default)]
    location: Option<String>,
    properties: schedule::CollectionProperties,
}

/// The result, for responses of the API without a body.
#[derive(Serialize)]
struct CollectionResult<'a> {
    collection: &'a str,
    is: &'static str,
}

impl Collections {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |_, _| "/v1/collections".to_owned()).await?;
        let items: Vec<CollectionItem> = found.read()?;
        session.show_value(&found, || render(&items, &session.program(), &session.screen) + found.hint())
    }
}

impl CollectionCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        match self {
            CollectionCommand::List(list) => list.run(session).await,
            CollectionCommand::Show(show) => {
                show.watch.each(session, async |session| show.show(session).await).await
            }
            CollectionCommand::Create(create) => create.run(session).await,
            CollectionCommand::Update(update) => update.run(session).await,
            CollectionCommand::Delete(DeleteCollection { collection }) => {
                let path = client::path("/v1/collections/{}", &[&collection]);
                change(session, Call::delete(path), &collection, "deleted").await
            }
            CollectionCommand::Enable(EnableCollection { collection }) => {
                let path = client::path("/v1/collections/{}/enable", &[&collection]);
                change(session, Call::post_nothing(path), &collection, "enabled").await
            }
            CollectionCommand::Disable(DisableCollection { collection }) => {
                let path = client::path("/v1/collections/{}/disable", &[&collection]);
                change(session, Call::post_nothing(path), &collection, "disabled").await
            }
        }
    }
}

impl CreateCollection {
    async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let collection = &self.collection;
        let mut body = json!({ "properties": { "sku": { "name": self.plan } } });
        if let Some(max) = self.max_jobs {
            body["properties"]["quota"] = json!({ "maxJobCount": max });
        }
        if let Some(location) = &self.location {
            body["location"] = location.as_str().into();
        }
        let call = Call::put(client::path("/v1/collections/{}", &[collection]), JSON, body.to_string());
        let made = session.client.send(call.header(IF_NONE_MATCH, HeaderValue::from_static("*"))).await;
        let answer = made.map_err(|error| match code_of(&error) {
            Some("exists") => Failure::No(format!("collection {collection} already exists")).into(),
            _ => error,
        })?;
        session.show(&answer, || Ok(format!("created collection {collection} with plan {}\n", self.plan)))
    }
}

impl Show {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let call = Call::get(client::path("/v1/collections/{}", &[&self.collection]));
        let answer = session.find(call, NameKind::Collection, &self.collection).await?;
        session.show(&answer, || Ok(render_one(&answer.value()?, &session.screen)))
    }
}

impl UpdateCollection {
    async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let mut body = json!({ "properties": {} });
        if let Some(plan) = self.change.plan {
            body["properties"]["sku"] = json!({ "name": plan });
        }
        if let Some(max) = self.change.max_jobs {
            body["properties"]["quota"] = json!({ "maxJobCount": max });
        }
        let path = client::path("/v1/collections/{}", &[&self.collection]);
        let call = Call::patch(path, JSON, body.to_string());
        let answer = session.find(call, NameKind::Collection, &self.collection).await?;
        session.show(&answer, || Ok(render_one(&answer.value()?, &session.screen)))
    }
}

async fn change(mut session: Session, call: Call, collection: &str, is: &'static str) -> anyhow::Result<()> {
    session.find(call, NameKind::Collection, collection).await?;
    session.show_value(&CollectionResult { collection, is }, || format!("collection {collection} is {is}\n"))
}

fn plan(text: &str) -> Result<Plan, String> {
    Plan::read(text).ok_or_else(|| format!("unknown plan; choose one of {}", Plan::SPELLINGS.join(", ")))
}

fn render_one(item: &CollectionItem, screen: &Screen) -> String {
    let plan = item.properties.sku.name;
    let asked = item.properties.quota.as_ref().and_then(|quota| quota.max_job_count);
    let state = item.properties.state.as_str().to_lowercase();
    let name = screen.paint(Tone::Strong, &clean(&item.collection));
    let state = screen.paint(state_tone(&state), &state);
    let max = asked.unwrap_or_else(|| plan.jobs_max());
    let location = item.location.as_ref().map(|location| format!("  location  {}\n", clean(location)));
    format!(
        "Collection {name} is {state}\n  jobs      {} of max. {max}\n  plan      {}\n{}",
        item.jobs,
        plan.as_str(),
        location.unwrap_or_default()
    )
}

fn state_tone(state: &str) -> Tone {
    if state == "enabled" { Tone::Plain } else { Tone::Attention }
}

fn render(collections: &[CollectionItem], program: &str, screen: &Screen) -> String {
    if collections.is_empty() {
        return format!("No collections. Create one with: {program} job collection create NAME\n");
    }
    let mut table = TextTable::new([
        Column::whole("NAME"),
        Column::whole("STATE").major(),
        Column::number("JOBS"),
        Column::number("MAX"),
        Column::whole("PLAN"),
        Column::text("LOCATION"),
    ]);
    for CollectionItem { collection, jobs, location, properties } in collections {
        let plan = properties.sku.name;
        let asked = properties.quota.as_ref().and_then(|quota| quota.max_job_count);
        let state = properties.state.as_str().to_lowercase();
        table.row([
            Cell::toned(Tone::Strong, collection),
            Cell::toned(state_tone(&state), state),
            Cell::new(jobs.to_string()),
            Cell::new(asked.unwrap_or_else(|| plan.jobs_max()).to_string()),
            Cell::new(plan.as_str()),
            Cell::new(location.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}
