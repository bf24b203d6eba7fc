#!/usr/bin/env python3
"""An emergency desk that receives the suite's dispatches: verifies, records, acknowledges.

Written from docs/integrators/dispatch.md alone, by somebody who has not seen the suite's code.

    desk.py --secret-file var/keys/sos-dispatcher/webhook.secret --sos http://127.0.0.1:8102 --ledger desk.jsonl

A message must carry both signatures: `v1`, checked with the PyPI package standardwebhooks, and `v1a`, checked with
cryptography under the key from GET /sos/v1/keys. The ledger gets one JSON line per request, on the disk before the
answer; it tells repetitions from new messages across restarts, and holds neither values nor places.

--mode answer      acknowledges in the signed answer
       call-back   answers a bare 200, and acknowledges later at /sos/v1/dispatches/<messageId>/acknowledgements
       unsigned    acknowledges in the answer without a signature: the suite must not believe it
       reject      rejects in the signed answer: the suite must go on
"""
import argparse
import base64
import hashlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote
from urllib.request import Request, urlopen

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from standardwebhooks import Webhook, WebhookVerificationError

LARGEST = 16 * 1024
MEDIA_TYPE = "application/vnd.suite.dispatch+json"
TOLERANCE_S = 300


class NotGenuine(Exception):
    pass


class Suite:
    """What this desk knows of the suite: the shared secret, the public keys, the token for calls of its own."""

    def __init__(self, secret, address, token):
        self.webhook, self.address, self.token = Webhook(secret), address, token
        self.keys = []

    def fetch_keys(self):
        with urlopen(f"{self.address}/sos/v1/keys", timeout=2) as answer:
            keys = [key["webhook"] for key in json.load(answer)["keys"]]
        self.keys = [Ed25519PublicKey.from_public_bytes(base64.b64decode(key.removeprefix("whpk_"))) for key in keys]

    def verify(self, headers, body):
        headers = {name.lower(): value for name, value in headers.items()}
        try:
            self.webhook.verify(body, headers, json_parse=False)
        except (WebhookVerificationError, ValueError) as problem:
            raise NotGenuine(f"v1: {problem}") from problem
        if abs(time.time() - int(headers["webhook-timestamp"])) > TOLERANCE_S:
            raise NotGenuine("timestamp")
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        try:
            signatures = [base64.b64decode(s[len("v1a,"):]) for s in headers["webhook-signature"].split() if s.startswith("v1a,")]
        except ValueError as problem:
            raise NotGenuine("v1a: no base64") from problem
        if not self._is_signed(signatures, content):
            try:
                self.fetch_keys()  # perhaps the suite's key is a new one
            except OSError as problem:
                raise NotGenuine(f"v1a: the suite's keys cannot be had: {problem}") from problem
            if not self._is_signed(signatures, content):
                raise NotGenuine("v1a: no signature under a key of the suite")

    def _is_signed(self, signatures, content):
        for signature in signatures:
            for key in self.keys:
                try:
                    key.verify(signature, content)
                    return True
                except InvalidSignature:
                    pass
        return False

    def acknowledge(self, message, ack):
        """The call-back; it may be sent again until it has been stored."""
        request = Request(
            f"{self.address}/sos/v1/dispatches/{quote(message, safe='')}/acknowledgements", json.dumps({"ack": ack}).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"})
        for _ in range(20):
            try:
                with urlopen(request, timeout=2) as answer:
                    return answer.status, json.load(answer)
            except OSError as problem:
                failure = problem
                time.sleep(0.5)
        return getattr(failure, "code", 0), {"failure": str(failure)}


class Ledger:
    def __init__(self, path):
        self.lock, self.ack_ids, self.known, self.settled = threading.Lock(), {}, set(), set()
        self.file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+", encoding="utf-8")
        for text in self.file:
            line = json.loads(text)
            if line["event"] == "received":
                self.known.add(line["messageId"])
                self.ack_ids[line["messageId"]] = line["ackId"]
            elif line["event"] == "called-back" and line["status"] == 200:
                self.settled.add(line["messageId"])

    def write(self, **line):
        self.file.write(json.dumps({"at": int(time.time() * 1000)} | line) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


class Desk:
    def __init__(self, suite, ledger, mode, delay, own_key=None):
        self.suite, self.ledger, self.mode, self.delay, self.own_key = suite, ledger, mode, delay, own_key
        self.calling = set()  # messages whose call-back is under way

    def receive(self, headers, body):
        """Gives status, headers and body of the answer."""
        try:
            self.suite.verify(headers, body)
            message = json.loads(body)
            if message["messageId"] != headers["webhook-id"]:
                raise NotGenuine("webhook-id is not the messageId")
        except NotGenuine as problem:
            with self.ledger.lock:
                self.ledger.write(event="refused", why=str(problem), sha256=hashlib.sha256(body).hexdigest())
            return 401, {}, b""
        name = message["messageId"]
        with self.ledger.lock:
            is_repeated = name in self.ledger.known
            self.ledger.known.add(name)
            ack_id = self.ledger.ack_ids.setdefault(name, f"{self.mode}-{secrets.token_hex(8)}")
            self.ledger.write(
                event="received", messageId=name, emergencyId=message["emergencyId"], seq=message["seq"], msgType=message["msgType"],
                status=message["status"], isRepeated=is_repeated, ackId=ack_id, sha256=hashlib.sha256(body).hexdigest(),
                v1=True, v1a=True, contentType=headers["Content-Type"])
        ack = {"messageId": name, "result": "duplicate" if is_repeated else "accepted", "ackId": ack_id}
        if self.mode == "call-back":
            with self.ledger.lock:
                is_due = name not in self.ledger.settled and name not in self.calling
                self.calling.add(name)
            if is_due:
                threading.Thread(target=self.call_back, args=(name, ack), daemon=True).start()
            return 200, {}, b""
        if self.mode == "reject":
            ack |= {"result": "rejected", "reason": "not in charge here"}
        answer = json.dumps({"ack": ack}).encode()
        return 200, {} if self.mode == "unsigned" else self.sign(ack_id, answer), answer

    def sign(self, ack_id, answer):
        now = int(time.time())
        if self.own_key:
            value = base64.b64encode(self.own_key.sign(f"{ack_id}.{now}.".encode() + answer)).decode()
            signature = f"v1a,{value}"
        else:
            signature = self.suite.webhook.sign(ack_id, datetime.fromtimestamp(now, tz=timezone.utc), answer.decode())
        return {"webhook-id": ack_id, "webhook-timestamp": str(now), "webhook-signature": signature}

    def call_back(self, message, ack):
        time.sleep(self.delay)
        status, receipt = self.suite.acknowledge(message, ack)
        with self.ledger.lock:
            self.ledger.write(event="called-back", messageId=message, ackId=ack["ackId"], status=status, receipt=receipt)
            if status == 200:
                self.ledger.settled.add(message)
            self.calling.discard(message)


def server(desk, host, port):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            if self.path != "/dispatch" or self.headers["Content-Type"] != MEDIA_TYPE or not 0 < length <= LARGEST:
                self.close_connection = True
                return self.answer(400, {}, b"")
            self.answer(*desk.receive(self.headers, self.rfile.read(length)))

        def answer(self, status, headers, body):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if body:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer((host, port), Handler)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8190, help="0 takes a free one; it is said on standard output")
    parser.add_argument("--secret-file", required=True)
    parser.add_argument("--sos", default="http://127.0.0.1:8102", help="where the suite answers")
    parser.add_argument("--token-file", help="for --mode call-back")
    parser.add_argument("--own-key-file", help="32 bytes of an Ed25519 key in base64: the answers are signed with v1a instead of v1")
    parser.add_argument("--ledger", default="desk.jsonl")
    parser.add_argument("--mode", choices=["answer", "call-back", "unsigned", "reject"], default="answer")
    parser.add_argument("--delay", type=float, default=0, help="seconds until the call-back")
    options = parser.parse_args()
    if options.mode == "call-back" and not options.token_file:
        parser.error("--mode call-back needs --token-file")
    suite = Suite(read(options.secret_file), options.sos, read(options.token_file) if options.token_file else None)
    own_key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(read(options.own_key_file))) if options.own_key_file else None
    http = server(Desk(suite, Ledger(options.ledger), options.mode, options.delay, own_key), options.host, options.port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"listening": f"http://{options.host}:{http.server_port}/dispatch"}), flush=True)
    try:
        http.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
