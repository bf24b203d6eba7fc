#!/usr/bin/env python3
"""A whole running suite is upgraded: what an old release has promised, a new one keeps, on the same folder.

    make upgrade TRACKME_OLD_BUILD=/path/to/old/.build/release TRACKME_BUILD=.build/release

Starts the old release by `trackme up`. People register, pair devices and upload without a pause; an organisation has a grant, has read its
feed up to a position, and refuses webhooks; an emergency is called for and nobody acknowledges. Then the suite is stopped, once in order
and once by kill -9, and the new release starts where it stood. Judged: every acknowledged sample is read back; the feed goes on without
a gap and nothing comes twice; the refused webhook comes once, under its id; the same emergency is called on, and once it is acknowledged
it stays so after one more start; log-ins and tokens hold; no mail comes twice. Exits with 1 where one of these does not hold.

A setting that a release does not know would keep it from starting: each gets those that its `--check-config` names.
"""
import argparse
import base64
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import desk as desk_program
import organisations
from message_peers import MailServer
from people import Person, call
from running_suite import BUILD, Suite, await_until, free_ports

OLD_BUILD = os.environ.get("TRACKME_OLD_BUILD", "") and os.path.abspath(os.environ["TRACKME_OLD_BUILD"])
SERVICES = ("consent", "ingest", "sos-dispatcher", "notifier", "thirdparty-gateway")
PATIENCE_S = 60
# A call is tried again every second, a webhook after at most 15 s; nothing that was over may come again within this time.
QUIET_S = 4
READ_BEFORE = 10
SCOPES = ["requests:read", "requests:write", "data:read", "payments:read", "payments:write", "subscriptions:manage"]


class Checks:
    """What was promised, and whether it holds."""

    def __init__(self, name):
        self.name, self.failed = name, 0

    def that(self, what, holds, found=""):
        self.failed += 0 if holds else 1
        print(f"  {'holds' if holds else 'BROKEN'}  {self.name}: {what}{'' if holds else f': {found}'}", flush=True)

    def answered(self, what, answer, status=200):
        self.that(what, answer[0] == status, f"{answer[0]} {str(answer[1])[:300]}")
        return answer[1]


def settings_known(build):
    """The settings that a release's services take, by the names of their variables."""
    found = set()
    for service in SERVICES:
        said = subprocess.run(
            [os.path.join(build, service), "--check-config"], capture_output=True, text=True, timeout=PATIENCE_S,
            env={key: value for key, value in os.environ.items() if not key.startswith("TRACKME_")}, cwd=tempfile.gettempdir()).stdout
        found |= {f"TRACKME_{line.split()[0].upper().replace('.', '_')}" for line in said.splitlines() if line.strip()}
    return found


class UpgradedSuite(Suite):
    """One folder on which one release after the other runs."""

    def __init__(self, build, settings):
        self.build = build
        super().__init__(settings, whole=True)

    def executable(self, name):
        return os.path.join(self.build, name)

    def launch(self):
        known, wanted = settings_known(self.build), self.environment
        self.environment = {key: value for key, value in wanted.items() if not key.startswith("TRACKME_") or key in known}
        try:
            super().launch()
        finally:
            self.environment = wanted

    def await_ready(self):
        await_until("the services are ready", PATIENCE_S, lambda: all(map(self._is_ready, self.urls)))

    def stop(self, how):
        if how == "kill":
            self.up.kill()  # first: it would start again what ends
            for process, _ in list(self.processes()):
                try:
                    os.kill(process, 9)
                except ProcessLookupError:
                    pass  # it has ended meanwhile
        else:
            self.up.terminate()
        self.up.wait(timeout=PATIENCE_S)
        await_until("all processes have ended", PATIENCE_S, lambda: not list(self.processes()))

    def go_on(self, build):
        self.build = build
        self.launch()
        self.await_ready()


class Listener:
    """An HTTP server on loopback that hands each body to `receive(headers, body)`, which gives status, headers and body of the answer."""

    def __init__(self, receive, port=0):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                status, headers, body = receive(self.headers, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(body))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Hook:
    """A receiver of webhooks; refuses until it `takes`."""

    def __init__(self):
        self.takes, self.refused, self.taken = False, [], []
        self.listener = Listener(self.receive)

    def receive(self, headers, body):
        message = json.loads(body)
        if message["type"] == "endpoint.verification":
            return 200, {}, message["data"]["challenge"].encode()
        (self.taken if self.takes else self.refused).append((headers["webhook-id"], message))
        return (204 if self.takes else 503), {}, b""

    def numbers(self):
        batches = [batch for _, message in list(self.taken) for batch in message["data"].get("batches", [])]
        return [item["number"] for batch in batches for item in batch["items"]]


class Desk(desk_program.Desk):
    """Hears calls and leaves them unanswered until it `acknowledges`."""

    acknowledges = False

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.heard = []

    def receive(self, headers, body):
        message = json.loads(body)
        self.heard.append((message["emergencyId"], message["msgType"]))
        return super().receive(headers, body) if self.acknowledges else (503, {}, b"")


class Wearer:
    """A person with a device; knows what was acknowledged. Entries are a second apart, the first an hour ago."""

    def __init__(self, suite):
        self.person = Person.register(suite)
        self.device, self.token = self.person.pair()
        self.suite, self.acknowledged, self.tried = suite, {}, 0
        self.start = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)

    def upload(self):
        """One entry; whether it was acknowledged."""
        at = (self.start + timedelta(seconds=self.tried)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        value = 60 + self.tried % 40
        self.tried += 1
        try:
            status, answer, _ = call(
                "POST", f"{self.suite.ingest_url}/ingest/v1/entries", {"type": "heart-rate", "at": at, "value": value}, self.token)
        except OSError:
            return False
        if status == 200 and not answer["rejected"]:
            self.acknowledged[at] = value
        return status == 200

    def upload_now(self, **entry):
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        status, answer, _ = call("POST", f"{self.suite.ingest_url}/ingest/v1/entries", entry | {"at": at}, self.token)
        assert status == 200 and not answer["rejected"], (status, answer)
        self.acknowledged |= {at: entry["value"]} if entry["type"] == "heart-rate" else {}

    def stored(self):
        found, after = {}, ""
        while after is not None:
            status, page, _ = self.person.ingest("GET", f"/ingest/v1/entries?type=heart-rate&limit=1000{after}")
            assert status == 200, (status, page)
            found |= {item["at"]: item["value"] for item in page["items"]}
            after = f"&after={page['next']}" if page.get("next") else None
        return found


class Organisation:
    """A third party with an API client, a subscription to one person, and a receiver of webhooks."""

    def __init__(self, suite, hook, wearer):
        self.suite, self.token, self.position, self.items = suite, None, 0, []
        self.member = organisations.register(suite, lambda made: suite.trackme("org", "confirm", made))
        _, self.client, _ = await_until("the API client is made", PATIENCE_S, lambda: self.made(
            "clients", {"name": "upgrade", "scopes": SCOPES}, self.member))
        self.token = self.log_in()
        self.request = self.ask(wearer)
        await_until("the request is answered", PATIENCE_S, lambda: self.accepted(wearer))
        await_until("the subscription runs", PATIENCE_S, lambda: self.api("GET", f"subscriptions/{self.request}/items?after=0")[0] == 200)
        _, endpoint, _ = await_until("the endpoint is made", PATIENCE_S, lambda: self.made("endpoints", {"url": hook.listener.url + "/"}))
        status, answer, _ = self.api("POST", f"endpoints/{endpoint['id']}/verification")
        assert status == 200, (status, answer)

    def api(self, method, path, body=None, token=None):
        return call(method, f"{self.suite.gateway_url}/thirdparty/v1/{path}", body, token or self.token)

    def made(self, path, body, token=None):
        answer = self.api("POST", path, body, token)
        return answer if answer[0] in (201, 202) else None

    def ask(self, wearer):
        """For what was measured today and will be tomorrow; the request's id."""
        now = datetime.now(timezone.utc)
        _, made, _ = await_until("the request is made", PATIENCE_S, lambda: self.made("requests", {
            "fiscalCode": wearer.person.form["fiscalCode"], "types": ["heart-rate"], "granularity": "seconds", "purpose": "Upgrades",
            "from": (now - timedelta(days=1)).isoformat(timespec="milliseconds"),
            "to": (now + timedelta(days=1)).isoformat(timespec="milliseconds")}))
        return made["request"]

    def accepted(self, wearer):
        answer = wearer.person.consent("POST", f"/consent/v1/requests/{self.request}/answer", {"answer": "accept"})
        return answer if answer[0] == 200 else None

    def log_in(self):
        pair = base64.b64encode(f"{self.client['client']}:{self.client['secret']}".encode()).decode()
        request = Request(
            f"{self.suite.gateway_url}/thirdparty/v1/oauth/token", urlencode({"grant_type": "client_credentials"}).encode(),
            {"Authorization": f"Basic {pair}", "Content-Type": "application/x-www-form-urlencoded"})
        try:
            with urlopen(request, timeout=20) as answer:
                return json.load(answer)["access_token"]
        except HTTPError as refusal:
            raise AssertionError(f"no token: {refusal.code} {refusal.read()[:300]}") from refusal

    def read_on(self, limit=1000):
        """What comes after the position; how much of the feed is known then."""
        status, page, _ = self.api("GET", f"subscriptions/{self.request}/items?after={self.position}&limit={limit}")
        if status == 200 and page["items"]:
            self.items += page["items"]
            self.position = page["items"][-1]["number"]
        return len(self.items)


def subscribe(wearer):
    """To AutomatedSOS."""
    url = f"{wearer.suite.sos_url}/sos/v1/subscription"

    def joined():
        _, known, _ = call("GET", url, token=wearer.person.access_token)
        return isinstance(known, dict) and "clauses" in known and call(
            "PUT", url, {"acceptedClauses": known["clauses"]["version"]}, wearer.person.access_token)[0] == 200
    wearer.upload_now(type="heart-rate", value=70)
    await_until("the person has joined AutomatedSOS", PATIENCE_S, joined)


class Story:
    def __init__(self, how):
        self.how, self.checks = how, Checks(f"stopped by {how}")
        self.folder = tempfile.mkdtemp(prefix="upgrade-", dir="/tmp")
        self.hook, self.suite, self.desk_server = Hook(), None, None
        self.mail = MailServer(self.folder)

    def settings(self, desk_port):
        password = os.path.join(self.folder, "smtp")
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(self.mail.PASSWORD + "\n")
        return {
            "TRACKME_SOS_WEBHOOK_URL": f"http://127.0.0.1:{desk_port}/dispatch", "TRACKME_SOS_MESSAGE_STATUS": "test",
            "TRACKME_NOTIFY_SMTP_URL": f"smtp://localhost:{self.mail.port}", "TRACKME_NOTIFY_SMTP_USER": self.mail.USER,
            "TRACKME_NOTIFY_SMTP_PASSWORD": password, "TRACKME_NOTIFY_SMTP_AUTHORITIES": self.mail.certificate,
            "TRACKME_NOTIFY_FROM": "trackme@suite.example", "TRACKME_PAY_WHEN": "free", "TRACKME_ORG_WEBHOOK_PRIVATE": "true",
            "TRACKME_ING_REQUESTS_PER_S": "1000",
        }

    def run(self):
        try:
            self.mail.start()
            desk_port = free_ports(1)[0]
            self.suite = UpgradedSuite(OLD_BUILD, self.settings(desk_port))
            self.suite.await_ready()
            self.live_with_the_old(desk_port)
            self.stop_amid_uploads()
            self.hook.takes, self.mails_before = True, len(self.mail.raw)
            self.mail.start()
            self.before = len(self.desk.heard)
            begun = time.monotonic()
            self.suite.go_on(BUILD)
            print(f"  the new release was ready after {time.monotonic() - begun:.1f} s", flush=True)
            for look in (
                    self.look_at_log_ins, self.look_at_samples, self.look_at_the_feed, self.look_at_webhooks, self.look_at_the_emergency):
                try:
                    look()
                except AssertionError as fault:
                    self.checks.that(look.__name__.replace("_", " "), False, fault)
            self.look_at_mails()
        except AssertionError as fault:
            self.checks.that("the story went on", False, fault)
        finally:
            if self.checks.failed and self.suite:
                shutil.copy(self.suite.log.name, log := os.path.join(tempfile.gettempdir(), f"upgrade-{self.how}.log"))
                print(f"  log of both releases: {log}", flush=True)
            self.close()
        return self.checks.failed

    def close(self):
        if self.suite:
            self.suite.close()
        self.hook.listener.close()
        if self.desk_server:
            self.desk_server.close()
        self.mail.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def live_with_the_old(self, desk_port):
        secret = desk_program.read(f"{self.suite.data}/keys/sos-dispatcher/webhook.secret")
        known = desk_program.Suite(secret, self.suite.sos_url, None)
        known.fetch_keys()
        self.desk = Desk(known, desk_program.Ledger(os.path.join(self.folder, "desk.jsonl")), "answer", 0)
        self.desk_server = Listener(self.desk.receive, desk_port)
        self.sharer, self.patient = Wearer(self.suite), Wearer(self.suite)
        self.organisation = Organisation(self.suite, self.hook, self.sharer)
        for _ in range(2 * READ_BEFORE):
            assert self.sharer.upload(), "an upload was refused"
        await_until("the feed is read up to a position", PATIENCE_S, lambda: self.organisation.read_on(1) >= READ_BEFORE)
        await_until("a webhook waits", PATIENCE_S, lambda: len(self.hook.refused) >= 2)
        subscribe(self.patient)
        await_until("no mail is on its way", PATIENCE_S, self.are_mails_quiet)
        self.mail.stop()
        # Of this request a mail waits.
        self.organisation.ask(self.patient)
        self.patient.upload_now(type="heart-rate", value=31)
        await_until("the emergency is called for", PATIENCE_S, lambda: self.desk.heard)
        self.emergency = self.desk.heard[0][0]

    def are_mails_quiet(self):
        before = len(self.mail.raw)
        time.sleep(2)
        return len(self.mail.raw) == before

    def stop_amid_uploads(self):
        """Somebody uploads until nobody answers any more."""
        def go_on():
            while self.sharer.upload():
                pass
        uploads = threading.Thread(target=go_on, daemon=True)
        before = len(self.sharer.acknowledged)
        uploads.start()
        await_until("uploads are acknowledged", PATIENCE_S, lambda: len(self.sharer.acknowledged) >= before + 20)
        self.suite.stop(self.how)
        uploads.join(PATIENCE_S)
        print(f"  {len(self.sharer.acknowledged)} samples acknowledged, {self.organisation.position} items read, "
              f"{len(self.hook.refused)} webhooks refused, {len(self.desk.heard)} calls, {len(self.mail.raw)} mails", flush=True)

    def look_at_log_ins(self):
        person, organisation = self.sharer.person, self.organisation
        await_until("the access token is taken", PATIENCE_S, lambda: person.consent("GET", "/consent/v1/sessions")[0] == 200)
        self.checks.answered("the access token holds at consent", person.consent("GET", "/consent/v1/sessions"))
        self.checks.answered("the access token holds at ingest", person.ingest("GET", "/ingest/v1/devices"))
        login = f"{self.suite.consent_url}/consent/v1/sessions"
        tokens = self.checks.answered(
            "the session is renewed", call("POST", f"{login}/refresh", {"refreshToken": person.refresh_token}))
        if tokens and "accessToken" in tokens:
            person.access_token, person.refresh_token = tokens["accessToken"], tokens["refreshToken"]
        self.checks.answered("the person logs in", call(
            "POST", login, {"login": person.form["email"], "password": person.password}))
        self.checks.answered("the member logs in", call(
            "POST", login, {"login": organisations.LOGIN, "password": organisations.PASSWORD}))
        self.checks.answered("the API client's token holds", organisation.api("GET", f"requests/{organisation.request}"))
        organisation.token = organisation.log_in()
        self.checks.answered("the API client gets another", organisation.api("GET", f"requests/{organisation.request}"))
        taken = [self.sharer.upload() for _ in range(READ_BEFORE)]
        self.checks.that("the device's token holds", all(taken), taken)

    def look_at_samples(self):
        for name, wearer in (("the sharer", self.sharer), ("the patient", self.patient)):
            stored = wearer.stored()
            lost = {at: value for at, value in wearer.acknowledged.items() if stored.get(at) != value}
            self.checks.that(f"all {len(wearer.acknowledged)} acknowledged samples of {name} are there", not lost, lost)

    def look_at_the_feed(self):
        organisation, expected = self.organisation, self.sharer.acknowledged

        def is_whole():
            organisation.read_on()
            return expected.keys() <= {item.get("at") for item in organisation.items}
        try:
            await_until("the feed tells everything", PATIENCE_S, is_whole)
        except AssertionError as fault:
            self.checks.that("the feed tells every sample", False, f"{fault}; {len(organisation.items)} of {len(expected)}")
        numbers = [item["number"] for item in organisation.items]
        self.checks.that("the feed has no gap and nothing twice", numbers == list(range(1, len(numbers) + 1)), numbers)
        marked = [item for item in organisation.items if not item.get("at") or "replaces" in item]
        self.checks.that("the feed tells of no loss and no correction", not marked, marked[:5])
        twice = [at for at, count in Counter(item.get("at") for item in organisation.items).items() if count > 1]
        self.checks.that("no sample is told twice", not twice, twice[:5])
        wrong = [item for item in organisation.items if expected.get(item.get("at"), item.get("value")) != item.get("value")]
        self.checks.that("the feed's values are those that were uploaded", not wrong, wrong[:5])

    def look_at_webhooks(self):
        last = self.organisation.position
        await_until("the webhooks come", PATIENCE_S, lambda: last in self.hook.numbers())
        waiting = {name for name, message in self.hook.refused if message["type"] == "subscription.items"}
        counts = Counter(name for name, _ in self.hook.taken)
        self.checks.that(
            "the refused webhook came once, under its id", waiting and all(counts[name] == 1 for name in waiting), (waiting, counts))
        self.checks.that("no webhook came twice", max(counts.values(), default=0) == 1, counts)
        numbers = self.hook.numbers()
        self.checks.that("webhooks tell every item once", sorted(numbers) == list(range(1, len(numbers) + 1)), numbers)

    def look_at_the_emergency(self):
        heard = self.desk.heard
        await_until("the emergency is called on", PATIENCE_S, lambda: len(heard) > self.before)
        self.checks.that("it is not acknowledged by itself", not self.is_acknowledged(), self.suite.trackme("sos", "list"))
        self.desk.acknowledges = True
        await_until("the acknowledgement is stored", PATIENCE_S, self.is_acknowledged)
        self.expect_quiet("it is acknowledged")
        self.checks.that("it is the same emergency", {name for name, _ in heard} == {self.emergency}, (self.emergency, set(heard)))
        self.checks.that(
            "there is one emergency", [name for name, _ in self.suite.emergencies()] == [self.emergency], self.suite.emergencies())
        self.suite.stop(self.how)
        self.suite.go_on(BUILD)
        self.expect_quiet("one more start")
        self.checks.that("it stays acknowledged", self.is_acknowledged(), self.suite.trackme("sos", "list"))

    def is_acknowledged(self):
        lines = [line for line in self.suite.trackme("sos", "list").splitlines() if self.emergency in line]
        return bool(lines) and not any("not acknowledged" in line for line in lines)

    def expect_quiet(self, after):
        """What was under way may still come."""
        time.sleep(1)
        before = len(self.desk.heard)
        time.sleep(QUIET_S)
        self.checks.that(f"no call goes out after {after}", len(self.desk.heard) == before, self.desk.heard[before:])

    def look_at_mails(self):
        whom = self.patient.person.form["email"]
        await_until("the mail that waited comes", 2 * PATIENCE_S, lambda: any(whom in to for _, to, _ in self.mail.raw[self.mails_before:]))
        await_until("no mail is on its way", PATIENCE_S, self.are_mails_quiet)
        mails = Counter((to, mail["Subject"], mail.get_body(("plain",)).get_content()) for _, to, mail in self.mail.mails)
        names = Counter(mail["Message-ID"] for _, _, mail in self.mail.mails)
        twice = [(to, subject) for (to, subject, _), count in mails.items() if count > 1]
        self.checks.that(f"none of {len(self.mail.raw)} mails came twice", not twice and max(names.values(), default=1) == 1, twice)


def main():
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--stop", choices=("clean", "kill", "both"), default="both", help="how the old release ends")
    chosen = read.parse_args()
    if not OLD_BUILD:
        print("SKIPPED: the upgrade: TRACKME_OLD_BUILD names no old release")
        return 0
    for build in (OLD_BUILD, BUILD):
        missing = [name for name in ("trackme", *SERVICES) if not os.access(os.path.join(build, name), os.X_OK)]
        if missing:
            print(f"{build} lacks {', '.join(missing)}: make build there first")
            return 1
    logging.getLogger("mail.log").setLevel(logging.ERROR)  # the mail server's own remarks
    unknown = sorted(settings_known(BUILD) - settings_known(OLD_BUILD))
    print(f"settings that only the new release knows: {', '.join(unknown) or 'none'}", flush=True)
    failed = 0
    for how in ("clean", "kill") if chosen.stop == "both" else (chosen.stop,):
        print(f"upgrade of {OLD_BUILD} to {BUILD}, stopped by {how}", flush=True)
        failed += Story(how).run()
    print("BROKEN" if failed else "HELD")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
