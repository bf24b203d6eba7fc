#!/usr/bin/env python3
"""A standing stranger: everything that a stranger can send over HTTP, against a whole running suite, while hearts fail.

Reads every service's OpenAPI document. First, in quiet, each route is sent hostile bodies one by one, on the direct ports, and the
processor time of refusing them is measured. Then strangers send bodies, heads, framing, slowness and counts while each five seconds a
subscriber's heart becomes critical and a ledger keeps what was acknowledged.

Judged: each call acknowledged within 5 s of the first try of its upload; no process ended or started again; no acknowledged entry
lost; each refused body at most 200 µs and 2 µs a byte, as it is after inflating; no request smuggled; nobody answered with another
5xx than 501, 503, 505 and 507, nor with a 429 without Retry-After: refusing a stranger is right, falling over is not. Exits with 1 on any breach.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import threading
import time
from datetime import datetime, timezone
from urllib.request import Request, urlopen

import desk as desk_program
import hostile_requests as hostile
from people import Person
from running_suite import BUILD, RunningSuite, Suite, free_ports

HEART_EVERY_S = 5
ACKNOWLEDGED_WITHIN_S = 5
REFUSED_NS, BYTE_NS = 200_000, 2_000
# What a short refused body may cost in a release on two quiet cores; a debug build is judged by three times how much slower it is.
USUAL_NS = 100_000
IS_RELEASE = BUILD.endswith("release")
STRANGERS = 4
# Refusals that say "later", and what HTTP has for methods and versions that nobody knows; every other 5xx is a fault.
RIGHT_5XX = {501, 503, 505, 507}
# Each has an address of its own, as strangers and devices have.
HEARTS_ADDRESS, STRANGERS_ADDRESS = "127.0.0.9", "127.0.1.{}"


def processor_ns(process):
    """Of all its threads; exact, unlike the ticks of /proc/<pid>/stat."""
    total = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass  # it has ended
    return total


class Breaches:
    def __init__(self):
        self.lines = []

    def note(self, kind, text):
        self.lines.append((kind, text))


class Refusals:
    """The quiet phase: what each refused body costs the service that refuses it."""

    def __init__(self, processes, tokens, breaches):
        self.processes, self.tokens, self.breaches = processes, tokens, breaches
        self.idle, self.slowness, self.measured, self.put_off, self.worst = {}, {}, 0, 0, []

    def fields(self, operation, kind, *further):
        token = self.tokens["device" if "device" in operation.schemes else "person"]
        return [f"Content-Type: {kind}", f"Authorization: Bearer {token}", *further]

    def calibrate(self, operations):
        for service, process in self.processes.items():
            before, begun = processor_ns(process), time.monotonic()
            time.sleep(0.5)
            self.idle[service] = (processor_ns(process) - before) / (time.monotonic() - begun)
            # A release is held to the figures themselves.
            plain = [one for one in operations if one.service == service and one.content and one.properties][:5]
            costs = sorted(self.cost(one, b'{"x":1}', one.content[0], [], 10)[0] for one in plain)
            self.slowness[service] = 1.0 if IS_RELEASE else max(1.0, 3 * costs[len(costs) // 2] / USUAL_NS)

    def cost(self, operation, content, kind, further, count):
        """Nanoseconds of one of `count` requests, and the status of the last."""
        process = self.processes[operation.service]
        before, begun, wire, status = processor_ns(process), time.monotonic(), None, 0
        for _ in range(count):
            wire = wire or hostile.Wire(operation.url)
            try:
                status, goes_on = wire.request(operation.method, operation.path, self.fields(operation, kind, *further), content)
            except OSError:
                goes_on = False
            if not goes_on:
                wire.close()
                wire = None
        if wire:
            wire.close()
        spent = processor_ns(process) - before - self.idle[operation.service] * (time.monotonic() - begun)
        return max(0, spent) / count, status

    def measure(self, operation, name, content, inflated, further=()):
        kind = operation.content[0] if operation.content else "application/json"
        most = (REFUSED_NS + BYTE_NS * inflated) * self.slowness[operation.service]
        cost, status = self.cost(operation, content, kind, further, 3)
        if status in (429, 503):
            # A caller who asked for too much before is told to wait, and nobody has looked at the body.
            time.sleep(1)
            cost, status = self.cost(operation, content, kind, further, 3)
            if status in (429, 503):
                self.put_off += 1
                return
        # Something else may have been at work in the same moment: what counts is the least of several tries.
        for count in (5, 10, 20):
            if status < 400 or cost <= most:
                break
            cost = min(cost, self.cost(operation, content, kind, further, count)[0])
        self.measured += 1
        if status < 400:
            return
        self.worst = sorted([*self.worst, (cost / most, cost, inflated, operation.template, name)], reverse=True)[:8]
        if cost > most:
            self.breaches.note("processor time", f"{operation.template}: {name}, {inflated} bytes: {cost / 1000:.0f} µs, {most / 1000:.0f} allowed")

    def run(self, operations, seconds):
        """Every route at least once; then at random until the time is over."""
        self.calibrate(operations)
        until = time.monotonic() + seconds
        cases = [(operation, *case) for operation in operations if operation.content for case in operation.bodies(20_000)]
        random.shuffle(cases)
        first = {id(case[0]): case for case in cases}
        for operation, name, content in [*first.values(), *cases]:
            if time.monotonic() > until:
                break
            self.measure(operation, name, content, len(content))
        for operation in first.values():
            if time.monotonic() > until + seconds / 4:
                break
            self.measure(operation[0], "gzip 1:1000", hostile.zipped(1_000_000), 1_000_000, ["Content-Encoding: gzip"])


# MARK: The loud phase, in processes of its own


class Stranger:
    """Sends one kind after the other until the time is over."""

    def __init__(self, number, operations, through, tokens, until):
        """`through`: the edge's address or nil, and the share of what goes there."""
        self.operations, (self.edge, self.share), self.tokens, self.until = operations, through, tokens, until
        self.address, self.faults = STRANGERS_ADDRESS.format(number + 1), set()
        self.kinds = [self.bodies, self.slow, self.torn, self.packed, self.heads, self.connections, self.wrong_tokens, self.streams]
        self.sent = 0

    def left(self, seconds):
        return min(self.until, time.monotonic() + seconds)

    def url(self, operation):
        return self.edge if self.edge and random.random() < self.share else operation.url

    def wire(self, operation, timeout=5):
        return hostile.Wire(self.url(operation), timeout, source=self.address)

    def judge(self, what, wire, status):
        if status >= 500 and status not in RIGHT_5XX:
            self.faults.add(f"{what}: {status}")
        if status == 429 and not wire.retry_after:
            self.faults.add(f"{what}: 429 without Retry-After")

    def run(self):
        os.nice(10)  # a stranger's own machine would not take time from the suite's
        random.shuffle(self.kinds)
        while time.monotonic() < self.until:
            for kind in self.kinds:
                try:
                    kind(self.left(4))
                except (OSError, ValueError):
                    pass  # refused: that is what ought to happen

    def bodies(self, until):
        while time.monotonic() < until:
            operation = random.choice(self.operations)
            name = random.choice(list(hostile.BODIES))
            fields = ["Content-Type: " + (operation.content or ["application/json"])[0], f"Authorization: Bearer {random.choice(list(self.tokens.values()))}"]
            try:
                with self.wire(operation) as wire:
                    status, _ = wire.request(operation.method, operation.path, fields, hostile.body(name, random.choice([500, 20_000, 900_000])))
                    self.judge(f"{operation.template}: {name}", wire, status)
            except OSError:
                pass
            self.sent += 1

    def packed(self, until):
        bomb = hostile.zipped(1_000_000)
        while time.monotonic() < until:
            operation = random.choice(self.operations)
            try:
                with self.wire(operation) as wire:
                    status, _ = wire.request(operation.method, operation.path, ["Content-Type: application/json", "Content-Encoding: gzip"], bomb)
                    self.judge(f"{operation.template}: gzip 1:1000", wire, status)
            except OSError:
                pass
            self.sent += 1

    def many(self, count, begin, until, again=None):
        """Opens so many connections that have each sent something, and holds them."""
        wires = []
        try:
            for _ in range(count):
                if time.monotonic() > until:
                    break
                operation = random.choice(self.operations)
                try:
                    wire = self.wire(operation, timeout=1)
                    wire.send(begin(wire, operation))
                    wires.append(wire)
                except OSError:
                    continue
                self.sent += 1
            while time.monotonic() < until and again:
                for wire in wires:
                    try:
                        wire.send(again)
                    except OSError:
                        pass
                time.sleep(0.5)
        finally:
            for wire in wires:
                wire.close()

    def slow(self, until):
        self.many(300, lambda wire, one: wire.head(one.method, one.path, "Content-Type: application/json", "Content-Length: 100000"), until, b" ")

    def torn(self, until):
        while time.monotonic() < until:
            self.many(50, lambda wire, one: wire.head(one.method, one.path, "Content-Type: application/json", "Content-Length: 100000") + b'{"a":', until)

    def heads(self, until):
        while time.monotonic() < until:
            operation = random.choice(self.operations)
            for head in hostile.heads("localhost", operation.path):
                try:
                    with self.wire(operation, timeout=1) as wire:
                        wire.send(head)
                        self.judge(f"head {head[:40]!r}", wire, wire.answer()[0])
                except (OSError, ValueError, IndexError):
                    pass
                self.sent += 1

    def connections(self, until):
        self.many(1500, lambda wire, one: b"GET /", until, b"x")

    def wrong_tokens(self, until):
        while time.monotonic() < until:
            operation = random.choice([one for one in self.operations if one.schemes])
            token = "".join(random.choices("abcdefghijklmnop.", k=60))
            try:
                with self.wire(operation) as wire:
                    for _ in range(50):
                        if not wire.request(operation.method, operation.path, [f"Authorization: Bearer {token}"], b"")[1]:
                            break
                        self.sent += 1
            except OSError:
                pass

    def streams(self, until):
        endless = [one for one in self.operations if one.method == "GET" and one.path.endswith("/events")]

        def begin(wire, _):
            operation = random.choice(endless)
            token = self.tokens["device" if "device" in operation.schemes else "person"]
            return wire.head("GET", operation.path, f"Authorization: Bearer {token}")
        self.many(300, begin, until)


def stranger(number, seed, operations, through, tokens, until, faults):
    """A process of its own."""
    random.seed(seed + number)
    one = Stranger(number, operations, through, tokens, until)
    one.run()
    faults.put(sorted(one.faults)[:100])


# MARK: What must hold meanwhile


class RecordingDesk(desk_program.Desk):
    """Remembers when it has acknowledged which call; the value that set it off is each heart's own."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.acknowledged = {}

    def receive(self, headers, body):
        answer = super().receive(headers, body)
        message = json.loads(body) if answer[0] == 200 else {}
        if message.get("msgType") == "alert":
            self.acknowledged.setdefault(round(message["trigger"]["threshold"]["value"], 2), time.monotonic())
        return answer


class Hearts:
    """Simulated devices: one that is always well, and one after the other that measures a critical heart."""

    def __init__(self, suite, addresses, count):
        self.suite, self.addresses = suite, addresses
        self.people, self.ledger, self.first_tries, self.lock, self.threads = {}, [], {}, threading.Lock(), []
        self.steady, *self.failing = [self.device(is_subscribed=number > 0) for number in range(count + 1)]

    def device(self, is_subscribed):
        added = json.loads(self.suite.trackme("device", "add", "--interval", "1s", "--json"))
        if is_subscribed:
            self.suite.trackme("sos", "subscribe", added["person"], "--accept-clauses")
        self.people[added["token"]] = added["person"]
        return added["token"]

    def upload(self, token, value, until):
        """Tries until it is acknowledged, as devices do: here and there in turn, a second each."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = json.dumps({"type": "heart-rate", "at": at, "value": value}).encode()
        fields = ["Content-Type: application/json", f"Authorization: Bearer {token}"]
        for address in self.addresses * 1000:
            if time.monotonic() > until:
                return
            try:
                with hostile.Wire(address, timeout=1, source=HEARTS_ADDRESS) as wire:
                    status, _ = wire.request("POST", "/ingest/v1/entries", fields, entry)
            except (OSError, ValueError):
                continue
            if status == 200:
                with self.lock:
                    self.ledger.append((token, at, value))
                return
            time.sleep(0.1)

    def fail(self, token, value):
        self.first_tries[value] = (token, time.time(), begun := time.monotonic())
        for beat in range(4):
            self.upload(token, value, begun + 20)
            time.sleep(max(0, begun + beat + 1 - time.monotonic()))

    def spawn(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def run(self, until):
        def steady():
            while time.monotonic() < until:
                self.upload(self.steady, 70, until)
                time.sleep(1)
        self.spawn(steady)
        for number, token in enumerate(self.failing):
            if time.monotonic() > until - HEART_EVERY_S:
                break
            self.spawn(self.fail, token, round(150 + number / 100, 2))
            time.sleep(HEART_EVERY_S)

    def lost(self):
        """Acknowledged entries that cannot be read back."""
        lost = []
        for token in {entry[0] for entry in self.ledger}:
            request = Request(f"{self.suite.ingest_url}/ingest/v1/entries?type=heart-rate&limit=1000", headers={"Authorization": f"Bearer {token}"})
            with urlopen(request, timeout=20) as answer:
                stored = {(item["at"], item["value"]) for item in json.load(answer)["items"]}
            lost += [entry for entry in self.ledger if entry[0] == token and (entry[1], entry[2]) not in stored]
        return lost


def check_framing(operations, edge, breaches):
    """X18: on the direct ports 400 and the end of the connection; nowhere a second answer."""
    strict = ("no Host", "two Hosts", "gzip, chunked", "empty Transfer-Encoding")
    chosen = {one.service: one for one in operations if one.content and not one.schemes}
    if edge and hostile.speaks_h2(edge):
        breaches.note("framing", "the edge speaks HTTP/2, of which it bounds neither resets nor the time of a body")
    targets = [(service, one.url, one) for service, one in chosen.items()] + ([("edge", edge, next(iter(chosen.values())))] if edge else [])
    for service, url, operation in targets:
        for name, request in hostile.framings(url.split("://")[1], operation.path).items():
            got, is_closed = b"", False
            with hostile.Wire(url, timeout=4) as wire:  # a service lingers two seconds, so that its sender reads the answer
                try:
                    wire.send(request)
                    while piece := wire.socket.recv(65536):
                        got += piece
                    is_closed = True
                except TimeoutError:
                    pass
                except OSError:
                    is_closed = True
            if got.count(b"HTTP/1.1 ") > 1:
                breaches.note("framing", f"{service}: {name}: the body was taken for a request")
            if service != "edge" and name in strict and not (got.startswith(b"HTTP/1.1 400") and is_closed):
                breaches.note("framing", f"{service}: {name}: {got[:12].decode(errors='replace') or 'nothing'}{'' if is_closed else ', and left open'}")


def documents(suite):
    for url, prefix in suite.documents():
        with urlopen(f"{url}/{prefix}/openapi.json", timeout=5) as answer:
            yield prefix, url, json.load(answer)


def processes(suite):
    """Those that listen on each service's port, by the prefix of its paths, and all of the suite's."""
    everything = sorted((process, name) for process, name in suite.processes() if name not in ("ps",))
    found = {}
    for process, _ in everything:
        with open(f"/proc/{process}/environ", "rb") as file:
            environment = file.read().split(b"\0")
        for url, prefix in suite.documents():
            if b"TRACKME_HTTP_PORT=%s" % url.rsplit(":", 1)[1].encode() in environment:
                found[prefix] = process
    return found, everything


def acknowledgements(suite):
    """By person, as the suite's own list says: when the latest call was acknowledged, by this machine's clock."""
    found = {}
    for line in suite.trackme("sos", "list", "--limit", "1000").splitlines():
        if read := re.match(r"emg_\w+ +(per_\w+) +(\S+) .*acknowledged after (\d+) ms", line):
            found.setdefault(read[1], datetime.fromisoformat(read[2]).timestamp() + int(read[3]) / 1000)
    return found


def judge(hearts, desk, suite, before, breaches):
    late, known = [], acknowledgements(suite)
    for value, (token, at, begun) in hearts.first_tries.items():
        took = known.get(hearts.people[token], float("inf")) - at
        if desk:  # A witness from outside counts for more.
            took = max(took, desk.acknowledged.get(value, float("inf")) - begun)
        late.append(took)
        if took >= ACKNOWLEDGED_WITHIN_S:
            breaches.note("call", f"the heart of {value} was acknowledged after {took:.2f} s")
    after = processes(suite)[1]
    for gone in sorted(set(before) - set(after)):
        breaches.note("process", f"{gone[1]} ended or was started again")
    lost = hearts.lost()
    for _, at, value in lost[:10]:
        breaches.note("lost", f"the entry {value} of {at} was acknowledged and is not there")
    return sorted(late), lost


def options():
    read = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  make attack-http                                     60 s against a suite of its own, directly and through its edge
  ATTACK_SECONDS=600 make attack-http                  ten minutes
  TRACKME_BUILD=.build/release make attack-http        a release, which is held to the figures themselves
  .ci/interop attack_http.py --through edge            what strangers on the Internet can do
  .ci/interop attack_http.py --data var                the suite that `trackme up` runs here, with its own emergency desk

A suite that is attacked gets new devices, and hearts of nobody fail in it: its emergency service is called for each. Never --data of one
that serves people.""")
    read.add_argument("--seconds", type=int, default=int(os.environ.get("ATTACK_SECONDS", "60")), help="of the attack; ATTACK_SECONDS, else 60")
    read.add_argument("--seed", type=int, default=int(os.environ.get("ATTACK_SEED", str(random.randrange(1 << 30)))),
                      help="repeats a run, as far as real processes do; ATTACK_SEED, else by chance")
    read.add_argument("--through", choices=("both", "edge", "direct"), default="both", help="where strangers and devices come in")
    read.add_argument("--data", metavar="FOLDER", help="of a suite that runs on this machine already, under the same user; else one is started")
    return read.parse_args()


def main():
    chosen = options()
    random.seed(chosen.seed)
    if chosen.data:
        suite = RunningSuite(chosen.data)
        sys.exit(attack(suite, None, suite.edge_url if chosen.through != "direct" else None, chosen))
    has_edge = chosen.through != "direct"
    if has_edge and not shutil.which("caddy"):
        sys.exit("caddy is not installed: apt-get install caddy, or leave the edge out with --through direct")
    desk_port = free_ports(1)[0]
    suite = Suite({"TRACKME_SOS_WEBHOOK_URL": f"http://127.0.0.1:{desk_port}/dispatch"}, whole=True)
    try:
        suite.await_ready()
        secret = desk_program.read(f"{suite.data}/keys/sos-dispatcher/webhook.secret")
        desk = RecordingDesk(
            desk_program.Suite(secret, suite.sos_url, None), desk_program.Ledger(os.path.join(suite.folder, "desk.jsonl")), "answer", 0)
        desk.suite.fetch_keys()
        threading.Thread(target=desk_program.server(desk, "127.0.0.1", desk_port).serve_forever, daemon=True).start()
        sys.exit(attack(suite, desk, suite.edge_url if has_edge else None, chosen))
    finally:
        suite.close()


def stranger_tokens(suite, hearts):
    """Of an account and of a device of nobody; where an account has to be confirmed by mail, the device's stands for both."""
    try:
        person = Person.register(suite)
        return {"person": person.access_token, "device": person.pair()[1]}
    except AssertionError as refused:
        print(f"no account of its own ({refused}): routes of people are attacked with a device's token", flush=True)
        return {"person": hearts.steady, "device": hearts.steady}


def attack(suite, desk, edge, chosen):
    breaches = Breaches()
    addresses = {"both": [suite.ingest_url, edge or suite.ingest_url], "edge": [edge], "direct": [suite.ingest_url]}[chosen.through if edge else "direct"]
    hearts = Hearts(suite, addresses, chosen.seconds // HEART_EVERY_S)
    tokens = stranger_tokens(suite, hearts)
    by_service, before = processes(suite)
    operations = [one for prefix, url, document in documents(suite) for one in hostile.operations(document, prefix, url)]
    # What ends the stranger's own log-in comes to nothing here.
    operations = [one for one in operations if not ("DELETE" in one.method and "sessions" in one.path)]
    print(f"seed {chosen.seed}, {len(operations)} routes, {'with' if edge else 'WITHOUT'} the edge, {chosen.seconds} s", flush=True)
    refusals = Refusals(by_service, tokens, breaches)
    refusals.run(operations, chosen.seconds / 3)
    check_framing(operations, edge, breaches)
    until = time.monotonic() + chosen.seconds * 2 / 3
    context = multiprocessing.get_context("spawn")
    faults, through = context.Queue(), (edge, 1 if chosen.through == "edge" else 0.5)
    strangers = [
        context.Process(target=stranger, args=(number, chosen.seed, operations, through, tokens, until, faults), daemon=True)
        for number in range(STRANGERS)]
    for one in strangers:
        one.start()
    hearts.run(until)
    for one in strangers:
        one.join(timeout=20)
        one.kill()
    while not faults.empty():
        for text in faults.get():
            breaches.note("answer", text)
    for thread in hearts.threads:
        thread.join(timeout=25)
    late, lost = judge(hearts, desk, suite, before, breaches)
    report(refusals, hearts, late, lost, breaches)
    return 1 if breaches.lines or not late else 0


def report(refusals, hearts, late, lost, breaches):
    print(f"refused bodies measured  {refusals.measured}, put off {refusals.put_off} (slower than a release: {', '.join(f'{name} {by:.1f}' for name, by in refusals.slowness.items())})")
    for share, cost, inflated, route, name in refusals.worst:
        print(f"    {share:5.0%} of what is allowed  {cost / 1000:8.0f} µs  {inflated:8} bytes  {route}  {name}")
    print(f"calls                    {len(late)}, acknowledged after {late[len(late) // 2]:.2f} s, at worst {late[-1]:.2f} s" if late else "calls                    none")
    print(f"entries acknowledged     {len(hearts.ledger)}, lost {len(lost)}")
    for kind in sorted({kind for kind, _ in breaches.lines}):
        lines = [text for one, text in breaches.lines if one == kind]
        print(f"BREACH {kind}: {len(lines)}")
        for text in lines[:12]:
            print(f"    {text}")
    print("BROKEN" if breaches.lines else "HELD")


if __name__ == "__main__":
    main()
