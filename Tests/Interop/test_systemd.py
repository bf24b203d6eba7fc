"""The suite under systemd: what `make install` puts where, the unit as systemd's own tools judge it, and what `trackme up` tells a watchdog."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from running_suite import BUILD, EXECUTABLES, Suite, await_until

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
ANALYZE = shutil.which("systemd-analyze")


class Watchdog:
    """As systemd listens: a datagram socket in NOTIFY_SOCKET."""

    def __init__(self, folder):
        self.path = os.path.join(tempfile.mkdtemp(dir=folder), "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.said = []

    def heard(self):
        """What came since the last call; `said` keeps it."""
        messages = []
        while True:
            try:
                messages.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                self.said.extend(messages)
                return messages

    def hears(self, message):
        self.heard()
        return message in self.said


class SystemdTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in EXECUTABLES if not os.access(Suite.executable(name), os.X_OK)]
        if missing:
            raise unittest.SkipTest(f"no {', '.join(missing)} in {BUILD}: build first, or name the folder in TRACKME_BUILD")
        cls.folder = tempfile.mkdtemp(prefix="sysd-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        subprocess.run(
            [os.path.join(ROOT, "deploy", "install"), BUILD], check=True, capture_output=True,
            env=os.environ | {"DESTDIR": cls.folder, "PREFIX": "/usr/local"})
        cls.unit = os.path.join(cls.folder, "etc/systemd/system/trackme.service")

    def test_the_installed_tool_finds_the_services_beside_it(self):
        tool = os.path.join(self.folder, "usr/local/bin/trackme")
        done = subprocess.run([tool, "doctor", "--data", os.path.join(self.folder, "data")], capture_output=True, text=True, check=False)
        self.assertNotIn("its executable is not beside trackme", done.stdout + done.stderr)
        self.assertIn("settings of ingest", done.stdout + done.stderr)

    def test_what_is_installed_carries_its_licences_and_the_manual(self):
        """Copies were handed on without licence and notices (Apache License 2.0, section 4)."""
        beside = os.path.join(self.folder, "usr/local/share/doc/trackme")
        self.assertEqual(["LICENSE", "NOTICE", "alerts.yml", "operating.md"], sorted(os.listdir(beside)))
        for name in ("LICENSE", "NOTICE"):
            with open(os.path.join(beside, name), "rb") as installed, open(os.path.join(ROOT, name), "rb") as own:
                self.assertEqual(own.read(), installed.read())

    @unittest.skipUnless(ANALYZE, "systemd-analyze is not here: apt-get install systemd")
    def test_systemd_understands_the_unit_and_calls_it_closed(self):
        with open(self.unit, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("@PREFIX@", text)
        # It looks for what the unit starts, which is not installed here.
        here = os.path.join(self.folder, "trackme.service")
        with open(here, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/local/bin/trackme", os.path.join(self.folder, "usr/local/bin/trackme"))
                       .replace("file:/usr/local", "file:" + os.path.join(self.folder, "usr/local")))
        verified = subprocess.run([ANALYZE, "verify", "--man=no", here], capture_output=True, text=True, check=False)
        complaints = [line for line in verified.stderr.splitlines() if "trackme.service" in line]
        self.assertEqual([], complaints)
        # 0 is closed, 100 open; a service without any sandboxing has 96.
        judged = subprocess.run([ANALYZE, "security", "--offline=yes", "--threshold=20", here], capture_output=True, text=True, check=False)
        self.assertEqual(0, judged.returncode, judged.stdout[-3000:] + judged.stderr)

    def test_the_supervisor_is_started_again_however_it_ended(self):
        """X21: after kill -9 of the supervisor everything ended and stayed down: systemd starts it again, always, at once and without end."""
        with open(self.unit, encoding="utf-8") as file:
            lines = {line.strip() for line in file}
        self.assertLessEqual(
            {"Type=notify", "Restart=always", "RestartSec=100ms", "StartLimitIntervalSec=0", "WatchdogSec=5s"}, lines)

    def test_a_part_that_refuses_its_settings_does_not_keep_the_suite_from_being_started(self):
        """SOS-28: one wrong setting of ingest ended the dispatchers too, and systemd left them down: it is told what runs, and what does not, by name."""
        watchdog = Watchdog(self.folder)
        suite = Suite({"NOTIFY_SOCKET": watchdog.path, "WATCHDOG_USEC": "1000000", "TRACKME_ING_REQUESTS_PER_S": "many"})
        self.addCleanup(suite.close)
        await_until("it says that it has started", 60, lambda: watchdog.hears("READY=1"))
        states = [message for message in watchdog.said if message.startswith("STATUS=")]
        self.assertEqual(1, len(states), watchdog.said)
        self.assertTrue(states[0].startswith("STATUS=WITHOUT ingest, which refuses to start: "), states)
        self.assertIn("TRACKME_ING_REQUESTS_PER_S", states[0])
        # What has started may still wait for the one that refuses, and is no less started.
        await_until("consent runs", 20, lambda: suite._is_ready(suite.consent_url))
        self.assertFalse(suite._is_ready(suite.ingest_url))
        suite.up.terminate()
        self.assertEqual(0, suite.up.wait(timeout=60), suite.tail())

    def test_where_every_part_refuses_the_suite_ends_with_78(self):
        """A wrong setting of all services is left to a person, as ever: systemd does not start it again."""
        suite = Suite({"TRACKME_BUS_TRANSPORT": "pigeon"})
        self.addCleanup(suite.close)
        self.assertEqual(78, suite.up.wait(timeout=60), suite.tail())

    def test_systemd_is_told_when_the_suite_is_ready_that_it_lives_and_that_it_stops(self):
        """X21: nothing watched the supervisor: beats of the watchdog only while the supervisor runs; a supervisor that stands still is silent, and would be replaced."""
        watchdog = Watchdog(self.folder)
        suite = Suite({"NOTIFY_SOCKET": watchdog.path, "WATCHDOG_USEC": "1000000"})
        self.addCleanup(suite.close)
        await_until("it says that it is ready", 60, lambda: watchdog.hears("READY=1"))
        self.assertTrue(all(map(suite._is_ready, suite.urls)), "it said so before the services were ready")
        watchdog.said.clear()
        await_until("it beats", 10, lambda: watchdog.hears("WATCHDOG=1"))

        suite.up.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        watchdog.heard()
        # Silence can only be seen by waiting: for twice the bound.
        time.sleep(2)
        self.assertEqual([], watchdog.heard())
        suite.up.send_signal(signal.SIGCONT)
        watchdog.said.clear()
        await_until("it beats again", 10, lambda: watchdog.hears("WATCHDOG=1"))

        suite.up.terminate()
        self.assertEqual(0, suite.up.wait(timeout=60), suite.tail())
        watchdog.heard()
        self.assertIn("STOPPING=1", watchdog.said)
        # What the services say of themselves goes to the supervisor.
        self.assertEqual({"WATCHDOG=1", "STOPPING=1"}, set(watchdog.said))


if __name__ == "__main__":
    unittest.main()
