#!/usr/bin/env python3
"""Follows all partitions of `ingest.samples` and records each fact once and in order.

Written from docs/bus.md alone, by somebody who has not seen the suite's code.

    stream_follower.py --keys var/keys --name follower --bus var/bus --record facts.jsonl --positions positions.json

RECORD gets one JSON line per fact. POSITIONS is the JSON file that makes it exact: it holds, per stream, the epoch and
the next sequence, and how many bytes of RECORD belong to them. Both are written to the disk in this order: record,
then positions (by a rename). After a kill whatever RECORD has beyond those bytes is cut off and fetched again.

RECORD holds vital signs: both files are made readable by their owner alone.
"""
import argparse
import json
import os
import secrets
import signal
import sys
import time

import zmq

FAMILY = "ingest.samples"
HEARTBEAT = f"{FAMILY}.heartbeat"
SILENCE_S = 1.0
ANSWER_S = 0.25
PAGE = 200  # so that a page is made well within ANSWER_S on a busy machine
ATTEMPTS = 3
CONFIRM_S = 5.0
COMMIT_AFTER_FACTS = 500
DEAF_S = 1.0  # how long a lost fact keeps the heartbeats of its stream away, with --lose


class Unavailable(Exception):
    """Nobody answered, or not now: worth another try a moment later."""


class Refused(Exception):
    """A failure that no repetition changes."""


def say(**what):
    print(json.dumps(what), file=sys.stderr, flush=True)


class Connection:
    """Makes sockets with CURVE and the settings that docs/bus.md recommends."""

    def __init__(self, keys, name, publisher, stream_address, request_address):
        def public_key(peer):
            with open(os.path.join(keys, "public", f"{peer}.json"), encoding="utf-8") as file:
                return json.load(file)["key"].encode()

        self.public, self.server = public_key(name), public_key(publisher)
        with open(os.path.join(keys, name, "bus.secret"), encoding="ascii") as file:
            self.secret = file.read().strip().encode()
        self.stream_address, self.request_address = stream_address, request_address
        self.context = zmq.Context()

    def _socket(self, kind):
        socket = self.context.socket(kind)
        socket.curve_publickey, socket.curve_secretkey, socket.curve_serverkey = self.public, self.secret, self.server
        socket.reconnect_ivl, socket.reconnect_ivl_max, socket.linger = 10, 200, 0
        socket.heartbeat_ivl, socket.heartbeat_timeout, socket.rcvhwm = 200, 600, 100_000
        return socket

    def news(self):
        socket = self._socket(zmq.SUB)
        socket.subscribe(f"{FAMILY}.")
        socket.connect(self.stream_address)
        return socket

    def questions(self):
        socket = self._socket(zmq.DEALER)
        socket.connect(self.request_address)
        return socket


class Questions:
    def __init__(self, connection):
        self.connection, self.socket = connection, connection.questions()

    def ask(self, method, body):
        identity = secrets.token_hex(16)
        why = "no answer"
        for _ in range(ATTEMPTS):
            deadline = time.monotonic() + ANSWER_S
            question = {"v": 1, "id": identity, "method": method, "deadline": int((time.time() + ANSWER_S) * 1000), "trace": "", "body": body}
            try:
                self.socket.send(json.dumps(question).encode(), zmq.DONTWAIT)
            except zmq.Again:
                time.sleep(ANSWER_S)
                continue
            answer = self._answer(identity, deadline)
            if answer is None:
                continue
            if "ok" in answer:
                return answer["ok"]
            failure = answer["failure"]
            why = f"{failure['code']}: {failure['reason']}"
            if failure["code"] not in ("unavailable", "deadline", "internal"):
                raise Refused(f"{method}: {why}")
            time.sleep(0.1)
        self.socket.close()
        self.socket = self.connection.questions()
        raise Unavailable(f"{method}: {why}")

    def _answer(self, identity, deadline):
        while (left := deadline - time.monotonic()) > 0:
            if self.socket.poll(int(left * 1000) + 1):
                answer = json.loads(self.socket.recv_multipart()[-1])
                if answer["id"] == identity:
                    return answer
        return None


class Book:
    """Record and positions: what survives a kill is always a whole number of applied facts."""

    def __init__(self, record, positions):
        self.path, self.positions = positions, {}
        length, stored = 0, {}
        if os.path.exists(positions):
            with open(positions, encoding="utf-8") as file:
                stored = json.load(file)
            length, self.positions = stored["recordBytes"], {s: (p["epoch"], p["next"]) for s, p in stored["streams"].items()}
        self.is_newcomer = not stored
        self.file = os.fdopen(os.open(record, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        if self.file.seek(0, os.SEEK_END) < length:
            raise SystemExit(f"{record} is shorter than {positions} says: one of them is not the other's")
        self.file.seek(length)
        self.file.truncate()
        self.uncommitted = 0
        self.is_dirty = False

    def move(self, stream, epoch, following):
        self.positions[stream] = (epoch, following)
        self.is_dirty = True

    def apply(self, header, payload):
        line = {key: header[key] for key in ("stream", "epoch", "sequence", "type", "subject", "at")}
        self.file.write(json.dumps(line | {"payload": payload}).encode() + b"\n")
        self.uncommitted += 1
        self.move(header["stream"], header["epoch"], header["sequence"] + 1)

    def commit(self):
        if not self.is_dirty:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        content = {"recordBytes": self.file.tell(), "streams": {s: {"epoch": e, "next": n} for s, (e, n) in sorted(self.positions.items())}}
        draft = f"{self.path}.draft"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)
        self.uncommitted, self.is_dirty = 0, False


class Follower:
    def __init__(self, connection, book, from_start, lose, prints):
        self.connection, self.book, self.from_start, self.lose, self.prints = connection, book, from_start, lose, prints
        self.questions = Questions(connection)
        self.deaf_until = {}
        self.counts = {"live": 0, "replayed": 0, "gaps": 0, "tails": 0, "old": 0, "lost": 0, "reconnects": 0}
        self.is_stopped = False

    def run(self, until):
        news, heard = self.connection.news(), time.monotonic()
        confirmed = time.monotonic()
        while not self.is_stopped and time.monotonic() < until:
            if news.poll(200):
                heard = time.monotonic()
                try:
                    self.take(news.recv_multipart())
                except Unavailable as problem:
                    say(event="unavailable", detail=str(problem))
            elif time.monotonic() - heard > SILENCE_S:
                news.close()
                news, heard = self.connection.news(), time.monotonic()
                self.counts["reconnects"] += 1
                say(event="silence", detail="no heartbeat for a second: connecting again")
            if self.book.uncommitted > COMMIT_AFTER_FACTS or not news.poll(0):
                self.book.commit()
            if time.monotonic() - confirmed > CONFIRM_S:
                confirmed = time.monotonic()
                self.confirm()
        self.book.commit()
        self.confirm()
        say(event="stopped", **self.counts)

    def take(self, frames):
        if len(frames) != 3:
            raise SystemExit(f"a message of {len(frames)} frames")
        header = json.loads(frames[1])
        if header["v"] != 1:
            raise SystemExit(f"version {header['v']} is not known")
        if frames[0].decode() == HEARTBEAT:
            self.take_heartbeat(json.loads(frames[2]))
        elif header["stream"] in self.book.positions:
            self.take_fact(header, frames[2])
        # A fact before the first heartbeat: the heartbeat tells where to begin.

    def take_heartbeat(self, beat):
        if unknown := [stream for stream in beat["heads"] if stream not in self.book.positions]:
            if not self.book.is_newcomer:
                say(event="new-streams", streams=unknown)
            for stream in unknown:
                self.book.move(stream, beat["epoch"], 1 if self.from_start else beat["heads"][stream] + 1)
            self.book.commit()
            self.book.is_newcomer = False
            say(event="begun", positions={s: n for s, (_, n) in sorted(self.book.positions.items())})
        for stream, head in beat["heads"].items():
            if time.monotonic() < self.deaf_until.get(stream, 0):
                continue
            self.meet_epoch(stream, beat["epoch"])
            if self.book.positions[stream][1] <= head:
                self.counts["tails"] += 1
                self.replay(stream, head)

    def take_fact(self, header, payload):
        stream, sequence = header["stream"], header["sequence"]
        if self.lose and sequence % self.lose == 0:
            self.counts["lost"] += 1
            # The next fact is to find the gap: until it comes, heartbeats of this stream are lost too, but not for ever.
            self.deaf_until[stream] = time.monotonic() + DEAF_S
            return
        self.deaf_until.pop(stream, None)
        self.meet_epoch(stream, header["epoch"])
        if sequence > self.book.positions[stream][1]:
            self.counts["gaps"] += 1
            self.replay(stream, sequence - 1)
        epoch, following = self.book.positions[stream]
        if header["epoch"] == epoch and sequence == following:
            self.counts["live"] += 1
            self.apply(header, payload.decode())
        else:
            self.counts["old"] += 1

    def meet_epoch(self, stream, epoch):
        known, following = self.book.positions[stream]
        if known != epoch:
            say(event="new-epoch", stream=stream, was=known, now=epoch, next=following)
            self.book.move(stream, epoch, 1)

    def replay(self, stream, through):
        while (following := self.book.positions[stream][1]) <= through:
            epoch = self.book.positions[stream][0]
            page = self.questions.ask("replay-stream", {"stream": stream, "epoch": epoch, "from": following, "through": min(through, following + PAGE - 1)})
            if page["epoch"] != epoch:
                self.meet_epoch(stream, page["epoch"])
                through = page["head"]
            elif page["facts"]:
                for fact in page["facts"]:
                    if fact["header"]["sequence"] != self.book.positions[stream][1]:
                        raise SystemExit(f"{stream}: replay from {following} gave {fact['header']['sequence']}")
                    self.counts["replayed"] += 1
                    self.apply(fact["header"], fact["payload"])
                self.book.commit()
            elif page["oldest"] > following:
                say(event="gone", stream=stream, first=following, last=page["oldest"] - 1)
                self.book.move(stream, epoch, page["oldest"])
            else:
                raise Unavailable(f"{stream}: the log gave nothing from {following} through {through}, its head is {page['head']}")

    def apply(self, header, payload):
        self.book.apply(header, payload)
        if self.prints:
            print(f"{header['stream']} {header['sequence']} {header['type']} {header['subject']}", flush=True)

    def confirm(self):
        self.book.commit()
        positions = [{"stream": s, "epoch": e, "next": n} for s, (e, n) in self.book.positions.items()]
        if not positions:
            return
        try:
            self.questions.ask("confirm-positions", {"positions": positions})
        except Unavailable as problem:
            say(event="unavailable", detail=str(problem))

    def stop(self, *_):
        self.is_stopped = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", required=True, help="folder like var/keys: public/NAME.json, NAME/bus.secret, public/ingest.json")
    parser.add_argument("--name", required=True, help="the peer that this program is")
    parser.add_argument("--bus", help="folder like var/bus")
    parser.add_argument("--stream-address", help="instead of --bus, such as tcp://ingest:5711")
    parser.add_argument("--request-address", help="instead of --bus, such as tcp://ingest:5710")
    parser.add_argument("--record", required=True)
    parser.add_argument("--positions", required=True)
    parser.add_argument("--from-start", action="store_true", help="a newcomer begins with the oldest fact of the log, not with the next one")
    parser.add_argument("--print", action="store_true", dest="prints", help="say each fact on standard output, without its content")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--lose", type=int, default=0, help="throw away every so many-th fact of each stream as it arrives, to try the mend")
    options = parser.parse_args()
    bus = os.path.abspath(options.bus) if options.bus else None
    if not bus and not (options.stream_address and options.request_address):
        parser.error("give --bus, or both addresses")
    connection = Connection(
        options.keys, options.name, "ingest",
        options.stream_address or f"ipc://{bus}/{FAMILY}.stream", options.request_address or f"ipc://{bus}/ingest.requests")
    follower = Follower(connection, Book(options.record, options.positions), options.from_start, options.lose, options.prints)
    signal.signal(signal.SIGTERM, follower.stop)
    signal.signal(signal.SIGINT, follower.stop)
    try:
        follower.run(time.monotonic() + options.seconds)
    except Refused as problem:
        raise SystemExit(str(problem))


if __name__ == "__main__":
    main()
