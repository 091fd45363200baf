//! What the JSON of the API looks like by its types, held against what the document says of it.
//!
//! Each example has every member that its type knows: the compiler asks for a new one, and the document must name it.

mod complete;
mod people;

use std::collections::{BTreeMap, BTreeSet};

use api_types::{
    AppliedView, BatchAnswer, ByHandView, CheckView, ClusterView, CountsView, DeadView, DecisionKind,
    DecisionRequest, DrillRequest, DrillView, FieldError, FilterView, HoldingView, InstanceView, LeasesView,
    Limits, MessagePage, MessageView, MirrorView, MomentView, Moved, NamePage, PartitionView, Problem,
    PromoteRequest, PromotedView, QueueView, ReceivedMessage, ReceivedProperties, RegionView, RunDetail,
    RunPage, RunSummary, SentMessage, SentProperties, ServiceRequest, ServiceView, SideView, StepOutline,
    StepView, StreamTailView, TailRequestView, TailView, Time, TopicView, WorkflowList, WorkflowView,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use types::{RunStatus, Span, Timestamp};

use super::compose;

/// Why a value does not fit a schema of the document, if it does not.
pub(super) fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::options().offline().build(&whole).unwrap();
    validator.validate(value).err().map(|error| format!("{}: {error}", error.instance_path()))
}

/// Who writes a type, and so what may be left out of it.
enum From {
    Server,
    Client,
}

/// An example as JSON fits its schema, has exactly its members, and those that must be there are.
fn check<T: Serialize + DeserializeOwned>(name: &str, from: From, example: T) {
    let document = compose();
    let schema = &document["components"]["schemas"][name];
    let value = serde_json::to_value(&example).unwrap();
    let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
    assert_eq!(fault(&document, &reference, &value), None, "{name}");
    let members = value.as_object().unwrap();
    let known: BTreeSet<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(members.keys().collect::<BTreeSet<_>>(), known, "the members of {name}");
    let needed: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let always: BTreeSet<&str> = members
        .keys()
        .map(String::as_str)
        .filter(|member| !can_be_absent::<T>(members, member, &from))
        // A request that is not taken up yet is shown by hand, with less.
        .filter(|member| name != "Run" || ["id", "status", "partition"].contains(member))
        .collect();
    assert_eq!(needed, always, "what must be there of {name}");
}

/// Whether the type does without a member: the client may leave it out, or the server does.
fn can_be_absent<T: Serialize + DeserializeOwned>(
    members: &Map<String, Value>,
    member: &str,
    from: &From,
) -> bool {
    let mut fewer = members.clone();
    fewer.remove(member);
    let text = serde_json::to_string(&fewer).unwrap();
    match (serde_json::from_str::<T>(&text), from) {
        (Err(_), _) => false,
        (Ok(_), From::Client) => true,
        (Ok(read), From::Server) => serde_json::to_value(&read).unwrap().get(member).is_none(),
    }
}

fn text(word: &str) -> String {
    word.to_owned()
}

fn some(word: &str) -> Option<String> {
    Some(text(word))
}

fn raw(json: &str) -> Option<Box<RawValue>> {
    Some(RawValue::from_string(text(json)).unwrap())
}

const TIME: Time = Time(Timestamp(1_772_366_400_123));

fn summary() -> RunSummary {
    RunSummary {
        id: text("d-1"),
        workflow: text("drone-delivery"),
        version: 3,
        status: RunStatus::Parked,
        key: text("d-1"),
        accepted_at: TIME,
        ended_at: Some(TIME),
        reason: some("the undo of drone failed"),
    }
}

fn step() -> StepView {
    StepView {
        name: text("drone"),
        state: text("undo_failed"),
        by: some("call"),
        attempts: 7,
        next_attempt_at: Some(TIME),
        reason: some("503"),
        output: raw("{\"drone\":7}"),
    }
}

fn moment() -> MomentView {
    MomentView {
        at: TIME,
        what: text("ended"),
        step: some("drone"),
        work: some("undo"),
        attempt: Some(2),
        outcome: some("transient"),
        status: Some(503),
        retry_at: Some(TIME),
        detail: some("busy"),
        by: some("ann"),
        note: some("called them"),
    }
}

fn problem() -> Problem {
    let error = FieldError {
        pointer: some("/size"),
        field: some("steps.drone"),
        line: Some(3),
        message: text("not a size"),
    };
    Problem {
        kind: text("/docs/errors#body_invalid"),
        title: text("The body is not what the workflow takes"),
        status: 400,
        code: text("body_invalid"),
        detail: text("/size: not a size"),
        errors: vec![error],
    }
}

#[test]
fn runs_are_as_described() {
    check("RunSummary", From::Server, summary());
    check("RunPage", From::Server, RunPage { items: vec![summary()], next: some("c") });
    let run = RunDetail {
        summary: summary(),
        partition: 3,
        request: raw("{\"deliveryId\":\"d-1\"}"),
        steps: vec![step()],
        open_steps: vec![text("drone")],
        timeline: vec![moment()],
    };
    check("Run", From::Server, run);
    check("Step", From::Server, step());
    check("Moment", From::Server, moment());
    let decision = DecisionRequest {
        decision: DecisionKind::Instead,
        step: some("drone"),
        output: raw("{}"),
        action: raw("{}"),
        note: text("as agreed"),
    };
    check("DecisionDraft", From::Client, decision);
    let answer = BatchAnswer { line: 1, status: 400, id: some("d-1"), problem: Some(problem()) };
    check("BatchAnswer", From::Server, answer);
    check("Problem", From::Server, problem());
    check("FieldError", From::Server, problem().errors.remove(0));
}

#[test]
fn workflows_are_as_described() {
    let outline =
        StepOutline { name: text("a"), after: vec![text("b")], alternative: true, undo: true, pivot: false };
    let workflow = WorkflowView {
        name: text("notify"),
        version: 2,
        route: some("/notify"),
        serial: false,
        steps: vec![outline.clone()],
        applied_at: TIME,
        applied_by: text("ann"),
        source: some("name: notify"),
        schema: Some(json!({ "type": "object" })),
    };
    check("StepOutline", From::Server, outline);
    check("Workflow", From::Server, workflow.clone());
    check("WorkflowList", From::Server, WorkflowList { items: vec![workflow] });
    check("Applied", From::Server, AppliedView { name: text("notify"), version: 2, changed: true });
}

#[test]
fn queues_are_as_described() {
    let filter = FilterView {
        message_id: some("m"),
        content_type: some("text/plain"),
        correlation_id: some("c"),
        label: some("paid"),
        reply_to: some("r"),
        reply_to_session: some("rs"),
        session: some("s"),
        to: some("t"),
        properties: BTreeMap::from([(text("country"), json!("NO"))]),
    };
    check("Filter", From::Client, filter.clone());
    let counts = CountsView { ready: 1, locked: 2, scheduled: 3, dead: 4, bytes: 5 };
    check("QueueCounts", From::Server, counts);
    let queue = QueueView {
        name: text("s"),
        topic: some("t"),
        lock: Span::from_secs(30),
        time_to_live: Some(Span::from_secs(60)),
        deliveries_max: 5,
        dead_letter_expired: true,
        duplicate_window: Some(Span::from_secs(600)),
        sessions: false,
        messages_max: 10,
        bytes_max: 1 << 20,
        filter: Some(filter),
        counts,
        version: 1,
        created_at: TIME,
        changed_at: TIME,
    };
    check("Queue", From::Server, queue.clone());
    check("QueuePage", From::Server, NamePage { items: vec![queue], next: some("s") });
    let topic = TopicView {
        name: text("t"),
        time_to_live: Some(Span::from_secs(60)),
        duplicate_window: Span::from_secs(600),
        subscriptions: 2,
        version: 1,
        created_at: TIME,
        changed_at: TIME,
    };
    check("Topic", From::Server, topic.clone());
    check("TopicPage", From::Server, NamePage { items: vec![topic], next: some("t") });
    check("Moved", From::Server, Moved { messages: 3 });
}

#[test]
fn messages_are_as_described() {
    let dead = DeadView { at: TIME, reason: text("r"), description: text("d") };
    check("DeadLetter", From::Server, dead.clone());
    let message = MessageView {
        sequence_number: 7,
        state: text("ready"),
        message_id: text("m"),
        body: some("{}"),
        body_base64: some("e30="),
        content_type: some("application/json"),
        correlation_id: some("c"),
        label: some("paid"),
        partition_key: some("p"),
        reply_to: some("r"),
        reply_to_session: some("rs"),
        session: some("s"),
        to: some("t"),
        properties: BTreeMap::from([(text("n"), json!(1.5))]),
        deliveries: 1,
        enqueued_at: TIME,
        expires_at: Some(TIME),
        scheduled_at: Some(TIME),
        locked_until: Some(TIME),
        dead: Some(dead),
    };
    check("Message", From::Server, message.clone());
    check("MessagePage", From::Server, MessagePage { items: vec![message], next: Some(8) });
}

#[test]
fn messages_on_their_way_are_as_described() {
    let properties = BTreeMap::from([(text("country"), json!("NO"))]);
    let said = SentProperties {
        message_id: some("m"),
        label: some("paid"),
        correlation_id: some("c"),
        reply_to: some("r"),
        to: some("t"),
        content_type: some("application/json"),
        session_id: some("s"),
        reply_to_session_id: some("rs"),
        partition_key: some("s"),
        via_partition_key: some("v"),
        time_to_live: Some(1.5),
        scheduled_enqueue_time_utc: some("2026-03-01T12:00:00Z"),
        force_persistence: Some(true),
    };
    check("SentProperties", From::Client, said.clone());
    let sent = SentMessage {
        body: text("AP8="),
        body_encoding: some("base64"),
        broker_properties: said.clone(),
        user_properties: properties.clone(),
    };
    check("SentMessage", From::Client, sent);
    let known = ReceivedProperties {
        delivery_count: 1,
        enqueued_sequence_number: 7,
        enqueued_time_utc: TIME.http(),
        expires_at_utc: Some(TIME.http()),
        lock_token: some("0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b"),
        locked_until_utc: Some(TIME.http()),
        message_id: text("m"),
        sequence_number: 7,
        state: text("Active"),
        sent: SentProperties { message_id: None, ..said },
    };
    check("ReceivedProperties", From::Server, known.clone());
    let received = ReceivedMessage {
        body: text("AP8="),
        body_encoding: some("base64"),
        broker_properties: known,
        user_properties: properties,
        location: some("http://localhost/q/messages/7/0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b"),
    };
    check("ReceivedMessage", From::Server, received);
}

#[test]
fn what_an_installation_shows_of_itself_is_as_described() {
    let instance = InstanceView {
        id: text("a"),
        address: text("a:7071"),
        roles: vec![text("rest")],
        ordinal: Some(0),
        version: some("0.1.0"),
    };
    check("Instance", From::Server, instance.clone());
    let holding = HoldingView { partition: text("control"), holder: some("a"), epoch: 4 };
    check("Holding", From::Server, holding.clone());
    let cluster = ClusterView {
        instance: some("a"),
        known: true,
        active: true,
        instances: vec![instance],
        partitions: vec![holding],
    };
    check("Cluster", From::Server, cluster);
    let partition = PartitionView { reason: some("damage"), ..PartitionView::unheld(3) };
    check("Partition", From::Server, partition);
    let by_hand = ByHandView {
        breaker: text("open"),
        limit: Some(5),
        note: some("until noon"),
        at: TIME,
        by: text("ann"),
    };
    let service = ServiceView {
        service: text("http://127.0.0.1:7104"),
        names: vec![text("drone-delivery/drone")],
        limit: 20,
        in_flight: 1,
        waiting: 2,
        breaker: text("half_open"),
        p50_ms: Some(1.5),
        p99_ms: None,
        by_hand: Some(by_hand.clone()),
    };
    check("Service", From::Server, service.clone());
    check("ServiceByHand", From::Server, by_hand);
    let said = ServiceRequest { breaker: text("open"), limit: Some(3), note: some("until noon") };
    check("ServiceDraft", From::Client, said);
    let limits = Limits {
        partitions: 16,
        body_bytes_max: 1,
        batch_requests_max: 1,
        batch_bytes_max: 1,
        definition_bytes_max: 1,
        unfinished_runs_max: 1,
        calls_max: 1,
        live_runs_max: 1,
        page_items_max: 1,
        connections_max: 1,
    };
    check("Limits", From::Server, limits);
}

#[test]
fn regions_are_as_described() {
    let side = SideView {
        region: text("oslo"),
        role: text("active"),
        epoch: Some(3),
        since: Some(TIME),
        by: some("oslo/a"),
        level: Some(true),
        promotion: some("catch_up"),
    };
    check("RegionSide", From::Server, side.clone());
    let mirror = MirrorView {
        stream: text("events-0"),
        last: Some(5),
        origin_last: Some(6),
        lag: Some(1),
        newest: some("2026-03-01T12:00:00Z"),
    };
    check("RegionMirror", From::Server, mirror.clone());
    let stream = StreamTailView {
        stream: text("inbox-0"),
        from: 1,
        through: 2,
        messages: 2,
        bytes: 20,
        whole: some("never mirrored"),
        contents: vec![text("run d-1")],
    };
    check("RegionStreamTail", From::Server, stream.clone());
    let tail = TailView {
        kept_at: TIME,
        epoch: 3,
        overtaken_by: 4,
        instance: text("a"),
        folder: text("tails/4"),
        bucket: some("sortie_divergent"),
        streams: vec![stream],
    };
    check("RegionTail", From::Server, tail.clone());
    let leases = LeasesView { witness: true, pair: false };
    check("RegionLeases", From::Server, leases);
    let region = RegionView {
        here: side.clone(),
        pair: side,
        pair_reachable: true,
        active: some("oslo"),
        mirrors: vec![mirror.clone()],
        leases: Some(leases),
        follows: Some(true),
        tail: Some(tail),
    };
    check("Region", From::Server, region);
    let promoted = PromotedView {
        region: text("oslo"),
        epoch: 4,
        forced: false,
        took_ms: 900,
        lost_messages: 0,
        mirrors: vec![mirror],
        pair_mirrors: true,
    };
    check("Promoted", From::Server, promoted.clone());
    let passed = CheckView { check: text("mirrors"), passed: true, detail: text("all there") };
    check("DrillCheck", From::Server, passed.clone());
    check("Drill", From::Server, DrillView { ready: true, checks: vec![passed], switches: vec![promoted] });
    check("PromoteDraft", From::Client, PromoteRequest { force: true, incomplete: true });
    check("DrillDraft", From::Client, DrillRequest { switch: true });
}

#[test]
fn requests_of_a_tail_are_as_described() {
    let request = TailRequestView {
        stream: text("inbox-0"),
        sequence: 2,
        workflow: some("drone-delivery"),
        id: some("d-1"),
        accepted_at: Some(TIME),
        body: raw("{}"),
        text: some("{}"),
        problem: some("damaged"),
    };
    check("TailRequest", From::Server, request);
}
