"""What a person's app does: registers, logs in, pairs a wearable. Standard library and the documents alone."""
import itertools
import json
import random
import urllib.error
from urllib.request import Request, urlopen

from codicefiscale import codicefiscale

_numbers = itertools.count(random.randrange(1 << 40))


def call(method, url, body=None, token=None, headers=None):
    """Status, decoded body and headers of one request; refusals are answers too."""
    request = Request(url, method=method, headers=dict(headers or {}))
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urlopen(request, timeout=120) as answer:
            status, content, fields = answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as refusal:
        status, content, fields = refusal.code, refusal.read(), refusal.headers
    try:
        return status, json.loads(content) if content else None, fields
    except ValueError:
        return status, content, fields


class Person:
    """One who has an account and is logged in."""

    password = "corretto cavallo batteria"

    def __init__(self, suite, form, person, tokens):
        self.suite, self.form, self.person = suite, form, person
        self.access_token, self.refresh_token = tokens["accessToken"], tokens["refreshToken"]

    @staticmethod
    def form(suite, **changes):
        """A form in which everything is right."""
        number = next(_numbers)
        day = f"19{40 + number % 50:02}-{1 + number // 50 % 12:02}-{1 + number // 600 % 28:02}"
        surname = "".join(random.Random(number).choices("BCDFGLMNPRSTVZ", k=3)) + "a"
        _, terms, _ = call("GET", f"{suite.consent_url}/consent/v1/terms")
        return {
            "name": "Berta", "surname": surname, "email": f"berta.{number}@example.org", "password": Person.password,
            "passwordAgain": Person.password, "birthDate": day, "cityOfBirth": "H501", "cityOfResidence": "F205",
            "fiscalCode": codicefiscale.encode(surname, "Berta", "F", day, "Roma"), "address": "Via Roma 1", "occupation": "employed",
            "weight": 61.5, "height": 162, "acceptedTerms": terms["version"], "acceptedPrivacy": terms["version"], "language": "it",
        } | changes

    @classmethod
    def register(cls, suite, **changes):
        form = cls.form(suite, **changes)
        status, made, _ = call("POST", f"{suite.consent_url}/consent/v1/accounts", form)
        assert status == 201, (status, made)
        status, tokens, _ = call(
            "POST", f"{suite.consent_url}/consent/v1/sessions", {"login": form["email"], "password": form["password"]})
        assert status == 200, (status, tokens)
        return cls(suite, form, made["person"], tokens)

    def consent(self, method, path, body=None):
        return call(method, self.suite.consent_url + path, body, self.access_token)

    def ingest(self, method, path, body=None):
        return call(method, self.suite.ingest_url + path, body, self.access_token)

    def pair(self, model="watch", kind="wearable", measures=("heart-rate", "position"), interval_ms=1000):
        """Pairs a device; its id and its token."""
        base = f"{self.suite.ingest_url}/ingest/v1/pairings"
        status, offer, _ = call("POST", base, {"model": model, "kind": kind, "measures": list(measures), "intervalMs": interval_ms})
        assert status == 201, (status, offer)
        status, paired, _ = self.ingest("POST", f"/ingest/v1/pairings/{offer['pairing']}/confirmation", {"number": offer["number"]})
        assert status == 200, (status, paired)
        status, progress, _ = call("POST", f"{base}/{offer['pairing']}/poll", {"secret": offer["secret"]})
        assert status == 200, (status, progress)
        return paired["device"], progress["token"]
