"""What Schemathesis cannot know of our API: how batches are written, that cursors are not made up, who is kept waiting."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """A batch: one value per line."""
    values = value if isinstance(value, list) else [value]
    return "".join(json.dumps(each) + "\n" for each in values).encode()


@schemathesis.serializer("application/vnd.microsoft.servicebus.json")
def messages(context, value):
    """Several messages: JSON under a name of its own."""
    return json.dumps(value).encode()


@schemathesis.deserializer("application/vnd.microsoft.servicebus.json")
def read_messages(context, response):
    return json.loads(response.content)


def is_meant_well(case, location):
    """Whether this part of a case is meant to be valid; what is wrong on purpose stays as it is."""
    components = case.meta.components if case.meta else {}
    return all(part.mode.is_positive for place, part in components.items() if place.value == location)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A cursor is what a list has handed out. One that is drawn is refused, and has its own tests.

    Whoever receives from an empty queue waits for as long as he says, or a minute.
    """
    if case.operation.path.endswith("/messages/head") and is_meant_well(case, "query"):
        case.query = {**(case.query or {}), "timeout": 0}
    if case.query and "cursor" in case.query and is_meant_well(case, "query"):
        del case.query["cursor"]
