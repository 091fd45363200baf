//! `sortie topic`: topics and their subscriptions.

use std::process::ExitCode;

use api_types::{NamePage, QueueView, TopicView};
use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use types::Span;

use crate::client::{self, Call};
use crate::names::NameKind;
use crate::page::Amount;
use crate::queue::{self, DeletedQueue, EntityName, Property, Send, Settings, SubscriptionName};
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

/// Manage topics, which copy each message to every matching subscription
///
/// Messages are received from a subscription with `sortie queue receive TOPIC/SUBSCRIPTION`.
#[derive(Debug, Subcommand)]
pub enum TopicCommand {
    List(List),
    Create(CreateTopic),
    Show(Show),
    Delete(DeleteTopic),
    Subscribe(Box<Subscribe>),
    Unsubscribe(Unsubscribe),
    Send(Box<Send>),
}

/// List topics
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie topic list")]
pub struct List {
    #[command(flatten)]
    amount: Amount<1000>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Create a topic
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie topic create events")]
pub struct CreateTopic {
    /// The name of the topic
    topic: EntityName,
    /// The time to live of messages, in every subscription
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// How long message ids are remembered to drop duplicates; default 10m
    #[arg(long, value_name = "SPAN")]
    duplicate_window: Option<Span>,
    /// Replace the settings of an existing topic; its subscriptions stay
    #[arg(long)]
    replace: bool,
}

/// Show a topic with its subscriptions
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie topic show events")]
pub struct Show {
    /// The name of the topic
    topic: EntityName,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Delete a topic with all its subscriptions and their messages
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie topic delete events")]
pub struct DeleteTopic {
    /// The name of the topic
    topic: EntityName,
}

/// Create a subscription: a queue that receives the messages its filter matches
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie topic subscribe events/audit\n  sortie topic subscribe events/norway --label paid --property country=NO"
)]
pub struct Subscribe {
    /// The subscription as TOPIC/SUBSCRIPTION
    subscription: SubscriptionName,
    #[command(flatten)]
    settings: Settings,
    /// Only messages with this label
    #[arg(long, value_name = "WORD", help_heading = "Filter")]
    label: Option<String>,
    /// Only messages with this correlation id
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    correlation: Option<String>,
    /// Only messages of this session
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    session: Option<String>,
    /// Only messages for this receiver
    #[arg(long, value_name = "NAME", help_heading = "Filter")]
    to: Option<String>,
    /// Only messages with this property
    #[arg(long = "property", value_name = "NAME=VALUE", help_heading = "Filter")]
    properties: Vec<Property>,
    /// Replace the settings of an existing subscription; its messages stay
    #[arg(long)]
    replace: bool,
}

/// Delete a subscription with its messages
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie topic unsubscribe events/audit")]
pub struct Unsubscribe {
    /// The subscription as TOPIC/SUBSCRIPTION
    subscription: SubscriptionName,
}

impl TopicCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            TopicCommand::List(list) => list.run(session).await?,
            TopicCommand::Create(create) => create.run(session).await?,
            TopicCommand::Show(show) => show.run(session).await?,
            TopicCommand::Delete(delete) => delete.run(session).await?,
            TopicCommand::Subscribe(subscribe) => subscribe.run(session).await?,
            TopicCommand::Unsubscribe(unsubscribe) => {
                queue::delete(session, &unsubscribe.subscription.0).await?
            }
            TopicCommand::Send(send) => send.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |_, after| queue::page_of("/v1/topics", after)).await?;
        let topics: Vec<TopicView> = found.read()?;
        session.show_value(&found, || {
            if topics.is_empty() {
                return format!("No topics. Create one with: {} topic create NAME\n", session.program());
            }
            render(&topics, &session.screen) + found.hint()
        })
    }
}

fn render(topics: &[TopicView], screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole("NAME"),
        Column::number("SUBSCRIPTIONS"),
        Column::whole("IDS KEPT"),
        Column::whole("TTL"),
    ]);
    for topic in topics {
        table.row([
            Cell::toned(Tone::Strong, &topic.name),
            Cell::new(topic.subscriptions.to_string()),
            Cell::new(topic.duplicate_window.to_string()),
            Cell::new(topic.time_to_live.map(|span| span.to_string()).unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

impl CreateTopic {
    async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let fields = [("time_to_live", self.ttl), ("duplicate_window", self.duplicate_window)];
        let said =
            fields.into_iter().filter_map(|(name, span)| Some((name.to_owned(), span?.to_string().into())));
        let path = client::path("/v1/topics/{}", &[&self.topic.0]);
        let settings = Value::Object(said.collect());
        let answer = session.client.send(queue::put(path, settings, self.replace)).await?;
        session.show(&answer, || Ok(render(&[answer.value()?], &session.screen)))
    }
}

impl Show {
    async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let path = client::path("/v1/topics/{}", &[&self.topic.0]);
        let answer = session.find(Call::get(path.clone()), NameKind::Topic, &self.topic.0).await?;
        let topic: TopicView = answer.value()?;
        let all: NamePage<QueueView> = queue::all(session, &(path + "/subscriptions")).await?;
        session.show(&answer, || {
            let mut text = render(&[topic], &session.screen);
            if all.items.is_empty() {
                let (program, name) = (session.program(), clean(&self.topic.0));
                text += &format!("It has no subscriptions: {program} topic subscribe {name}/NAME\n");
            } else {
                text += &format!("\n{}", queue::render_list(&all.items, "SUBSCRIPTION", &session.screen));
            }
            Ok(text)
        })
    }
}

impl DeleteTopic {
    async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let name = &self.topic.0;
        let call = Call::delete(client::path("/v1/topics/{}", &[name]));
        session.find(call, NameKind::Topic, name).await?;
        let deleted = DeletedQueue { deleted: name.clone() };
        session.show_value(&deleted, || format!("deleted topic {name}\n"))
    }
}

impl Subscribe {
    async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let mut settings = self.settings.json();
        settings.insert("filter".to_owned(), self.filter().into());
        let call = queue::put(self.subscription.0.path(""), settings.into(), self.replace);
        let answer = session.client.send(call).await?;
        session.show(&answer, || Ok(queue::render_one(&answer.value()?, &session.screen)))
    }

    fn filter(&self) -> Map<String, Value> {
        let texts = [
            ("label", &self.label),
            ("correlation_id", &self.correlation),
            ("session", &self.session),
            ("to", &self.to),
        ];
        let said = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into())));
        let mut filter: Map<String, Value> = said.collect();
        if !self.properties.is_empty() {
            let own = self.properties.iter().map(|one| (one.name.clone(), one.value.clone()));
            filter.insert("properties".to_owned(), Value::Object(own.collect()));
        }
        filter
    }
}
