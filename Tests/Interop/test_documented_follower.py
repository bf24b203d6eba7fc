"""Whoever has read nothing but docs/bus.md can follow the ingest stream: the page's own program against the real ingest."""
import json
import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import zmq

from running_suite import free_ports

ROOT = Path(__file__).resolve().parents[2]
INGEST = ROOT / ".build" / "debug" / "ingest"
pytestmark = pytest.mark.skipif(not INGEST.exists(), reason="there is no debug build of ingest (make test builds it)")


def eventually(what, condition, limit=30):
    """Waits for what is expected; the limit only bounds a failing test."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if (value := condition()) is not None:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {limit} s: {what}")


class Suite:
    """An ingest of its own in a short temporary folder, with two peers allowed by hand, as docs/bus.md says."""

    def __init__(self, folder):
        self.folder = folder
        self.program = folder / "follow.py"
        self.program.write_text(re.search(r"```python\n(.*?)```", (ROOT / "docs" / "bus.md").read_text(), re.S).group(1))
        # The suite's own, whose keys `trackme keys init` makes; only ingest runs.
        for peer in ("trackme", "consent", "sos-dispatcher", "notifier"):
            self.allow(peer)
        self.allow("follower", hear=["ingest.samples"], ask=[])
        self.port = free_ports(1)[0]
        self.processes = []
        self.start_ingest()

    def allow(self, name, **rights):
        public, secret = zmq.curve_keypair()
        (self.folder / "keys" / "public").mkdir(parents=True, exist_ok=True)
        (self.folder / "keys" / name).mkdir(mode=0o700)
        (self.folder / "keys" / "public" / f"{name}.json").write_text(json.dumps({"peer": name, "key": public.decode(), **rights}))
        file = self.folder / "keys" / name / "bus.secret"
        file.write_text(secret.decode() + "\n")
        file.chmod(0o600)

    def start_ingest(self):
        environment = {**os.environ, "TRACKME_BUS_KEYS": f"{self.folder}/keys", "TRACKME_BUS_DIRECTORY": f"{self.folder}/bus",
                       "TRACKME_STORE_DIRECTORY": f"{self.folder}/store", "TRACKME_HTTP_PORT": str(self.port)}
        self.ingest = self.run([INGEST], env=environment, stderr=subprocess.DEVNULL)

        def ready():
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=1).status == 200 or None
            except OSError:
                return None
        eventually("ingest is ready", ready)

    def run(self, command, **options):
        self.processes.append(subprocess.Popen(command, **options))
        return self.processes[-1]

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()

    def socket(self, kind, name, context=zmq.Context.instance()):
        def key(peer):
            return json.loads((self.folder / "keys" / "public" / f"{peer}.json").read_text())["key"].encode()
        made = context.socket(kind)
        made.linger, made.curve_publickey, made.curve_serverkey = 0, key(name), key("ingest")
        made.curve_secretkey = (self.folder / "keys" / name / "bus.secret").read_text().strip().encode()
        return made

    def add_device(self):
        question = {"v": 1, "id": secrets.token_hex(16), "method": "add-device", "deadline": int(time.time() * 1000) + 10_000,
                    "trace": "", "body": {"name": "watch", "intervalMs": 1000}}
        with self.socket(zmq.DEALER, "trackme") as asker:
            asker.connect(f"ipc://{self.folder}/bus/ingest.requests")
            asker.send(json.dumps(question).encode())
            assert asker.poll(10_000), "no answer"
            return json.loads(asker.recv_multipart()[-1])["ok"]["token"]

    def upload(self, token, at):
        body = json.dumps({"type": "heart-rate", "at": at, "value": 60 + at % 40}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

        def once():
            try:
                return urllib.request.urlopen(
                    urllib.request.Request(f"http://127.0.0.1:{self.port}/ingest/v1/entries", body, headers), timeout=5).status
            except urllib.error.HTTPError as refusal:
                assert refusal.code in (429, 503), refusal.read()
                return None
        eventually("the entry is acknowledged", once)

    def follow(self):
        bus = f"ipc://{self.folder}/bus/ingest"
        return self.run([sys.executable, self.program, f"{self.folder}/keys", "follower", f"{bus}.samples.stream", f"{bus}.requests",
                         f"{self.folder}/follow.db"], stdout=subprocess.DEVNULL)

    def query(self, sql):
        try:
            with sqlite3.connect(f"file:{self.folder}/follow.db?mode=ro", uri=True) as store:
                return store.execute(sql).fetchall()
        except sqlite3.OperationalError:  # not there yet
            return []


@pytest.fixture
def suite():
    with tempfile.TemporaryDirectory(prefix="tm-", dir="/tmp") as folder:
        made = Suite(Path(folder))
        yield made
        for process in made.processes:
            if process.poll() is None:
                made.kill(process)


def test_the_documented_follower_misses_and_repeats_nothing(suite):
    token, first = suite.add_device(), int(time.time() * 1000) - 1_000_000
    follower = suite.follow()
    eventually("the newcomer knows all sixteen streams", lambda: len(suite.query("SELECT 1 FROM position")) == 16 or None)
    expected = []

    def upload(count):
        for _ in range(count):
            expected.append(first + len(expected) * 1000)
            suite.upload(token, expected[-1])

    upload(20)
    suite.kill(follower)
    upload(20)  # nobody listens: these come by replay
    follower = suite.follow()
    upload(10)
    suite.kill(suite.ingest)
    suite.start_ingest()
    upload(20)

    def everything():
        times = [at for (at,) in suite.query("SELECT at FROM entry ORDER BY sequence, place")]
        return times if len(times) >= len(expected) else None
    assert eventually("all entries have come", everything) == expected
    assert follower.poll() is None


def test_a_stranger_hears_nothing_and_is_told_nothing(suite):
    public, secret = zmq.curve_keypair()
    question = {"v": 1, "id": "0" * 32, "method": "nothing", "deadline": int(time.time() * 1000) + 10_000, "trace": "", "body": {}}
    for kind, address in ((zmq.SUB, "ingest.samples.stream"), (zmq.DEALER, "ingest.requests")):
        with suite.socket(kind, "follower") as stranger, suite.socket(kind, "follower") as allowed:
            stranger.curve_publickey, stranger.curve_secretkey = public, secret
            for one in (stranger, allowed):
                one.connect(f"ipc://{suite.folder}/bus/{address}")
                one.subscribe("") if kind == zmq.SUB else one.send(json.dumps(question).encode())
            assert allowed.poll(10_000), "whoever is allowed is answered"
            # Heartbeats come every 50 ms and answers at once: what has not come by now never comes.
            assert not stranger.poll(1000)
