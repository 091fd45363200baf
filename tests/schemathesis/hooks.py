"""What Schemathesis cannot know of our API: how a batch is written, and that cursors are not made up."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """A batch: one value per line."""
    values = value if isinstance(value, list) else [value]
    return "".join(json.dumps(each) + "\n" for each in values).encode()


def is_meant_well(case, location):
    """Whether this part of a case is meant to be valid; what is wrong on purpose stays as it is."""
    components = case.meta.components if case.meta else {}
    return all(part.mode.is_positive for place, part in components.items() if place.value == location)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A cursor is what a list has handed out. One that is drawn is refused, and has its own tests."""
    if case.query and "cursor" in case.query and is_meant_well(case, "query"):
        del case.query["cursor"]
