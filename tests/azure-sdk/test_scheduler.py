"""The published azure-mgmt-scheduler 7.0.0, unchanged, against a running Sortie: `SORTIE_URL` says where."""

import base64
import datetime
import pathlib
import sys
import unittest

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.mgmt.scheduler import models
from azure.mgmt.scheduler.patch import patch_client

from world import SUBSCRIPTION, SdkTest, call, never

UTC = datetime.timezone.utc
NOWHERE = "http://127.0.0.1:9/"
FIXTURES = pathlib.Path(__file__).parents[2] / "crates/storage/vault/tests/data"
PASSWORD = "correct horse"
# Far enough for nothing to happen, near enough to be allowed; the fraction shows that none is lost.
LATER = datetime.datetime.now(UTC).replace(microsecond=250000) + datetime.timedelta(days=30)


class Collections(SdkTest):
    def test_all_eight_operations_and_their_statuses(self):
        collections = self.client.job_collections
        recurrence = models.JobMaxRecurrence(frequency="Minute", interval=5)
        quota = models.JobCollectionQuota(max_job_count=7, max_recurrence=recurrence)
        created = self.collection("one", quota=quota)
        self.assertEqual(self.last().status_code, 201)
        here = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{self.group}/providers/Microsoft.Scheduler"
        self.assertEqual(created.id, f"{here}/jobCollections/one")
        self.assertEqual(created.type, "Microsoft.Scheduler/jobCollections")
        self.assertEqual((created.name, created.location), ("one", "West US"))
        self.assertEqual((created.properties.sku.name, created.properties.state), ("Standard", "Enabled"))
        self.assertEqual(created.properties.quota.max_job_count, 7)
        self.assertEqual(created.properties.quota.max_recurrence.interval, 5)
        self.collection("one", quota=quota)
        self.assertEqual(self.last().status_code, 200)

        patched = collections.patch(self.group, "one", models.JobCollectionDefinition(tags={"a": "b"}))
        self.assertEqual((patched.tags, patched.properties.quota.max_job_count), ({"a": "b"}, 7))
        self.assertEqual(collections.get(self.group, "one").serialize(), patched.serialize())

        self.collection("two", sku="P20Premium")
        names = [each.name for each in collections.list_by_resource_group(self.group)]
        self.assertEqual(sorted(names), ["one", "two"])
        ids = [each.id for each in collections.list_by_subscription()]
        self.assertTrue({f"{here}/jobCollections/one", f"{here}/jobCollections/two"} <= set(ids), ids)

        collections.begin_disable(self.group, "one").result()
        self.assertEqual(self.last().status_code, 200)
        self.assertEqual(collections.get(self.group, "one").properties.state, "Disabled")
        collections.begin_enable(self.group, "one").result()
        self.assertEqual(collections.get(self.group, "one").properties.state, "Enabled")

        collections.begin_delete(self.group, "one").result()
        self.assertEqual([each.name for each in collections.list_by_resource_group(self.group)], ["two"])
        with self.assertRaises(ResourceNotFoundError):
            collections.get(self.group, "one")

    def test_disabling_holds_the_jobs_and_enabling_releases_those_it_held(self):
        self.collection()
        soon = datetime.datetime.now(UTC) + datetime.timedelta(days=1)
        self.put("on", call(NOWHERE), start_time=soon)
        self.put("off", call(NOWHERE), start_time=soon, state="Disabled")
        self.client.job_collections.begin_disable(self.group, "jc").result()
        self.assertEqual(self.jobs(filter="state eq Disabled"), ["off", "on"])
        self.assertIsNone(self.job("on").properties.status)
        self.client.job_collections.begin_enable(self.group, "jc").result()
        self.assertEqual(self.jobs(filter="state eq Enabled"), ["on"])
        self.assertIsNotNone(self.job("on").properties.status.next_execution_time)


class Jobs(SdkTest):
    def setUp(self):
        super().setUp()
        self.collection()

    def test_create_get_replace_patch_and_delete(self):
        recurrence = models.JobRecurrence(frequency="Week", interval=2, count=10)
        headers = {"Content-Type": "text/plain"}
        action = call("http://example.org/a", "POST", body="hello", headers=headers)
        created = self.put("j", action, start_time=LATER, recurrence=recurrence)
        self.assertEqual(self.last().status_code, 201)
        self.assertTrue(created.id.endswith("/jobCollections/jc/jobs/j"), created.id)
        self.assertEqual((created.type, created.name), ("Microsoft.Scheduler/jobCollections/jobs", "jc/j"))
        properties = created.properties
        self.assertEqual((properties.start_time, properties.state), (LATER, "enabled"))
        self.assertEqual(properties.status.next_execution_time, LATER)
        self.assertIsNone(properties.status.last_execution_time)
        counts = properties.status.execution_count, properties.status.failure_count, properties.status.faulted_count
        self.assertEqual(counts, (0, 0, 0))
        self.assertEqual(properties.action.request.serialize(), action.request.serialize())
        self.assertEqual((properties.recurrence.frequency, properties.recurrence.count), ("week", 10))
        self.assertEqual(self.job("j").serialize(), created.serialize())

        changed = models.JobRecurrence(frequency="Day")
        patched = self.patch("j", recurrence=changed).properties
        self.assertEqual(self.last().status_code, 200)
        kept = patched.recurrence.frequency, patched.recurrence.interval, patched.recurrence.count
        self.assertEqual((kept, patched.action.request.body), (("day", 2, 10), "hello"))

        replaced = self.put("j", call("http://example.org/b"), start_time=LATER).properties
        self.assertEqual(self.last().status_code, 200)
        self.assertIsNone(replaced.recurrence)
        self.assertIsNone(replaced.action.request.body)

        disabled = self.patch("j", state="Disabled").properties
        self.assertEqual((disabled.state, disabled.status), ("disabled", None))
        self.client.jobs.delete(self.group, "jc", "j")
        self.assertEqual((self.last().status_code, self.jobs()), (200, []))

    def test_names_are_found_in_any_case_and_with_any_letters(self):
        self.put("My job, später (1)", call(NOWHERE), state="Disabled")
        self.assertEqual(self.job("my JOB, SPÄTER (1)").name, "jc/My job, später (1)")
        self.assertEqual(self.client.jobs.get(self.group.upper(), "JC", "My job, später (1)").name, "jc/My job, später (1)")
        self.client.jobs.delete(self.group, "jc", "My job, später (1)")
        self.assertEqual(self.jobs(), [])

    def test_pages_are_followed_over_their_links(self):
        for n in range(5):
            self.put(f"j{n}", call(NOWHERE), state="Disabled")
        pages = self.client.jobs.list(self.group, "jc", top=2).by_page()
        self.assertEqual([len(list(page)) for page in pages], [2, 2, 1])
        self.assertEqual(self.jobs(top=2), ["j0", "j1", "j2", "j3", "j4"])
        self.assertEqual(self.jobs(skip=3), ["j3", "j4"])
        self.assertEqual(self.jobs(top=2, skip=1), ["j1", "j2", "j3", "j4"])
        self.patch("j4", state="Enabled", start_time=LATER)
        self.assertEqual(self.jobs(top=2, filter="state eq Disabled"), ["j0", "j1", "j2", "j3"])
        self.assertEqual(self.jobs(filter="state eq 'enabled'"), ["j4"])
        self.assertEqual(self.jobs(filter="state eq Completed"), [])

    def test_months_by_weekdays_come_back_whole(self):
        day = models.JobRecurrenceScheduleMonthlyOccurrence
        wanted = [day(day="Monday", occurrence=1), day(day="Friday", occurrence=-1)]
        schedule = models.JobRecurrenceSchedule(hours=[5, 17], minutes=[15, 45], monthly_occurrences=wanted)
        recurrence = models.JobRecurrence(frequency="Month", schedule=schedule)
        self.put("j", call(NOWHERE), recurrence=recurrence, state="Disabled")
        got = self.job("j").properties.recurrence.schedule
        seen = [(each.day, each.occurrence) for each in got.monthly_occurrences]
        self.assertEqual(seen, [("monday", 1), ("friday", -1)])
        self.assertEqual((got.hours, got.minutes), ([5, 17], [15, 45]))
        named = self.connect(user_agent="my-app/1.0")
        same = named.jobs.get(self.group, "jc", "j").properties.recurrence.schedule
        self.assertEqual(same.serialize(), got.serialize())
        named.close()
        weekly = models.JobRecurrenceSchedule(week_days=["Monday", "Sunday"], hours=[1])
        self.put("w", call(NOWHERE), recurrence=models.JobRecurrence(frequency="Week", schedule=weekly))
        self.assertEqual(self.job("w").properties.recurrence.schedule.week_days, ["monday", "sunday"])
        days = models.JobRecurrenceSchedule(month_days=[1, -1], hours=[1], minutes=[0])
        self.put("m", call(NOWHERE), recurrence=models.JobRecurrence(frequency="Month", schedule=days))
        self.assertEqual(self.job("m").properties.recurrence.schedule.month_days, [1, -1])

    def test_durations_come_back_in_the_notation_they_were_written_in(self):
        minute, day = datetime.timedelta(minutes=1), datetime.timedelta(days=1)
        policy = models.RetryPolicy(retry_type="Fixed", retry_interval=minute, retry_count=2)
        self.put("iso", call(NOWHERE, retry_policy=policy), state="Disabled")
        got = self.job("iso").properties.action.retry_policy
        self.assertEqual((got.retry_type, got.retry_interval, got.retry_count), ("fixed", minute, 2))
        patched = self.connect()
        patch_client(patched)
        wanted = models.JobAction(retry_policy=models.RetryPolicy(retry_interval=day))
        change = models.JobDefinition(properties=models.JobProperties(action=wanted))
        got = patched.jobs.patch(self.group, "jc", "iso", change).properties.action.retry_policy
        self.assertIn('"30.00:00:00"', self.last().text())
        self.assertEqual((got.retry_interval, got.retry_count), (day, 2))
        self.assertEqual(patched.jobs.get(self.group, "jc", "iso").properties.action.retry_policy.retry_interval, day)
        self.patch("iso", action=models.JobAction(retry_policy=models.RetryPolicy(retry_interval=minute)))
        self.assertEqual(self.job("iso").properties.action.retry_policy.retry_interval, minute)
        patched.close()

    def test_queue_and_bus_actions_come_back_without_their_keys(self):
        bus = dict(namespace="ns", transport_type="NetMessaging", message="m")
        key = models.ServiceBusAuthentication(sas_key="sas-key-secret", sas_key_name="k", type="SharedAccessKey")
        live = datetime.timedelta(hours=36)
        properties = models.ServiceBusBrokeredMessageProperties(label="l", time_to_live=live, force_persistence=True)
        queue = models.ServiceBusQueueMessage(
            queue_name="q", authentication=key, brokered_message_properties=properties, **bus
        )
        topic = models.ServiceBusTopicMessage(topic_path="t", authentication=key, **bus)
        error = models.JobErrorAction(type="ServiceBusTopic", service_bus_topic_message=topic)
        action = models.JobAction(type="ServiceBusQueue", service_bus_queue_message=queue, error_action=error)
        self.put("bus", action, state="Disabled")
        got = self.job("bus").properties.action
        brokered = got.service_bus_queue_message.brokered_message_properties
        self.assertEqual((brokered.time_to_live, brokered.force_persistence), (live, True))
        self.assertEqual(got.error_action.service_bus_topic_message.topic_path, "t")
        self.assertEqual(got.service_bus_queue_message.authentication.sas_key_name, "k")
        message = models.StorageQueueMessage(
            storage_account="a", queue_name="q", sas_token="sas-token-secret", message="m"
        )
        self.put("queue", models.JobAction(type="StorageQueue", queue_message=message), state="Disabled")
        self.assertEqual(self.job("queue").properties.action.queue_message.queue_name, "q")
        for answer in self.answers:
            self.assertNotIn("-secret", answer.text())


class Errors(SdkTest):
    def refused(self, kind, status, code, act):
        with self.assertRaises(kind) as caught:
            act()
        error = caught.exception
        self.assertEqual((error.status_code, error.error.code), (status, code), error.message)
        return error.error.message

    def test_what_is_missing_is_not_found(self):
        missing = lambda: self.client.job_collections.get(self.group, "jc")
        message = self.refused(ResourceNotFoundError, 404, "ResourceNotFound", missing)
        wanted = f"The Resource 'Microsoft.Scheduler/jobcollections/jc' under resource group '{self.group}' was not found."
        self.assertEqual(message, wanted)
        put = lambda: self.put("j", call(NOWHERE))
        self.refused(ResourceNotFoundError, 404, "ResourceNotFound", put)
        self.collection()
        jobs = self.client.jobs
        for act in (
            lambda: jobs.get(self.group, "jc", "j"),
            lambda: jobs.run(self.group, "jc", "j"),
            lambda: jobs.delete(self.group, "jc", "j"),
            lambda: list(jobs.list_job_history(self.group, "jc", "j")),
            lambda: self.patch("j", state="Disabled"),
        ):
            message = self.refused(ResourceNotFoundError, 404, "NotFound", act)
            self.assertEqual(message, "Job 'j' cannot be found.")

    def test_quotas_are_conflicts(self):
        hourly = models.JobMaxRecurrence(frequency="Hour", interval=1)
        self.collection(quota=models.JobCollectionQuota(max_job_count=1, max_recurrence=hourly))
        often = models.JobRecurrence(frequency="Minute", interval=5)
        act = lambda: self.put("often", call(NOWHERE), recurrence=often)
        self.assertIn("recurrence", self.refused(ResourceExistsError, 409, "ConflictError", act))
        self.put("one", call(NOWHERE), state="Disabled")
        act = lambda: self.put("two", call(NOWHERE), state="Disabled")
        self.assertIn("quota of 1", self.refused(ResourceExistsError, 409, "ConflictError", act))
        basic = models.BasicAuthentication(username="u", password="p")
        self.collection("free", sku="Free")
        act = lambda: self.put("j", call(NOWHERE, authentication=basic), collection="free")
        self.refused(ResourceExistsError, 409, "ConflictError", act)

    def test_what_is_wrong_is_named(self):
        self.collection()
        cases = {
            "uri": dict(action=call("not a uri")),
            "retryCount": dict(action=call(NOWHERE, retry_policy=models.RetryPolicy(retry_type="Fixed", retry_count=21))),
            "frequency": dict(action=call(NOWHERE), recurrence=models.JobRecurrence(frequency="Fortnight")),
            "weekDays": dict(
                action=call(NOWHERE),
                recurrence=models.JobRecurrence(
                    frequency="Day", schedule=models.JobRecurrenceSchedule(week_days=["Monday"])
                ),
            ),
            "state": dict(action=call(NOWHERE), state="Completed"),
            "type": dict(action=models.JobAction(type="Carrier pigeon")),
        }
        for named, properties in cases.items():
            with self.subTest(named):
                act = lambda: self.put("j", **properties)
                self.assertIn(named, self.refused(HttpResponseError, 400, "BadRequest", act))
        act = lambda: self.jobs(top=101)
        self.assertIn("$top", self.refused(HttpResponseError, 400, "BadRequest", act))
        act = lambda: self.jobs(filter="name eq 'x'")
        self.refused(HttpResponseError, 400, "BadRequest", act)
        self.assertEqual(self.jobs(), [])


class Secrets(SdkTest):
    def setUp(self):
        super().setUp()
        self.collection()

    def tearDown(self):
        for answer in self.answers:
            for secret in ("hunter2", "open sesame", PASSWORD, self.pfx()):
                self.assertNotIn(secret, answer.text())
        super().tearDown()

    def pfx(self):
        return base64.b64encode((FIXTURES / "modern.pfx").read_bytes()).decode()

    def test_a_password_is_kept_sent_and_never_shown(self):
        basic = models.BasicAuthentication(username="user", password="hunter2")
        shown = self.put("j", call(self.target.url("/ok/basic"), authentication=basic), state="Disabled")
        authentication = shown.properties.action.request.authentication
        self.assertIsInstance(authentication, models.BasicAuthentication)
        self.assertEqual((authentication.username, authentication.password), ("user", None))
        request = models.HttpRequest(method="POST", body="later", headers={"content-type": "text/plain"})
        self.patch("j", action=models.JobAction(request=request))
        self.client.jobs.run(self.group, "jc", "j")
        asked = self.wait(lambda: self.target.asked_at("/ok/basic"), "the call")[0]
        expected = "Basic " + base64.b64encode(b"user:hunter2").decode()
        self.assertEqual(asked["headers"]["authorization"], expected)
        self.assertEqual((asked["method"], asked["body"]), ("POST", "later"))
        self.wait(lambda: self.history("j"), "the record")
        self.assertEqual(self.job("j").properties.action.request.authentication.username, "user")

    def test_a_client_secret_is_never_shown(self):
        oauth = models.OAuthAuthentication(
            secret="open sesame", tenant="t.example.org", audience="https://a/", client_id="c"
        )
        self.put("j", call(NOWHERE, authentication=oauth), state="Disabled")
        self.patch("j", start_time=LATER)
        got = self.job("j").properties.action.request.authentication
        self.assertIsInstance(got, models.OAuthAuthentication)
        seen = got.tenant, got.audience, got.client_id, got.secret
        self.assertEqual(seen, ("t.example.org", "https://a/", "c", None))

    def test_a_certificate_shows_its_facts_alone(self):
        certificate = models.ClientCertAuthentication(pfx=self.pfx(), password=PASSWORD)
        self.put("j", call("https://127.0.0.1:9/", authentication=certificate), state="Disabled")
        self.patch("j", start_time=LATER)
        got = self.job("j").properties.action.request.authentication
        self.assertIsInstance(got, models.ClientCertAuthentication)
        self.assertRegex(got.certificate_thumbprint, "^[0-9A-F]{40}$")
        self.assertRegex(got.certificate_subject_name, "CN=")
        self.assertIsInstance(got.certificate_expiration_date, datetime.datetime)
        self.assertEqual((got.pfx, got.password), (None, None))


class Running(SdkTest):
    def setUp(self):
        super().setUp()
        self.collection()

    def test_a_job_runs_on_time_and_leaves_a_record(self):
        start = datetime.datetime.now(UTC).replace(microsecond=0) + datetime.timedelta(seconds=2)
        self.put("j", call(self.target.url("/ok/once"), "PUT", body="hello"), start_time=start)
        record = self.wait(lambda: self.history("j"), "the record")[0]
        asked = self.target.asked_at("/ok/once")
        self.assertEqual([(each["method"], each["body"]) for each in asked], [("PUT", "hello")])
        headers = asked[0]["headers"]
        self.assertEqual(headers["x-ms-scheduler-jobid"], "j")
        self.assertEqual(headers["x-ms-scheduler-expected-execution-time"], start.strftime("%Y-%m-%dT%H:%M:%S"))
        self.assertRegex(record.name, r"^jc/j/\d{20}:\d{20}$")
        self.assertTrue(record.id.endswith(f"/jobCollections/jc/jobs/j/history/{record.name.split('/')[2]}"))
        self.assertEqual(record.type, "Microsoft.Scheduler/jobCollections/jobs/history")
        properties = record.properties
        self.assertEqual(properties.expected_execution_time, start)
        # What people wrote goes by the clock on the wall, records by one that never goes back: they differ by a little.
        self.assertLess(start, properties.start_time + datetime.timedelta(seconds=1))
        self.assertLessEqual(properties.start_time, properties.end_time)
        self.assertEqual((properties.action_name, properties.status), ("MainAction", None))
        self.assertEqual((properties.retry_count, properties.repeat_count), (0, 1))
        self.assertRegex(properties.message, r"(?s)^Http Action - Response from host '127.0.0.1': 'OK' .*Body: done$")
        job = self.wait(lambda: (job := self.job("j")).properties.state == "completed" and job, "its end")
        status = job.properties.status
        self.assertEqual((status.execution_count, status.failure_count, status.faulted_count), (1, 0, 0))
        self.assertEqual((status.last_execution_time, status.next_execution_time), (properties.start_time, None))
        self.assertEqual(self.jobs(filter="state eq Completed"), ["j"])

    def test_run_now_and_the_history_of_what_failed(self):
        error = models.JobErrorAction(
            type="Http", request=models.HttpRequest(uri=self.target.url("/ok/error"), method="POST")
        )
        action = call(self.target.url("/broken"), retry_policy=never(), error_action=error)
        self.put("j", action, start_time=LATER)
        for n in (1, 2, 3):
            self.client.jobs.run(self.group, "jc", "j")
            self.assertEqual(self.last().status_code, 200)
            self.wait(lambda: len(self.history("j")) == 2 * n, "two records each time")
        records = [each.properties for each in self.history("j")]
        seen = [(each.action_name, each.status, each.repeat_count) for each in records]
        newest_first = []
        for n in (3, 2, 1):
            newest_first += [("ErrorAction", None, n), ("MainAction", "failed", n)]
        self.assertEqual(seen, newest_first)
        self.assertIn("'InternalServerError'", records[1].message)
        failed = self.history("j", filter="status eq Failed")
        self.assertEqual([each.properties.repeat_count for each in failed], [3, 2, 1])
        done = self.history("j", filter="status eq Completed")
        self.assertEqual([each.properties.action_name for each in done], ["ErrorAction"] * 3)
        pages = self.client.jobs.list_job_history(self.group, "jc", "j", top=4).by_page()
        self.assertEqual([len(list(page)) for page in pages], [4, 2])
        self.assertEqual(len(self.history("j", skip=4)), 2)
        status = self.job("j").properties.status
        self.assertEqual((status.execution_count, status.failure_count, status.faulted_count), (6, 3, 3))
        self.assertEqual(self.job("j").properties.state, "enabled")
        self.assertEqual(status.next_execution_time, LATER)
        self.assertEqual(len(self.target.asked_at("/ok/error")), 3)
        self.assertEqual(len({each.id for each in self.history("j")}), 6)

    def test_a_disabled_collection_fires_nothing(self):
        soon = datetime.datetime.now(UTC) + datetime.timedelta(seconds=3)
        self.put("held", call(self.target.url("/ok/held")), start_time=soon)
        self.client.job_collections.begin_disable(self.group, "jc").result()
        self.collection("other")
        self.put("after", call(self.target.url("/ok/after")), "other", start_time=soon)
        self.wait(lambda: self.target.asked_at("/ok/after"), "the job of the other collection")
        self.assertEqual((self.target.asked_at("/ok/held"), self.history("held")), ([], []))
        self.assertEqual(self.job("held").properties.state, "disabled")
        self.client.job_collections.begin_enable(self.group, "jc").result()
        # It would have run once, and may do so now.
        self.wait(lambda: self.target.asked_at("/ok/held"), "the job that was held back")
        self.wait(lambda: self.job("held").properties.state == "completed", "its end")


if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(stream=sys.stdout, verbosity=2))
