"""Receives messages with published client libraries, and prints each as a line of JSON.

    receive.py rabbitmq PORT QUEUE COUNT      pika
    receive.py nats URL SUBJECT COUNT         nats-py, from the stream that has the subject
    receive.py kafka SERVERS TOPIC COUNT      confluent-kafka
"""

import asyncio
import json
import sys


def show(body, **rest):
    def plain(value):
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, dict):
            return {plain(name): plain(one) for name, one in value.items()}
        return value

    rest = {name: plain(value) for name, value in rest.items() if value is not None}
    print(json.dumps({"body": body.hex(), **rest}, sort_keys=True))


def rabbitmq(port, queue, count):
    import pika

    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(port)))
    channel = connection.channel()
    for method, properties, body in channel.consume(queue, inactivity_timeout=60):
        assert method is not None, "no message for a minute"
        show(body, **{name: value for name, value in vars(properties).items()})
        channel.basic_ack(method.delivery_tag)
        if (count := count - 1) == 0:
            break
    connection.close()


def nats(url, subject, count):
    import nats

    async def receive():
        connection = await nats.connect(url)
        streams = connection.jetstream()
        consumer = await streams.pull_subscribe(subject, durable=None)
        left = count
        while left:
            for message in await consumer.fetch(left, timeout=60):
                show(message.data, headers=message.headers, subject=message.subject)
                await message.ack()
                left -= 1
        await connection.close()

    asyncio.run(receive())


def kafka(servers, topic, count):
    from confluent_kafka import Consumer

    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    while count:
        message = consumer.poll(60)
        assert message is not None, "no message for a minute"
        if message.error():
            continue
        headers = {name: value for name, value in message.headers() or []}
        key = message.key()
        show(message.value(), key=key, headers=headers)
        count -= 1
    consumer.close()


if __name__ == "__main__":
    kind, where, name, many = sys.argv[1:]
    {"rabbitmq": rabbitmq, "nats": nats, "kafka": kafka}[kind](where, name, int(many))
