"""What a third party can do with groups: organisations in numbers, requests, entries. It knows HTTP and public tables, and nothing else."""
import base64
import http.client
import json
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from urllib.parse import quote, urlsplit

import organisations
from people import call
from running_suite import await_until

GROUPS = "/thirdparty/v1/group-requests"
CATALOGUE = "/thirdparty/v1/group-catalogue"
PROBLEM = "urn:trackme:problem:group-not-anonymisable"
SCOPES = ["requests:read", "requests:write", "data:read", "payments:read", "payments:write"]
FEW, SIMILAR, EXHAUSTED = "TOO_FEW_INDIVIDUALS", "TOO_SIMILAR_TO_EARLIER_REQUEST", "PRIVACY_BUDGET_EXHAUSTED"
MOST_REFUSED = 256
ANSWER_S = 120


def until_answered(work, seconds=ANSWER_S):
    """Again while what is killed or busy does not answer; its last fault where it never does."""
    end = time.monotonic() + seconds
    while True:
        try:
            return work()
        except (AssertionError, OSError, http.client.HTTPException):
            if time.monotonic() > end:
                raise
        time.sleep(0.1)


def rfc3339(hour):
    """Of an hour since 1970."""
    return datetime.fromtimestamp(hour * 3600, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def hour_of(text):
    """Since 1970; of RFC 3339, or milliseconds."""
    if isinstance(text, (int, float)):
        return int(text) // 3_600_000
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) // 3600


def vat_number(number):
    """Eleven digits of which the last checks the others."""
    digits = [int(digit) for digit in f"{number % 10**10:010}"]
    total = sum(digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(digits))
    return "IT" + "".join(map(str, digits)) + str(-total % 10)


class Entry:
    """One entry, by the names of the wire; values in thousandths of the unit, as many as the type has components."""

    __slots__ = ("id", "type", "first", "last", "classes", "values", "place", "is_rest", "individuals", "count_error", "value_errors")

    def __init__(self, read):
        self.id, self.type = read.get("id"), read["type"]
        self.first, self.last = hour_of(read["from"]), hour_of(read["to"])
        self.classes = tuple(sorted((read.get("classes") or {}).items()))
        self.values = tuple(map(self.thousandths, read.get("values") or ()))
        place = read.get("place")
        self.place = json.dumps(place, sort_keys=True) if isinstance(place, dict) else place
        self.is_rest, self.individuals = read.get("isRest"), read["individuals"]
        self.count_error = read.get("countError")
        self.value_errors = tuple(map(self.thousandths, read.get("valueErrors") or ()))

    @staticmethod
    def thousandths(value):
        """The least thing that can be said is 30 units, the most 400: what is above that are thousandths already."""
        return round(value * 1000) if abs(value) < 1000 else round(value)

    @property
    def table(self):
        return self.type, self.first, self.last

    @property
    def content(self):
        """All that must be the same for everybody; the handle and the order are each organisation's own."""
        return self.type, self.first, self.last, self.classes, self.values, self.place, self.is_rest, self.individuals


def entries_of(pages):
    """What `raw_entries` gave, read."""
    found = []
    for page in map(json.loads, pages):
        found += [Entry(read) for read in page.get("items", page.get("entries", []))]
    return found


def by_table(entries):
    found = {}
    for entry in entries:
        found.setdefault(entry.table, []).append(entry)
    return found


def by_class(entries):
    found = {}
    for entry in entries:
        found.setdefault(entry.classes, []).append(entry)
    return found


class Answer:
    """To one request for a group."""

    def __init__(self, organisation, body, status, content, took):
        self.organisation, self.body, self.status, self.content, self.took = organisation, body, status, content, took
        try:
            self.json = json.loads(content) if content else {}
        except ValueError:
            self.json = {}
        self.release = self.json.get("release") if self.is_admitted else None
        self.id = self.json.get("id")
        self.reason = self.json.get("reason")

    @property
    def is_admitted(self):
        return self.status in (200, 201)

    @property
    def is_refused(self):
        return self.status == 422 and self.json.get("type") == PROBLEM

    @property
    def outcome(self):
        """All that an attacker learns but the content of a release."""
        return "ADMITTED" if self.is_admitted else self.reason or str(self.status)

    def entries(self):
        return self.organisation.entries(self.id)


class Organisation:
    """Registered, confirmed, with a program of its own. Safe to use from several threads."""

    def __init__(self, attacker, number):
        self.attacker, self.suite, self.number = attacker, attacker.suite, number
        self.local, self.lock, self.token = threading.local(), threading.Lock(), None
        suite, mail = self.suite, f"attacker.{number}@example.org"
        form = organisations.registration_form(suite) | {
            "businessName": f"Attacker {number}", "vatNumber": vat_number(1_000_000 + number), "email": mail, "emailAgain": mail}
        status, made, _ = call("POST", f"{suite.gateway_url}/thirdparty/v1/organisations", form)
        assert status == 201, (status, made)
        self.id = made["organisation"]
        suite.trackme("org", "confirm", self.id)
        status, tokens, _ = call(
            "POST", f"{suite.consent_url}/consent/v1/sessions", {"login": mail, "password": organisations.PASSWORD})
        assert status == 200, (status, tokens)

        def client():
            status, made, _ = call(
                "POST", f"{suite.gateway_url}/thirdparty/v1/clients", {"name": "attack", "scopes": SCOPES}, tokens["accessToken"])
            return made if status == 201 else None
        made = await_until("the gateway knows the log-in", 20, client)
        self.credentials = base64.b64encode(f"{made['client']}:{made['secret']}".encode()).decode()
        self.renew()

    def renew(self):
        status, content, _ = self.send(
            "POST", "/thirdparty/v1/oauth/token", b"grant_type=client_credentials",
            {"Authorization": f"Basic {self.credentials}", "Content-Type": "application/x-www-form-urlencoded"})
        assert status == 200, (status, content)
        self.token = json.loads(content)["access_token"]

    def send(self, method, path, body=None, headers=None):
        """Status, bytes and seconds of one exchange; everything that comes is kept for the hunt for canaries."""
        for is_last in (False, True):
            wire = getattr(self.local, "wire", None)
            if not wire:
                address = urlsplit(self.suite.gateway_url)
                wire = self.local.wire = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
            try:
                begun = time.perf_counter()
                wire.request(method, path, body, headers or {})
                answer = wire.getresponse()
                content = answer.read()
                took = time.perf_counter() - begun
                break
            except (OSError, http.client.HTTPException):
                self.local.wire = None
                wire.close()
                if is_last:
                    raise
        self.attacker.transcript.write(answer.getheaders(), content)
        return answer.status, content, took

    def call(self, method, path, body=None, key=None):
        """`key`: under which the same may be sent again, as after 503."""
        for _ in range(20):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            if key:
                headers["Idempotency-Key"] = key
            status, content, took = self.send(method, path, body, headers)
            if status == 401:
                with self.lock:
                    self.renew()
            elif status in (429, 503):
                time.sleep(1)
            else:
                break
        return status, content, took

    def ask(self, body, key=None):
        """`body`: as it is typed, or its bytes. `key`: where the same may have been sent before."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, answer, took = self.call("POST", GROUPS, content, key or secrets.token_hex(16))
        if status not in (200, 201, 422):
            raise AssertionError(f"{status} to {content[:400]!r}: {answer[:400]!r}")
        judged = Answer(self, body, status, answer, took)
        if status == 422 and not judged.is_refused:
            raise AssertionError(f"the form was refused, not the group: {content[:400]!r}: {answer[:400]!r}")
        return judged

    def raw_entries(self, request, window=None):
        """The pages' bytes, in order. `window`: of a subscription, its number."""
        pages, after = [], None
        while True:
            path = f"{GROUPS}/{request}/entries?limit=2000" + (f"&window={window}" if window else "") + (f"&after={quote(after)}" if after else "")
            status, content, _ = self.call("GET", path)
            assert status == 200, (status, content[:400])
            pages.append(content)
            after = json.loads(content).get("next")
            if not after:
                return pages

    def entries(self, request):
        return entries_of(self.raw_entries(request))

    def windows(self, request):
        """Those of a subscription that were told, in their order."""
        found, after = [], "0"
        while after:
            status, content, _ = self.call("GET", f"{GROUPS}/{request}/windows?after={quote(after)}")
            assert status == 200, (status, content[:400])
            page = json.loads(content)
            found += page["items"]
            after = page.get("next")
        return found


class Transcript:
    """Everything that was said to the attacker, on disk."""

    def __init__(self, path):
        self.path, self.lock, self.answers = path, threading.Lock(), 0
        self.file = open(path, "wb")

    def write(self, fields, content):
        with self.lock:
            self.answers += 1
            self.file.write(repr(fields).encode() + b"\n" + content + b"\n")

    def close(self):
        self.file.close()


class Attacker:
    """Makes organisations as they are needed, and asks many things at a time."""

    THREADS = 4

    def __init__(self, suite, transcript):
        self.suite, self.transcript, self.count, self.lock = suite, Transcript(transcript), 0, threading.Lock()
        self.made = []

    def organisation(self):
        with self.lock:
            self.count += 1
            number = self.count
        made = Organisation(self, number)
        self.made.append(made)
        return made

    def organisations(self, count):
        return list(self.together(lambda _: self.organisation(), range(count)))

    def together(self, work, things):
        with ThreadPoolExecutor(self.THREADS) as pool:
            return list(pool.map(work, things))

    def catalogue(self, organisation):
        status, content, _ = organisation.call("GET", CATALOGUE)
        assert status == 200, (status, content[:400])
        return json.loads(content)


def form(filters, types, hours, granularity, attributes=None, product=None, minimum=None):
    """`hours`: since 1970, from and to."""
    body = {"filters": filters, "types": list(types), "from": rfc3339(hours[0]), "to": rfc3339(hours[1]), "granularity": granularity}
    for name, value in (("attributes", attributes), ("product", product), ("minIndividuals", minimum)):
        if value is not None:
            body[name] = value
    return body
