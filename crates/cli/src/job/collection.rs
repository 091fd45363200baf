//! `sortie job collections` and `sortie job collection`: what holds the jobs.

use clap::{Args, Subcommand};
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use jobs::Plan;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::JSON;
use super::place::{code_of, explain_collection};
use crate::client::{self, Call};
use crate::failure::Failure;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, Table};

/// List the collections
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collections")]
pub struct Collections {}

/// Make collections, switch them, delete them
#[derive(Debug, Subcommand)]
pub enum Collection {
    Create(Create),
    Delete(Delete),
    Enable(Enable),
    Disable(Disable),
}

/// Make a collection
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection create ops --max-jobs 100")]
pub struct Create {
    /// The collection
    collection: String,
    /// What its jobs may do: Sortie, or Free, Standard, P10Premium or P20Premium with the bounds of Azure
    #[arg(long, value_parser = plan, default_value = "Sortie")]
    plan: Plan,
    /// At most this many jobs; without it what the plan allows
    #[arg(long, value_name = "N")]
    max_jobs: Option<u32>,
    /// Where it stands, for those who move it to or from Azure
    #[arg(long, value_name = "REGION")]
    location: Option<String>,
}

/// Delete a collection with all its jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection delete ops")]
pub struct Delete {
    /// The collection
    collection: String,
}

/// Let the jobs of a collection fire again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection enable ops")]
pub struct Enable {
    /// The collection
    collection: String,
}

/// Keep all jobs of a collection from firing until it is enabled again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job collection disable ops")]
pub struct Disable {
    /// The collection
    collection: String,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    collection: String,
    jobs: u32,
    #[serde(default)]
    location: Option<String>,
    properties: jobs::CollectionProperties,
}

/// What became of a collection, for answers that the API gives without a body.
#[derive(Serialize)]
struct Became<'a> {
    collection: &'a str,
    is: &'static str,
}

impl Collections {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let answer = session.client.send(Call::get("/v1/collections")).await?;
        session
            .show(&answer, || Ok(render(&answer.value::<List>()?.items, &session.program(), &session.screen)))
    }
}

impl Collection {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        match self {
            Collection::Create(create) => create.run(session).await,
            Collection::Delete(Delete { collection }) => {
                let path = client::path("/v1/collections/{}", &[&collection]);
                change(session, Call::delete(path), &collection, "deleted").await
            }
            Collection::Enable(Enable { collection }) => {
                let path = client::path("/v1/collections/{}/enable", &[&collection]);
                change(session, Call::post_nothing(path), &collection, "enabled").await
            }
            Collection::Disable(Disable { collection }) => {
                let path = client::path("/v1/collections/{}/disable", &[&collection]);
                change(session, Call::post_nothing(path), &collection, "disabled").await
            }
        }
    }
}

impl Create {
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
            Some("exists") => Failure::No(format!("collection {collection} exists already")).into(),
            _ => error,
        })?;
        session.show(&answer, || Ok(format!("collection {collection} is made, of plan {}\n", self.plan)))
    }
}

async fn change(mut session: Session, call: Call, collection: &str, is: &'static str) -> anyhow::Result<()> {
    let done = session.client.send(call).await;
    done.map_err(|error| explain_collection(error, collection, &session.program()))?;
    session.show_value(&Became { collection, is }, || format!("collection {collection} is {is}\n"))
}

fn plan(text: &str) -> Result<Plan, String> {
    Plan::read(text).ok_or_else(|| format!("no plan; there are {}", Plan::SPELLINGS.join(", ")))
}

fn render(collections: &[Item], program: &str, screen: &Screen) -> String {
    if collections.is_empty() {
        return format!("No collections. Make one with: {program} job collection create NAME\n");
    }
    let mut table = Table::new([
        Column::whole("NAME"),
        Column::whole("STATE"),
        Column::number("JOBS"),
        Column::number("AT MOST"),
        Column::whole("PLAN"),
        Column::text("LOCATION"),
    ]);
    for Item { collection, jobs, location, properties } in collections {
        let plan = properties.sku.name;
        let asked = properties.quota.as_ref().and_then(|quota| quota.max_job_count);
        let state = properties.state.as_str().to_lowercase();
        let tone = if state == "enabled" { Tone::Plain } else { Tone::Attention };
        table.row([
            Cell::toned(Tone::Strong, collection),
            Cell::toned(tone, state),
            Cell::new(jobs.to_string()),
            Cell::new(asked.unwrap_or_else(|| plan.jobs_max()).to_string()),
            Cell::new(plan.as_str()),
            Cell::new(location.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}
