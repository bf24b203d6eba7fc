"""Starts the real executables for the interop tests: a folder, keys and ports of their own, nothing shared.

The folder of the executables is TRACKME_BUILD, `.build/debug` of the repository where that is not set.
"""
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from urllib.request import Request, urlopen

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.path.join(HERE, "..", "..", os.environ.get("TRACKME_BUILD", ".build/debug")))
EXECUTABLES = ("trackme", "consent", "ingest", "sos-dispatcher", "notifier")
PREFIXES = ("consent", "ingest", "sos", "notify", "thirdparty")
LIMIT_S = 60


def free_ports(count):
    """Below those that the kernel gives to connections, so that none of these takes one before the suite listens there."""
    sockets = []
    for port in random.sample(range(12_000, 32_000), 1000):
        if len(sockets) == count:
            break
        try:
            sockets.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def await_until(what, seconds, is_true):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := is_true():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def read_lines(path):
    """The whole lines of a JSON lines file that may be growing."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


class Suite:
    """`trackme up` with every service, without the edge; stops what it has started and nothing else.

    `gateway`: with the gateway and the anonymiser, without which no erasure ends. `whole`: with the second dispatcher and the edge too.
    """

    def __init__(self, settings, origin=0, gateway=False, whole=False):
        self.folder = tempfile.mkdtemp(prefix="interop-", dir="/tmp")  # short: paths of ipc sockets have a limit
        self.data = os.path.join(self.folder, "var")
        gateway = gateway or whole
        *self.ports, self.anonymiser_port = free_ports(9 if whole else 6 if gateway else 5)
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports[:5]]
        self.consent_url, self.ingest_url, self.sos_url, self.notifier_url = self.urls[:4]
        self.gateway_url = self.urls[4] if gateway else None
        parts = [*EXECUTABLES[1:], *(["thirdparty-gateway"] if gateway else [])]
        self.has_anonymiser = gateway
        if whole:
            deputy, edge, edge_http = map(str, self.ports[5:])
            self.edge_url = f"https://127.0.0.1:{edge}"
            parts += ["sos-deputy", "edge", "--sos-deputy-port", deputy, "--edge-port", edge, "--edge-http-port", edge_http]
        if gateway:
            parts += ["--gateway-port", str(self.ports[4])]
        self.parts = parts
        self.programs = []
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACKME_")} | settings
        # There is no edge here: the origin is that of the service whose pages are looked at.
        environment.setdefault("TRACKME_HTTP_PUBLIC_ORIGIN", self.urls[origin])
        # Its entries would be in the streams whose every fact a test accounts for.
        environment.setdefault("TRACKME_SOS_CANARY", "false")
        # People register and log in at once; what confirming an address is about has tests of its own.
        environment.setdefault("TRACKME_ACC_CONFIRM_REQUIRED", "false")
        environment.setdefault("TRACKME_ACC_SECOND_FACTOR", "offered")
        self.environment, self.arguments = environment, [
            "--data", self.data, "--consent-port", str(self.ports[0]), "--ingest-port", str(self.ports[1]),
            "--sos-port", str(self.ports[2]), "--notifier-port", str(self.ports[3])]
        self.log = open(os.path.join(self.folder, "up.log"), "wb")
        self.launch()

    def launch(self):
        # An earlier release has none.
        has_anonymiser = self.has_anonymiser and os.access(self.executable("anonymiser"), os.X_OK)
        anonymiser = ["--anonymiser-port", str(self.anonymiser_port), "--only", "anonymiser"] if has_anonymiser else ["--only"]
        self.up = subprocess.Popen(
            [self.executable("trackme"), "up", *anonymiser, *self.parts, *self.arguments], env=self.environment, stdout=self.log, stderr=self.log,
            start_new_session=True)

    @staticmethod
    def executable(name):
        return os.path.join(BUILD, name)

    def await_ready(self):
        await_until("the services are ready", 20, lambda: all(map(self._is_ready, self.urls)))

    def documents(self):
        """The address of each service and the prefix of its paths."""
        return list(zip(self.urls, PREFIXES))

    def _is_ready(self, url):
        if self.up.poll() is not None:
            raise AssertionError(f"trackme up ended with {self.up.returncode}:\n{self.tail()}")
        try:
            with urlopen(f"{url}/health/ready", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def tail(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def trackme(self, *arguments):
        done = subprocess.run([self.executable("trackme"), *arguments, "--data", self.data], capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            raise AssertionError(f"trackme {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *command, name):
        """Starts a program that `close` stops; its output goes to a file in the suite's folder."""
        with open(os.path.join(self.folder, f"{name}.out"), "ab") as output:
            program = subprocess.Popen(command, stdout=output, stderr=output)
        self.programs.append(program)
        return program

    def simulate(self, *arguments, name):
        return self.start(
            self.executable("trackme"), "simulate", *arguments, "--url", self.ingest_url, "--data", self.data,
            "--state", os.path.join(self.folder, name), "--ledger", os.path.join(self.folder, f"{name}.jsonl"), name=name)

    def python(self, program, *arguments, name):
        return self.start(sys.executable, os.path.join(HERE, program), *arguments, name=name)

    def output(self, name):
        with open(os.path.join(self.folder, f"{name}.out"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def store(self, service, mode="ro"):
        """A service's store beside the service, open within a `with`; `rw` is for what takes days otherwise."""
        path = os.path.join(self.data, service, f"{service}.db")
        return contextlib.closing(sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=20))

    def rows(self, service, sql, *values):
        with self.store(service) as store:
            return store.execute(sql, values).fetchall()

    def change(self, service, sql, *values):
        with self.store(service, "rw") as store, store:
            store.execute(sql, values)

    def kill_service(self, name):
        """kill -9, as a crash; `trackme up` starts it again."""
        processes = [process for process, program in self.processes() if program == name]
        if len(processes) != 1:
            raise AssertionError(f"{name} runs {len(processes)} times")
        os.kill(processes[0], signal.SIGKILL)

    def get(self, path, token):
        with urlopen(Request(f"{self.sos_url}{path}", headers={"Authorization": f"Bearer {token}"}), timeout=2) as answer:
            return json.load(answer)

    def emergencies(self):
        """Pairs of emergency and person, newest first."""
        return re.findall(r"^(emg_\w{26})\s+(per_\w{26})", self.trackme("sos", "list"), re.MULTILINE)

    def close(self):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.wait()
        self.up.terminate()
        try:
            self.up.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        for process, _ in self.processes():
            os.kill(process, signal.SIGKILL)
        self.up.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self):
        """Process ids and names of programs of what `trackme up` has started, and of itself."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,comm="], capture_output=True, text=True, check=True).stdout
        for process, program in (line.split(maxsplit=1) for line in listed.splitlines()):
            try:
                if os.getsid(int(process)) == self.up.pid:
                    yield int(process), os.path.basename(program)
            except OSError:
                pass  # it has ended meanwhile, or is somebody else's


class RunningSuite:
    """One that somebody else has started with `trackme up` and goes on using: its folder says where it listens."""

    OPTIONS = ("--consent-port", "--ingest-port", "--sos-port", "--notifier-port", "--gateway-port")

    def __init__(self, data):
        self.data = os.path.abspath(data)
        with open(os.path.join(self.data, "ports.json"), encoding="utf-8") as file:
            ports = json.load(file)["ports"]
        self.urls = [f"http://127.0.0.1:{ports[option]}" for option in self.OPTIONS]
        self.consent_url, self.ingest_url, self.sos_url, self.notifier_url, self.gateway_url = self.urls
        self.edge_url = f"https://127.0.0.1:{ports['--edge-port']}"

    documents, executable, trackme = Suite.documents, staticmethod(Suite.executable), Suite.trackme

    def processes(self):
        """Process ids and names of programs whose environment names its folder."""
        mark = b"TRACKME_BUS_DIRECTORY=%s" % os.path.join(self.data, "bus").encode()
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/environ", "rb") as file:
                    is_own = mark in file.read().split(b"\0")
                if is_own and (name := os.path.basename(os.readlink(f"/proc/{process}/exe"))) != "trackme":
                    yield int(process), name
            except OSError:
                pass  # it has ended meanwhile, or is somebody else's


class SuiteTestCase(unittest.TestCase):
    """One suite per class; the whole class is done within its limit of seconds."""

    settings = {}
    origin = 0
    gateway = False
    limit = LIMIT_S

    @classmethod
    def setUpClass(cls):
        missing = [name for name in EXECUTABLES if not os.access(Suite.executable(name), os.X_OK)]
        if missing:
            raise unittest.SkipTest(f"no {', '.join(missing)} in {BUILD}: build first, or name the folder in TRACKME_BUILD")

        def too_long(*_):
            raise TimeoutError(f"{cls.__name__} took more than {cls.limit} s")

        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(cls.limit - 12)  # what is left is for stopping
        cls.addClassCleanup(signal.alarm, 0)
        cls.suite = Suite(cls.settings, cls.origin, cls.gateway)
        cls.addClassCleanup(cls.suite.close)
        cls.suite.await_ready()
