# docs/third-parties as a stranger types it: every command of the first ten minutes, in order, against a sandbox.
import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from running_suite import HERE, Suite, await_until, free_ports

DOCUMENTS = os.path.join(HERE, "..", "..", "docs", "third-parties")
LIMIT_S = 90
UNTIL_ACCEPTED = """
for i in $(seq 60); do
    curl -sS "$TRACKME_URL/thirdparty/v1/requests/$REQUEST" -H "$AUTH" | grep -q APPROVED && break
    sleep 0.5
done
"""
STATE_OF_FILE = """jq '{state, parts}'        # until state is "done\""""
UNTIL_WRITTEN = """
for i in $(seq 60); do
    curl -sS "$TRACKME_URL/thirdparty/v1/requests/$REQUEST/files/$FILE" -H "$AUTH" | jq -e '.state == "done"' > /dev/null && break
    sleep 0.5
done
"""


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def commands(section):
    """The indented blocks that are commands; answers that are shown begin with a brace or a name of an event."""
    blocks = re.findall(r"(?:^ {4}.*\n)+", section, re.MULTILINE)
    return ["".join(line[4:] for line in block.splitlines(keepends=True)) for block in blocks
            if re.match(r" {4}(curl|cat|[A-Z]+=)", block)]


def sections():
    found = re.findall(r"^## (\d+) .*?\n(.*?)(?=^## )", read(DOCUMENTS, "README.md"), re.MULTILINE | re.DOTALL)
    return {int(number): text for number, text in found}


def documented_receiver():
    return re.search(r"```python\n(import base64.*?)```", read(DOCUMENTS, "webhooks.md"), re.DOTALL).group(1)


def bounded(line):
    """A stream ends when the reader has enough."""
    return f"timeout 5 {line.split('        #')[0]} || test $? = 124" if "curl -sSN" in line else line


class Sandbox:
    """`trackme sandbox` with a suite of its own; ends with Ctrl-C as a person ends it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sandbox-", dir="/tmp")
        self.variables, self.log = (os.path.join(self.folder, name) for name in ("sandbox.env", "sandbox.log"))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACKME_")}
        with open(self.variables, "wb") as output, open(self.log, "wb") as log:
            self.program = subprocess.Popen(
                [Suite.executable("trackme"), "sandbox", "--days", "1", "--data", os.path.join(self.folder, "var")], env=environment,
                stdout=output, stderr=log)

    def await_ready(self):
        await_until("the sandbox is ready", LIMIT_S, lambda: self.program.poll() is not None or "ready:" in self.lines())
        if self.program.poll() is not None:
            raise AssertionError(self.lines())

    def lines(self):
        return read(self.log)

    def close(self):
        if self.program.poll() is None:
            self.program.send_signal(signal.SIGINT)
        status = self.program.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)
        return status

    def bash(self, script):
        """Runs it where the person of the document sits, stopping at the first command that fails; gives what it wrote."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"source {self.variables}\n{script}"], cwd=self.folder, capture_output=True, text=True,
            timeout=LIMIT_S)
        if done.returncode:
            raise AssertionError(f"{done.returncode}\n{script}\n{done.stdout}\n{done.stderr}\n{self.lines()}")
        return done.stdout


@unittest.skipUnless(shutil.which("curl") and shutil.which("jq"), "the document's reader has curl and jq")
class TheFirstTenMinutes(unittest.TestCase):
    def test_every_command_of_the_document_works(self):
        """ORG-19: registration, client, token, quote, request, payment, pages, files with hashes, items and events, as documented."""
        sandbox = Sandbox()
        try:
            sandbox.await_ready()
            output = sandbox.bash(self.script())
        finally:
            status = sandbox.close()
        self.assertEqual(status, 0)
        marked = dict(re.findall(r"^== (\d+)\n(.*?)(?=^== |\Z)", output, re.MULTILINE | re.DOTALL))
        for section, expected in {
            "1": '"state":"unconfirmed"', "2": "link-not-valid", "3": '"secret":"tmcs_', "5": '"currency": "EUR"', "7": '"APPROVED"',
            "8": '"paid"', "9": "data-0001.csv: OK", "10": "event: item",
        }.items():
            self.assertIn(expected, marked[section], f"step {section}")

    @staticmethod
    def script():
        parts = []
        for number, text in sorted(sections().items()):
            parts.append(f"echo; echo '== {number}'")
            for command in commands(text):
                if "/verification" in command or "/endpoints" in command:
                    continue  # needs a receiver: the next test
                parts.append("\n".join(map(bounded, command.splitlines())))
            if number == 6:
                parts.append(UNTIL_ACCEPTED)
        return "\n".join(parts).replace(STATE_OF_FILE, f"{STATE_OF_FILE}\n{UNTIL_WRITTEN}", 1)

    def test_the_receiver_of_the_document_receives_and_verifies(self):
        receiver = documented_receiver()
        sandbox = Sandbox()
        program = None
        try:
            sandbox.await_ready()
            steps = sections()
            script = [command for number in (4, 5, 6) for command in commands(steps[number])]
            script.append(UNTIL_ACCEPTED)
            script += commands(steps[8])
            endpoint, verification = next(command for command in commands(steps[10]) if "/verification" in command).splitlines()
            port = free_ports(1)[0]
            script.append(endpoint.replace("https://example.org/trackme", f"http://127.0.0.1:{port}/"))
            script.append('printf "%s" "$AUTH" > auth; printf "%s" "$ENDPOINT" > endpoint')
            sandbox.bash("\n".join(script))
            secret = json.loads(read(sandbox.folder, "endpoint.json"))["secret"]
            path, received = os.path.join(sandbox.folder, "receiver.py"), os.path.join(sandbox.folder, "received.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(receiver.replace("9000", str(port)))
            with open(received, "wb") as output:
                program = subprocess.Popen([sys.executable, path, secret], stdout=output, stderr=output, cwd=sandbox.folder)
            # Not before the receiver listens.
            await_until("the endpoint is verified", 30, lambda: '"active"' in sandbox.bash(
                f"AUTH=$(cat auth); ENDPOINT=$(cat endpoint)\n{verification}"))
            await_until("items arrive", 30, lambda: read(received).count("'number'") >= 3)
            numbers = [int(number) for number in re.findall(r"'number': (\d+)", read(received))]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        finally:
            if program:
                program.kill()
                program.wait()
            sandbox.close()


class TheReceiver(unittest.TestCase):
    """The receiver of webhooks.md, fed by hand."""

    SECRET = b"a secret of the test, of any length"
    SUBSCRIPTION = "req_of_the_test"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="receiver-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.port = free_ports(1)[0]
        with open(os.path.join(self.folder, "receiver.py"), "w", encoding="utf-8") as file:
            file.write(documented_receiver().replace("9000", str(self.port)))

    def start(self):
        with open(os.path.join(self.folder, "received.txt"), "ab") as output:
            program = subprocess.Popen(
                [sys.executable, "receiver.py", "whsec_" + base64.b64encode(self.SECRET).decode()], cwd=self.folder, stdout=output,
                stderr=output)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def post(self, message, numbers):
        items = [{"number": number, "type": "heart-rate", "at": "2026-11-22T02:10:10.000Z", "value": 72} for number in numbers]
        batch = {"subscription": self.SUBSCRIPTION, "after": numbers[0] - 1, "through": numbers[-1], "head": 5, "items": items}
        body = json.dumps({"type": "subscription.items", "data": {"batches": [batch]}})
        timestamp = str(int(time.time()))
        mac = hmac.new(self.SECRET, f"{message}.{timestamp}.{body}".encode(), hashlib.sha256).digest()
        headers = {
            "webhook-id": message, "webhook-timestamp": timestamp, "webhook-signature": "v1," + base64.b64encode(mac).decode()}
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.request("POST", "/", body, headers)
            return connection.getresponse().status
        except OSError:
            return None

    def received(self):
        return [int(number) for number in re.findall(r"'number': (\d+)", read(self.folder, "received.txt"))]

    def test_a_dead_letter_that_is_sent_again_fills_its_hole(self):
        program = self.start()
        await_until("the receiver listens", 30, lambda: self.post("msg_1", [1, 2]) == 204)
        self.assertEqual(self.post("msg_3", [4, 5]), 204)
        self.assertEqual(self.post("msg_2", [3]), 204)
        self.assertEqual(self.received(), [1, 2, 4, 5, 3])
        program.kill()
        program.wait()
        self.start()
        await_until("the receiver listens again", 30, lambda: self.post("msg_2", [3]) == 204)
        self.assertEqual(self.post("msg_4", [5]), 204)
        self.assertEqual(self.received(), [1, 2, 4, 5, 3], "what was stored is known after a restart")


if __name__ == "__main__":
    unittest.main()
