"""Qpid Proton, driven by lines of JSON: one request a line on stdin, one answer a line on stdout.

Every connection has one session, and all links of a connection are in it.
"""

import hashlib
import json
import sys
import uuid

from proton import (
    Array,
    Condition,
    Delivery,
    Described,
    Message,
    UNDESCRIBED,
    Data,
    byte,
    char,
    decimal32,
    decimal64,
    decimal128,
    float32,
    int32,
    short,
    symbol,
    timestamp,
    ubyte,
    uint,
    ulong,
    ushort,
)
from proton.reactor import AtMostOnce, Filter
from proton.utils import BlockingConnection

TIMEOUT = 60

STATES = {
    "accepted": Delivery.ACCEPTED,
    "rejected": Delivery.REJECTED,
    "released": Delivery.RELEASED,
    "modified": Delivery.MODIFIED,
}

# A value of every type of AMQP.
VALUES = {
    "null": None,
    "true": True,
    "false": False,
    "ubyte": ubyte(200),
    "byte": byte(-100),
    "ushort": ushort(60000),
    "short": short(-30000),
    "uint": uint(4000000000),
    "int": int32(-2000000000),
    "ulong": ulong(2**64 - 1),
    "long": -(2**63),
    "small long": 7,
    "float": float32(0.5),
    "double": 0.1,
    "decimal32": decimal32(77),
    "decimal64": decimal64(77777),
    "decimal128": decimal128(bytes(range(16))),
    "char": char("ü"),
    "timestamp": timestamp(1767225600123),
    "early timestamp": timestamp(-1),
    "uuid": uuid.UUID("01234567-89ab-cdef-0123-456789abcdef"),
    "binary": bytes([0, 1, 254, 255]),
    "string": "text with ü and 🚀",
    "symbol": symbol("a:symbol"),
}

BODIES = {
    "binary": (True, b"\x00\x01\xff"),
    "string": (False, "text"),
    "null": (False, None),
    "list": (False, [1, "two", [True, None], {"three": ulong(3)}]),
    "map": (False, {"a": ubyte(1), 2: symbol("b"), uuid.UUID(int=3): -1.5}),
    "sequence": (True, [ulong(1), symbol("two"), ["three"]]),
    "array": (False, Array(UNDESCRIBED, Data.INT, int32(1), int32(-2))),
    "described": (False, Described(symbol("own:type"), ["content"])),
    "ulong": (False, ulong(2**63)),
}

connections = {}
links = {}
deliveries = {}


def connect(request):
    options = {}
    for name in ("user", "password", "allowed_mechs", "max_frame_size"):
        if request.get(name) is not None:
            options[name] = request[name]
    connections[request["name"]] = BlockingConnection(
        "amqp://127.0.0.1:%d" % request["port"], timeout=TIMEOUT, reconnect=False, **options
    )


def disconnect(request):
    connections.pop(request["name"]).close()


def sender(request):
    connection = connections[request["connection"]]
    links[request["name"]] = connection.create_sender(request["address"], name=request["name"])
    return {"maxMessageSize": links[request["name"]].link.remote_max_message_size}


def receiver(request):
    connection = connections[request["connection"]]
    options = []
    if request.get("settled"):
        options.append(AtMostOnce())
    if "session" in request:
        options.append(Filter({symbol("com.microsoft:session-filter"): request["session"]}))
    # With a credit of its own, Proton would renew it by itself.
    made = connection.create_receiver(
        request["address"], credit=0, name=request["name"], options=options
    )
    if request.get("credit"):
        made.link.flow(request["credit"])
    links[request["name"]] = made
    granted = made.link.remote_source.filter
    granted.rewind()
    shown = dict(granted.get_dict()) if granted.next() else {}
    return {"session": shown.get(symbol("com.microsoft:session-filter"))}


def close(request):
    links.pop(request["name"]).close()


def message_of(request):
    message = Message()
    for name in ("id", "subject", "durable", "priority", "ttl", "correlation_id", "group_id"):
        if name in request:
            setattr(message, name, request[name])
    if "size" in request:
        message.inferred = True
        message.body = pattern(request["size"])
    elif "body" in request:
        message.inferred, message.body = BODIES[request["body"]]
    else:
        message.body = request.get("text")
    if request.get("types"):
        message.properties = VALUES
    return message


def pattern(size):
    """Bytes that repeat nowhere near, so that no frame can be taken for another."""
    block = b"".join(hashlib.sha256(b"%d" % index).digest() for index in range(size // 32 + 1))
    return block[:size]


def send(request):
    link = links[request["name"]]
    message = message_of(request)
    connection = connections[request["connection"]]
    delivery = link.link.send(message)
    if request.get("settled"):
        delivery.settle()
        return {"sent": shown(message)}
    connection.wait(lambda: delivery.settled, msg="settlement")
    state = next((name for name, state in STATES.items() if state == delivery.remote_state), None)
    condition = delivery.remote.condition
    delivery.settle()
    return {
        "sent": shown(message),
        "state": state,
        "condition": condition.name if condition else None,
    }


def flow(request):
    links[request["name"]].link.flow(request["credit"])


def receive(request):
    link = links[request["name"]]
    connection = connections[request["connection"]]
    if request.get("drain"):
        link.link.drain(request["drain"])
        # Also until all that came before the answer was handed on.
        connection.wait(
            lambda: not link.link.draining() and link.link.queued == 0, msg="drain"
        )
        messages = []
        while link.fetcher.has_message:
            messages.append(taken(link))
        return messages
    messages = []
    for _ in range(request["count"]):
        connection.wait(lambda: link.fetcher.has_message, msg="message")
        messages.append(taken(link))
    return messages


def taken(link):
    message, delivery = link.fetcher.incoming.popleft()
    if not delivery.settled:
        deliveries[str(message.annotations["x-opt-sequence-number"])] = delivery
    annotations = message.annotations or {}
    return {
        **shown(message),
        "number": annotations.get("x-opt-sequence-number"),
        "settled": delivery.settled,
        "annotations": sorted(str(name) for name in annotations),
    }


def shown(message):
    body = message.body
    return {
        "id": message.id,
        "subject": message.subject,
        "durable": message.durable,
        "priority": message.priority,
        "ttl": message.ttl,
        "deliveryCount": message.delivery_count,
        "properties": described(message.properties),
        "text": body if isinstance(body, str) else None,
        "size": len(body) if isinstance(body, (bytes, str)) else None,
        "body": hashlib.sha256(body).hexdigest() if isinstance(body, bytes) else described(body),
        "isInferred": message.inferred,
    }


def described(value):
    """With the types, which equality in Python would not tell apart."""
    if isinstance(value, dict):
        pairs = sorted((described(key), described(item)) for key, item in value.items())
        return "{%s}" % ", ".join("%s: %s" % pair for pair in pairs)
    if isinstance(value, list) and not isinstance(value, Array):
        return "[%s]" % ", ".join(described(item) for item in value)
    return "%s %r" % (type(value).__name__, value)


def settle(request):
    delivery = deliveries.pop(str(request["number"]))
    connection = connections[request["connection"]]
    state = request["state"]
    if "annotations" in request:
        delivery.local.annotations = {symbol(k): v for k, v in request["annotations"].items()}
    if request.get("undeliverable"):
        delivery.local.undeliverable = True
    if request.get("failed"):
        delivery.local.failed = True
    if "condition" in request:
        delivery.local.condition = Condition(request["condition"], request.get("description"))
    delivery.update(STATES[state])
    if request.get("at_once"):
        delivery.settle()
        connection.wait(lambda: True, msg="write")
        return None
    connection.wait(lambda: delivery.settled, msg="settlement")
    answer = next((name for name, one in STATES.items() if one == delivery.remote_state), None)
    condition = delivery.remote.condition
    delivery.settle()
    return {"state": answer, "condition": condition.name if condition else None}


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        connect,
        disconnect,
        sender,
        receiver,
        close,
        send,
        flow,
        receive,
        settle,
    )
}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": OPERATIONS[request.pop("operation")](request)}
        except Exception as error:  # Every failure is an answer.
            answer = {
                "error": {
                    "kind": type(error).__name__,
                    "text": str(error),
                    "condition": getattr(error, "condition", None),
                }
            }
        print(json.dumps(answer), flush=True)


main()
