//! Collections and jobs, in the members of Azure Scheduler.

use schedule::spelling::{
    self, ActionName, CollectionState, Frequency, Gap, Missed, Overlap, Plan, QuotaFrequency, Repeat,
};

use super::actions::JobAction;
use super::build::{
    anything_named, boolean, described, integer, list_of, map_of, object, of, one_of, optional, required,
    text, time,
};

described! {
    /// A collection as clients write it. Names of members and enumerated values are accepted in any casing; unknown members are refused.
    CollectionDraft(c) => object([
        optional("location", text().or_null().min_length(1)),
        optional("tags", map_of(text()).or_null()),
        optional("properties", of::<CollectionProperties>(c).or_null()),
    ]);

    /// A collection as it is.
    CollectionDocument = "Collection" (c) => object([
        required("id", text()),
        required("type", text()),
        required("name", text()),
        required("collection", text().describe("How it is named in paths.")),
        required("jobs", integer().describe("How many jobs it has.")),
        optional("location", text().or_null().min_length(1)),
        optional("tags", map_of(text()).or_null()),
        required("properties", of::<CollectionProperties>(c)),
    ]);

    /// A job as clients write it. Names of members and enumerated values are accepted in any casing; unknown members are refused.
    JobDraft(c) => object([
        required("properties", of::<JobProperties>(c)),
    ]);

    JobProperties(c) => object([
        optional("startTime", time().or_null()),
        optional("recurrence", of::<JobRecurrence>(c).or_null()),
        optional("at", text().or_null().describe("The one moment at which it runs; without an offset it is read in `timeZone`.")),
        optional("timeZone", text().or_null().describe("An IANA name like Europe/Berlin; UTC when absent.")),
        optional("clockChange", of::<JobClockChange>(c).or_null()),
        optional("jitter", text().or_null().describe("A length of time: `30s`, `PT30S` or `00:00:30`.")),
        required("action", of::<JobAction>(c)),
        optional("missed", one_of(Missed::SPELLINGS).or_null().default("latest")),
        optional("overlap", one_of(Overlap::SPELLINGS).or_null().default("skip")),
        optional("state", of::<JobState>(c).or_null().describe("Write enabled or disabled.")),
        optional("status", of::<JobStatus>(c).or_null()),
    ]);

    JobRecurrence(c) => object([
        optional("frequency", one_of(Frequency::SPELLINGS).or_null()),
        optional("interval", integer().or_null().minimum(1).default(1)),
        optional("cron", text().or_null().describe("Five fields, or six with seconds first; in place of frequency, interval and schedule.")),
        optional("count", integer().or_null().minimum(1)),
        optional("endTime", time().or_null()),
        optional("schedule", of::<JobSchedule>(c).or_null()),
    ]);

    JobStatus(c) => object([
        required("executionCount", integer().describe("Attempts, retries and the errorAction included.")),
        required("failureCount", integer().describe("Attempts that failed.")),
        required("faultedCount", integer().describe("Occurrences whose action failed for good.")),
        optional("lastExecutionTime", time()),
        optional("nextExecutionTime", time()),
        optional("occurrences", integer().describe("Occurrences fired, manual ones included.")),
        optional("skipped", integer().describe("Skipped because of an overlap.")),
        optional("missed", integer().describe("How often `missed: skip` skipped what was due.")),
    ]);

    JobDocument = "Job" (c) => object([
        required("id", text()),
        required("type", text()),
        required("name", text()),
        required("collection", text().describe("How its collection is named in paths.")),
        required("properties", of::<JobProperties>(c)),
    ]);

    JobAttempt(c) => object([
        required("run", text().describe("The run that the attempt belongs to.")),
        required("byHand", boolean()),
        required("actionName", one_of(ActionName::SPELLINGS)),
        required("status", one_of(&["completed", "failed"])),
        required("message", text()),
        required("startTime", time()),
        optional("endTime", time()),
        required("expectedExecutionTime", time()),
        required("retryCount", integer().describe("0 for the first attempt.")),
        required("repeatCount", integer().describe("The number of the occurrence, from 1.")),
    ]);

    /// A whole job will do, also with its `properties`: what does not concern its time is passed over.
    PreviewDraft(c) => object([
        optional("startTime", time().or_null()),
        optional("recurrence", of::<JobRecurrence>(c).or_null()),
        optional("at", text().or_null().describe("The one moment at which it runs; without an offset it is read in `timeZone`.")),
        optional("timeZone", text().or_null().describe("An IANA name like Europe/Berlin; UTC when absent.")),
        optional("clockChange", of::<JobClockChange>(c).or_null()),
        optional("jitter", text().or_null().describe("A length of time: `30s`, `PT30S` or `00:00:30`.")),
        optional("cron", text().or_null()),
        optional("now", time().or_null()),
        optional("count", integer().or_null().minimum(1).maximum(1000).default(10)),
    ]);

    Preview(c) => object([
        required("occurrences", list_of(time())),
        optional("clockChanges", list_of(of::<TouchedOccurrence>(c)).describe("Which of them a clock change affects; absent when none.")),
    ]);

    CollectionExport(c) => object([
        optional("collection", of::<CollectionDraft>(c)),
        optional("jobs", list_of(of::<NamedJobDraft>(c))),
    ]);

    ImportChanges(c) => object([
        required("collection", one_of(&["created", "updated", "unchanged"])),
        required("jobs", list_of(of::<JobChange>(c))),
    ]);

    CollectionProperties(c) => object([
        optional("sku", of::<CollectionPlan>(c).or_null()),
        optional("state", one_of(CollectionState::SPELLINGS).or_null().default("Enabled")),
        optional("quota", of::<CollectionQuota>(c).or_null()),
    ]);

    CollectionPlan(c) => object([
        required("name", one_of(Plan::SPELLINGS).default("Sortie")),
    ]);

    CollectionQuota(c) => object([
        optional("maxJobCount", integer().or_null().minimum(1)),
        optional("maxJobOccurrence", integer().or_null().describe("Kept; without effect.")),
        optional("maxRecurrence", of::<QuotaRecurrence>(c).or_null()),
    ]);

    QuotaRecurrence(c) => object([
        required("frequency", one_of(QuotaFrequency::SPELLINGS)),
        required("interval", integer().minimum(1)),
    ]);

    JobClockChange(c) => object([
        optional("gap", one_of(Gap::SPELLINGS).or_null().default("end")),
        optional("repeat", one_of(Repeat::SPELLINGS).or_null().default("first")),
    ]);

    JobSchedule(c) => object([
        optional("minutes", list_of(integer().minimum(0).maximum(59)).or_null()),
        optional("hours", list_of(integer().minimum(0).maximum(23)).or_null()),
        optional("weekDays", list_of(of::<WeekDay>(c)).or_null()),
        optional("monthDays", list_of(integer().minimum(-31).maximum(31)).or_null()),
        optional("monthlyOccurrences", list_of(of::<MonthlyOccurrence>(c)).or_null()),
    ]);

    WeekDay(c) => one_of(spelling::WeekDay::SPELLINGS);

    MonthlyOccurrence(c) => object([
        required("day", of::<WeekDay>(c)),
        optional("occurrence", integer().minimum(-5).maximum(5)),
    ]);

    JobState(c) => one_of(&["enabled", "disabled", "completed", "faulted"]);

    CollectionList(c) => object([
        required("items", list_of(of::<CollectionDocument>(c))),
    ]);

    JobPage(c) => object([
        required("items", list_of(of::<JobDocument>(c))),
        optional("next", text().describe("Hand it in as `cursor` to get the next page; absent at the end.")),
    ]);

    JobHistory(c) => object([
        required("items", list_of(of::<JobAttempt>(c))),
        optional("next", text().describe("Hand it in as `cursor` to get the next page; absent at the end.")),
    ]);

    Fired(c) => object([
        required("run", text().describe("The id of the run.")),
    ]);

    TouchedOccurrence(c) => object([
        required("occurrence", time()),
        required("change", text()),
    ]);

    NamedJobDraft(c) => object([
        required("name", text()),
        required("properties", of::<JobProperties>(c)),
    ]);

    JobChange(c) => object([
        required("name", text()),
        required("change", one_of(&["created", "updated", "unchanged", "deleted"])),
    ]);

    /// A JSON merge patch of a collection (`CollectionDraft`): what it names is set, null removes, the rest stays.
    CollectionPatch(c) => anything_named();

    /// A JSON merge patch of a job (`JobDraft`): what it names is set, null removes, the rest stays.
    JobPatch(c) => anything_named();
}
