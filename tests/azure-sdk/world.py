"""A client of the published SDK, a target that jobs call, and how to wait."""

import http.server
import os
import threading
import time
import unittest
import uuid

from azure.core.credentials import AccessToken
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.scheduler import SchedulerManagementClient, models

ADDRESS = os.environ["SORTIE_URL"]
SUBSCRIPTION = "00000000-0000-0000-0000-0000000000aa"


class Credential:
    """What the client wants to have; `Plain` below is what it then uses."""

    def get_token(self, *_scopes, **_options):
        return AccessToken("unused", 1 << 40)


class Plain(SansIOHTTPPolicy):
    """The client's own policy refuses to send a token without TLS. The rest of the pipeline is its own."""

    def on_request(self, request):
        request.http_request.headers["Authorization"] = "Bearer unused"


class Target(http.server.ThreadingHTTPServer):
    """Answers 200 to /ok and 500 to all else, and remembers what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def asked_at(self, path):
        return [asked for asked in self.asked if asked["path"] == path]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = {"path": self.path, "method": self.command, "headers": self.headers, "body": body.decode()}
        self.server.asked.append(asked)
        text = b"done" if self.path.startswith("/ok") else b"broken"
        self.send_response(200 if text == b"done" else 500)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_arguments):
        """Nothing: the tests say what they saw."""


class SdkTest(unittest.TestCase):
    """Every test has a client and a resource group of its own."""

    @classmethod
    def setUpClass(cls):
        cls.target = Target()

    @classmethod
    def tearDownClass(cls):
        cls.target.shutdown()
        cls.target.server_close()

    def setUp(self):
        self.answers = []
        self.group = f"rg-{uuid.uuid4().hex[:12]}"
        self.client = self.connect()

    def tearDown(self):
        for collection in list(self.client.job_collections.list_by_resource_group(self.group)):
            self.client.job_collections.begin_delete(self.group, collection.name).result()
        self.client.close()

    def connect(self, **options):
        return SchedulerManagementClient(
            Credential(),
            SUBSCRIPTION,
            base_url=ADDRESS,
            authentication_policy=Plain(),
            retry_total=0,
            polling_interval=0,
            raw_response_hook=lambda answer: self.answers.append(answer.http_response),
            **options,
        )

    def last(self):
        """The newest answer as it was on the wire."""
        return self.answers[-1]

    def collection(self, name="jc", sku="Standard", quota=None, state=None):
        properties = models.JobCollectionProperties(sku=models.Sku(name=sku), quota=quota, state=state)
        wanted = models.JobCollectionDefinition(location="westus", properties=properties)
        return self.client.job_collections.create_or_update(self.group, name, wanted)

    def put(self, name, action, collection="jc", **properties):
        wanted = models.JobDefinition(properties=models.JobProperties(action=action, **properties))
        return self.client.jobs.create_or_update(self.group, collection, name, wanted)

    def patch(self, name, collection="jc", **properties):
        wanted = models.JobDefinition(properties=models.JobProperties(**properties))
        return self.client.jobs.patch(self.group, collection, name, wanted)

    def job(self, name):
        return self.client.jobs.get(self.group, "jc", name)

    def history(self, name, **options):
        return list(self.client.jobs.list_job_history(self.group, "jc", name, **options))

    def jobs(self, **options):
        return sorted(job.name.split("/")[1] for job in self.client.jobs.list(self.group, "jc", **options))

    def wait(self, look, what):
        """Looks until there is something to see."""
        # Far more than anything here takes, on a machine however slow.
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            seen = look()
            if seen:
                return seen
            time.sleep(0.1)
        raise AssertionError(f"waited in vain for {what}")


def call(uri, method="GET", authentication=None, retry_policy=None, error_action=None, **request):
    """An action that calls."""
    request = models.HttpRequest(uri=uri, method=method, authentication=authentication, **request)
    return models.JobAction(type="Http", request=request, retry_policy=retry_policy, error_action=error_action)


def never():
    """A retry policy that does not try again."""
    return models.RetryPolicy(retry_type="None")
