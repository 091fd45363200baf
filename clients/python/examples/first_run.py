"""Starts a run of the drone delivery that `sortie dev` has ready, waits for it, and tells a queue of it.

python first_run.py, beside a `sortie dev`; SORTIE_URL names another server.
"""

import os
import time
from typing import TypeVar

import httpx
from sortie_client import Client
from sortie_client.api.messages import complete_queue_message, receive_from_queue, send_messages
from sortie_client.api.queues import put_queue
from sortie_client.api.runs import list_runs, put_run, show_run, start_run
from sortie_client.models import Problem, QueueDraft, SentMessage, SentProperties
from sortie_client.types import Unset

T = TypeVar("T")

DELIVERY = {
    "deliveryId": "delivery-python",
    "ownerId": "ann",
    "pickupLocation": "0,37.4316,-78.6569",
    "dropOffLocation": "0,37.5407,-77.4360",
    "pickupTime": "2030-05-08T20:00:00.000Z",
    "deadline": "",
    "expedited": True,
    "confirmationRequired": "None",
    "packageInfo": {"packageId": "p-1", "size": "Small", "weight": 10, "tag": "fragile"},
}


def good(answer: T | Problem | None) -> T:
    """The answer, or an exception that tells the problem: its code never changes."""
    if isinstance(answer, Problem):
        raise RuntimeError(f"{answer.code}: {answer.detail}")
    if answer is None:
        raise RuntimeError("an answer that is not described")
    return answer


def wait(client: Client, run_id: str, seconds: float) -> str:
    """Waits until a run has ended, or is parked and needs a person."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        status = good(show_run.sync(run_id, client=client)).status
        if status in ("completed", "undone", "given_up", "parked"):
            return status
        time.sleep(0.05)
    raise TimeoutError(f"run {run_id} has not ended in {seconds} s")


def main() -> None:
    url = os.environ.get("SORTIE_URL", "http://127.0.0.1:7070")
    # With a token: AuthenticatedClient(base_url=url, token="…"). Who receives waits longer than others.
    client = Client(base_url=url, timeout=httpx.Timeout(90))

    # The id makes it safe to hand it in twice: the second time shows the run that there is.
    run_id = "delivery-python"
    good(put_run.sync("drone-delivery", run_id, client=client, body=DELIVERY))
    print(f"{run_id} is {wait(client, run_id, 60)}")

    page = good(list_runs.sync(client=client, status="completed", limit=10))
    for each in page.items:
        print(f"completed: {each.id}")

    refused = start_run.sync("drone-delivry", client=client, body=DELIVERY)
    if not isinstance(refused, Problem) or refused.code != "unknown_workflow":
        raise RuntimeError(f"a workflow that nobody applied: {refused}")
    print(f"refused: {refused.detail}")

    good(put_queue.sync("delivered-python", client=client, body=QueueDraft(lock="30s")))
    message = SentMessage(body=run_id, broker_properties=SentProperties(message_id=run_id, label="done"))
    sent = send_messages.sync_detailed("delivered-python", client=client, body=[message])
    if sent.status_code != 201:
        raise RuntimeError(f"not sent: {sent.parsed}")
    for received in good(receive_from_queue.sync("delivered-python", client=client, max_=10, timeout=30)):
        known = received.broker_properties
        print(f"message {known.message_id}: {received.body}")
        if isinstance(known.lock_token, Unset):
            raise RuntimeError("a message that is received has a lock")
        done = complete_queue_message.sync_detailed(
            "delivered-python", known.sequence_number, known.lock_token, client=client
        )
        if done.status_code != 200:
            raise RuntimeError(f"not completed: {done.parsed}")


if __name__ == "__main__":
    main()
