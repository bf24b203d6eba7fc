"""A desk in another language verifies dispatches, and what it acknowledges is believed, and nothing else is.

    TRACKME_BUILD=.build/debug python3 -m unittest discover -s Tests/Interop -p desk_test.py
"""
import base64
import json
import os
import time
import unittest
from datetime import datetime, timedelta, timezone
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook

import desk as desk_program
from running_suite import SuiteTestCase, await_until, free_ports, read_lines

MEDIA_TYPE = "application/vnd.suite.dispatch+json"


class SignaturesTest(unittest.TestCase):
    """The desk's own strictness, with a pair of keys made here: no suite is needed."""

    secret = "whsec_c2hhcmVkIHdpdGggdGhlIHN1aXRl"
    body = b'{"messageId":"emg_0-0"}'

    def setUp(self):
        self.key = Ed25519PrivateKey.generate()
        self.suite = desk_program.Suite(self.secret, "http://127.0.0.1:1", None)  # nobody listens there: no newer keys
        self.suite.keys = [self.key.public_key()]

    def headers(self, now=None, secret=secret, key=None):
        now = now or datetime.now(tz=timezone.utc)
        content = f"emg_0-0.{int(now.timestamp())}.".encode() + self.body
        v1a = base64.b64encode((key or self.key).sign(content)).decode()
        v1 = Webhook(secret).sign("emg_0-0", now, self.body.decode())
        return {"Webhook-Id": "emg_0-0", "Webhook-Timestamp": str(int(now.timestamp())), "Webhook-Signature": f"{v1} v1a,{v1a}"}

    def test_both_are_needed(self):
        self.suite.verify(self.headers(), self.body)
        for why, headers, body in (
            ("v1", self.headers(secret="whsec_c3RyYW5nZXI="), self.body),
            ("v1a", self.headers(key=Ed25519PrivateKey.generate()), self.body),
            ("v1", self.headers(), self.body + b" "),
            ("v1", self.headers() | {"Webhook-Id": "emg_0-1"}, self.body),
            ("v1", self.headers(now=datetime.now(tz=timezone.utc) - timedelta(minutes=6)), self.body),
        ):
            with self.assertRaisesRegex(desk_program.NotGenuine, f"^{why}:"):
                self.suite.verify(headers, body)


class DeskTest(SuiteTestCase):
    port = free_ports(1)[0]
    address = f"http://127.0.0.1:{port}/dispatch"
    settings = {"TRACKME_SOS_WEBHOOK_URL": address}

    def desk(self, mode, name="desk"):
        keys = f"{self.suite.data}/keys/sos-dispatcher"
        program = self.suite.python(
            "desk.py", "--port", str(self.port), "--secret-file", f"{keys}/webhook.secret", "--sos", self.suite.sos_url,
            "--token-file", f"{keys}/integrator.token", "--ledger", self.ledger_path(name), "--mode", mode, name=name)
        self.addCleanup(lambda: (program.kill(), program.wait()))
        return program

    def ledger_path(self, name):
        return os.path.join(self.suite.folder, f"{name}.jsonl")

    def received(self, kind):
        return [line for line in read_lines(self.ledger_path("desk")) if line["event"] == "received" and line["msgType"] == kind]

    def kill(self, program):
        program.kill()
        program.wait()

    def secret(self, name):
        with open(f"{self.suite.data}/keys/sos-dispatcher/{name}", encoding="ascii") as file:
            return file.read().strip()

    def timeline(self, emergency):
        return self.suite.get(f"/sos/v1/emergencies/{emergency}/timeline", self.secret("integrator.token"))["items"]

    def step(self, emergency, event):
        return next((step for step in self.timeline(emergency) if step["event"] == event), None)

    def test_an_emergency_from_the_call_to_the_cancellation(self):
        # A desk whose acknowledgement is not signed: the call goes on, with the same bytes.
        desk = self.desk("unsigned")
        self.suite.simulate("--people", "1", "--failing", "1", "--subscribe", "--emergency-after", "1s", "--duration", "40s", name="people")
        await_until("the call is repeated", 15, lambda: len(self.received("alert")) >= 2)
        self.kill(desk)
        alerts = self.received("alert")
        emergency = alerts[0]["emergencyId"]
        self.assertEqual({(line["messageId"], line["sha256"], line["contentType"]) for line in alerts},
                         {(f"{emergency}-0", alerts[0]["sha256"], MEDIA_TYPE)})
        self.assertEqual({(line["seq"], line["status"], line["v1"], line["v1a"]) for line in alerts}, {(0, "actual", True, True)})
        self.assertIsNone(self.step(emergency, "acknowledged"))
        self.assertIn("ignored", " ".join(step["detail"] for step in self.timeline(emergency)))

        # Started again it acknowledges in its signed answer, and the repetition ends.
        desk = self.desk("answer")
        acknowledged = await_until("the signed answer is believed", 10, lambda: self.step(emergency, "acknowledged"))
        self.assertEqual(acknowledged["actor"], "desk")
        count = len(self.received("alert"))
        time.sleep(2.5)
        self.assertEqual(len(self.received("alert")), count, "an acknowledged call was repeated")
        self.kill(desk)

        # The person is well: the cancellation is acknowledged by a call back.
        desk = self.desk("call-back")
        [(listed, person)] = self.suite.emergencies()
        self.assertEqual(listed, emergency)
        self.suite.trackme("sos", "answer", person, "fine")
        await_until("the call back is believed", 10, lambda: self.step(emergency, "cancel-acknowledged"))
        cancel = self.received("cancel")[0]
        self.assertEqual((cancel["messageId"], cancel["seq"]), (f"{emergency}-1", 1))
        [called] = [line for line in read_lines(self.ledger_path("desk")) if line["event"] == "called-back"]
        self.assertEqual((called["status"], called["receipt"]), (200, {"messageId": f"{emergency}-1", "result": "accepted"}))

        critical, dispatched = (datetime.fromisoformat(self.step(emergency, event)["at"].replace("Z", "+00:00")) for event in ("alerted", "dispatched"))
        self.assertLessEqual((dispatched - critical).total_seconds(), 5)
        self.assertEqual([line for line in read_lines(self.ledger_path("desk")) if line["event"] == "refused"], [])

    def test_what_is_not_genuine_is_refused(self):
        self.desk("answer", name="strict")
        await_until("the desk listens", 10, lambda: "listening" in self.suite.output("strict"))
        body = json.dumps({"messageId": "emg_0-0", "emergencyId": "emg_0", "seq": 0, "msgType": "alert", "status": "actual"})
        now = datetime.now(tz=timezone.utc)
        shared = Webhook(self.secret("webhook.secret")).sign("emg_0-0", now, body)
        strangers = Webhook("whsec_c3RyYW5nZXIncyBvd24gc2VjcmV0").sign("emg_0-0", now, body)
        for signature in (strangers, shared, f"{shared} v1a,{'A' * 86}==", f"{shared} v1a,no base64", "nonsense", ""):
            headers = {"Content-Type": MEDIA_TYPE, "webhook-id": "emg_0-0", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
            with self.assertRaises(HTTPError) as refusal:
                urlopen(Request(self.address, body.encode(), headers), timeout=5)
            refusal.exception.close()
            self.assertEqual(refusal.exception.code, 401, signature)
        self.assertEqual([line["event"] for line in read_lines(self.ledger_path("strict"))], ["refused"] * 6)


if __name__ == "__main__":
    unittest.main()
