"""Schemathesis against the real binary, where nothing but loopback can be reached.

Jobs and workflows that it makes up call addresses that it makes up: the caller gives this process a network of its
own, so that none of them leads anywhere.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "schemathesis-drew-this-token"
SETTINGS = f"""
partitions = 2
[tokens.schemathesis]
role = "admin"
secret = "{TOKEN}"
"""
WORKFLOW = {
    "name": "orders",
    "services": {"shop": {"url": "http://127.0.0.1:9"}},
    "steps": {"order": {"call": {"service": "shop", "method": "POST", "path": "/orders", "body": ".request"}}},
}
JOB = {
    "properties": {
        "action": {"type": "http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}},
        "recurrence": {"frequency": "day", "interval": 1},
    }
}
PAUSED = {"properties": {**JOB["properties"], "state": "disabled"}}


def raise_loopback():
    """A new network has its loopback down: SIOCGIFFLAGS, then SIOCSIFFLAGS with IFF_UP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, 0x8913, name))[1]
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", flags | 1))


class Sortie:
    """The server, with data of its own; it ends, and they go, with this."""

    def __init__(self, binary, scratch):
        self.data = os.path.join(scratch, "data")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        settings = os.path.join(scratch, "sortie.toml")
        with open(settings, "w") as file:
            file.write(SETTINGS)
        self.log_path = os.path.join(scratch, "sortie.log")
        self.log = open(self.log_path, "w")
        command = [binary, "serve", "--config", settings, "--data", self.data, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if "listening on " not in line:
            sys.exit(f"sortie did not start: {line!r}; see {self.log_path}")
        self.url = line.split("listening on ")[1].strip()

    def ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")

    def prepare(self):
        """What the dictionaries of schemathesis.toml name."""
        self.ask("POST", "/v1/workflows", WORKFLOW)
        self.ask("POST", "/v1/workflows", {**WORKFLOW, "name": "doomed"})
        for run in ["run-1", "run-2"]:
            self.ask("PUT", f"/v1/workflows/orders/runs/{run}", {})
        for collection in ["c", "empty", "doomed"]:
            self.ask("PUT", f"/v1/collections/{collection}", {})
        self.ask("PUT", "/v1/collections/c/jobs/j", JOB)
        self.ask("PUT", "/v1/collections/c/jobs/paused", PAUSED)
        self.ask("PUT", "/v1/collections/c/jobs/doomed", JOB)
        for queue in ["q", "doomed"]:
            self.ask("PUT", f"/v1/queues/{queue}", {})
        for topic in ["t", "doomed-topic"]:
            self.ask("PUT", f"/v1/topics/{topic}", {})
        for subscription in ["s", "doomed"]:
            self.ask("PUT", f"/v1/topics/t/subscriptions/{subscription}", {})
        azure = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c"
        version = "?api-version=2016-03-01"
        self.ask("PUT", azure + version, {"location": "westus"})
        self.ask("PUT", f"{azure}/jobs/j{version}", JOB)

    def check_alive(self):
        """A server that has ended cannot answer wrongly any more."""
        if self.process.poll() is not None:
            sys.exit(f"sortie ended with {self.process.returncode}; see {self.log_path}")
        self.ask("GET", "/livez")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def schemathesis(settings, arguments, report):
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", os.path.join(HERE, settings), "run"]
    command += arguments + ["--report", "json", "--report-json-path", report]
    environment = {**os.environ, "SORTIE_TESTS": HERE, "SORTIE_TOKEN": TOKEN, "PYTHONDONTWRITEBYTECODE": "1"}
    code = subprocess.run(command, env=environment, cwd=os.path.dirname(report)).returncode
    with open(report) as file:
        return code, json.load(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sortie", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--azure", required=True, help="the published description of Azure Scheduler's API")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--examples", required=True)
    arguments = parser.parse_args()
    # Whoever ends this ends the server as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    raise_loopback()
    sortie = Sortie(arguments.sortie, arguments.scratch)
    draws = ["--seed", arguments.seed, "--max-examples", arguments.examples]
    # The coverage of the large description takes longer than all the rest: not where nobody asks for much.
    briefly = ["--phases", "fuzzing,stateful"] if int(arguments.examples) <= 20 else []
    runs = [
        ("native", "schemathesis.toml", [sortie.url + "/openapi.json", *draws]),
        ("azure", "azure.toml", [arguments.azure, "--url", sortie.url, *draws, *briefly]),
    ]
    failed = []
    try:
        sortie.prepare()
        for name, settings, words in runs:
            code, report = schemathesis(settings, words, os.path.join(arguments.scratch, f"{name}.json"))
            sortie.check_alive()
            cases = report["test_cases"]
            found = f"{cases['unique_failures']} failures, {cases['errored']} errors" if code else "nothing found"
            print(f"schemathesis {name}: {cases['generated']} requests, {found}", flush=True)
            if code:
                failed.append(name)
    finally:
        sortie.stop()
    if failed:
        sys.exit(f"schemathesis found something in: {', '.join(failed)} (seed {arguments.seed})")


if __name__ == "__main__":
    main()
