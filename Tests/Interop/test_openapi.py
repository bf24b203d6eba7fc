"""schemathesis, given nothing but each service's OpenAPI document: no 5xx, no undocumented status, no answer outside its schema.

Seconds for each document: TRACKME_SCHEMATHESIS_S (10 unless told; the full measure is 120). One document alone, by hand:

    TRACKME_SCHEMATHESIS_S=120 .build/venv/bin/python -m pytest -q Tests/Interop/test_openapi.py -k gateway
"""
import compileall
import json
import os
import re
import subprocess
import sys
import unittest
from datetime import datetime, timedelta, timezone
from urllib.request import urlopen

import organisations
from people import Person, call
from running_suite import SuiteTestCase, await_until

SECONDS = int(os.environ.get("TRACKME_SCHEMATHESIS_S", "10"))
# Ends the log-in that the others need; told apart so that they come last.
ENDS_SESSIONS = "^logOut|^changePassword$"
# Of the gateway: what ends the objects that the others are about comes last.
ENDS_OBJECTS = "^delete|^cancelPaymentAttempt$|^endRequest$"
# Goes on for as long as somebody listens who may.
ENDLESS = "^streamRequests$"
# Not being ready is a 503 by design.
READINESS = "/health/ready"
CHECKS = ",".join([
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance",
])


def explore(case, url, prefix, headers, *selection, objects=None):
    document = f"{url}/{prefix}/openapi.json"
    with urlopen(document, timeout=5) as answer:
        case.assertTrue(json.load(answer)["openapi"].startswith("3.1."))
    arguments = [
        os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "schemathesis"), "run", document, "--url", url, "--checks", CHECKS,
        "--phases", "examples,coverage,fuzzing", "--max-time", str(SECONDS), "--seed", "1", "--request-timeout", "30",
        "--continue-on-failure", "--no-color", "--suppress-health-check", "all", "--exclude-path", READINESS, *selection,
    ]
    for name, value in headers.items():
        arguments += ["--header", f"{name}: {value}"]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)),
        "TRACKME_SCHEMATHESIS_OBJECTS": json.dumps(objects or {})}
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=SECONDS * 3 + 60, env=environment, cwd=case.suite.folder)
    case.assertEqual(0, done.returncode, done.stdout[-6000:] + done.stderr[-1000:])


# Bodies that are no JSON and no form: the generator knows them as bytes.
AS_BYTES = ["application/x-ndjson", "application/cap+xml", "application/gpx+xml", "text/csv"]


class GeneratedClientTests(SuiteTestCase):
    """openapi-python-client takes every document without a warning, and its methods are called as the operations are."""

    gateway = True
    limit = 150

    def test_clients(self):
        config = os.path.join(self.suite.folder, "client.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"post_hooks": [], "content_type_overrides": {kind: "application/octet-stream" for kind in AS_BYTES}}, file)
        tool = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "openapi-python-client")
        for url, prefix in self.suite.documents():
            with self.subTest(prefix):
                address = f"{url}/{prefix}/openapi.json"
                with urlopen(address, timeout=5) as answer:
                    operations = [one for path in json.load(answer)["paths"].values() for one in path.values()]
                folder = os.path.join(self.suite.folder, f"client-{prefix}")
                done = subprocess.run(
                    [tool, "generate", "--url", address, "--output-path", folder, "--meta", "none", "--config", config,
                     "--fail-on-warning"], capture_output=True, text=True, timeout=100)
                self.assertEqual(0, done.returncode, done.stdout[-4000:] + done.stderr[-1000:])
                self.assertTrue(compileall.compile_dir(folder, quiet=2))
                methods = {name[:-3] for _, _, files in os.walk(os.path.join(folder, "api")) for name in files if name.endswith(".py")}
                for operation in operations:
                    self.assertEqual(1, len(operation["tags"]))
                    flat = operation["operationId"].lower()
                    self.assertTrue(any(re.sub("_", "", method) == flat for method in methods), operation["operationId"])


class OpenAPITests(SuiteTestCase):
    limit = 60 + 6 * (SECONDS + 20)

    def test_no_surprises(self):
        """The documents of the people's services hold for whoever takes them at their word."""
        person = Person.register(self.suite)
        bearer = {"Authorization": f"Bearer {person.access_token}"}
        for url, prefix in self.suite.documents():
            with self.subTest(prefix):
                explore(self, url, prefix, bearer, "--exclude-operation-id-regex", ENDS_SESSIONS)
        with self.subTest("sessions"):
            explore(self, self.suite.consent_url, "consent", bearer, "--include-operation-id-regex", ENDS_SESSIONS)


class GatewayOpenAPITests(SuiteTestCase):
    """As an organisation with one of everything: a request that was accepted and paid, a file, a list, an invoice, a member, …"""

    gateway = True
    # Limits of calls are proved elsewhere; play money pays.
    settings = {
        "TRACKME_PAY_SANDBOX": "true", "TRACKME_ORG_CALLS_PER_MINUTE": "10000000", "TRACKME_ORG_CALLS_PER_DAY": "100000000",
        "TRACKME_ORG_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_SHR_UNKNOWN_PER_DAY": "1000000",
    }
    limit = 90 + 4 * (SECONDS + 20)

    def api(self, method, path, body=None):
        status, answer, _ = call(method, f"{self.suite.gateway_url}/thirdparty/v1/{path}", body, self.token)
        self.assertLess(status, 300, (path, answer))
        return answer

    def one_of_everything(self):
        """The ids, by the names that the document's paths give them."""
        person = Person.register(self.suite)
        _, device = person.pair()
        now = datetime.now(timezone.utc)
        entries = [{"type": "heart-rate", "value": 60 + n, "at": (now - timedelta(minutes=9 - n)).isoformat()} for n in range(9)]
        status, answer, _ = call("POST", f"{self.suite.ingest_url}/ingest/v1/entries", entries, device)
        self.assertEqual(status, 200, answer)
        form = {"types": ["heart-rate"], "from": (now - timedelta(days=1)).isoformat(), "length": "P1M", "granularity": "seconds",
                "purpose": "Trying out the interface"}
        request = self.api("POST", "requests", form | {"fiscalCode": person.form["fiscalCode"]})["request"]
        status, answered, _ = person.consent("POST", f"/consent/v1/requests/{request}/answer", {"answer": "accept"})
        self.assertEqual(status, 200, answered)
        payment = await_until("the amount is due", 20, lambda: next(
            (item["payment"] for item in self.api("GET", f"payments?request={request}")["items"] if item["status"] == "due"), None))
        invoice = self.api("POST", f"payments/{payment}/attempts", {})["invoice"]
        file = self.api("POST", f"requests/{request}/files", {"format": "csv"})["file"]
        await_until("the file is written", 20, lambda: self.api("GET", f"requests/{request}/files/{file}")["state"] == "done")
        return {
            "request": request, "subscription": request, "payment": payment, "invoice": invoice, "file": file, "part": "data-0001.csv",
            "list": self.api("POST", "requests/lists", form | {"fiscalCodes": [Person.form(self.suite)["fiscalCode"]]})["list"],
            "client": self.api("POST", "clients", {"name": "nightly", "scopes": ["data:read"]})["client"],
            "member": self.api("POST", "members", {"email": "giulia@example.org", "role": "analyst"})["member"],
            "endpoint": self.api("POST", "endpoints", {"url": "https://example.org/trackme"})["id"],
        }

    def test_no_surprises_at_the_gateway(self):
        """ORG-19: the third parties' document holds, also for objects that exist."""
        with open(os.path.join(self.suite.folder, "prices.json"), "w", encoding="utf-8") as file:
            json.dump({"currency": "EUR", "perRequest": 500, "usual": {"seconds": 20, "minutes": 10, "hours": 5}, "types": {},
                       "rebates": [], "taxBasisPoints": 2200}, file)
        self.suite.trackme("prices", "set", file.name)
        self.token = organisations.register(self.suite, lambda organisation: self.suite.trackme("org", "confirm", organisation))
        objects = self.one_of_everything()
        bearer = {"Authorization": f"Bearer {self.token}"}
        url = self.suite.gateway_url
        with self.subTest("everything that goes on"):
            explore(self, url, "thirdparty", bearer, "--exclude-operation-id-regex", f"{ENDS_OBJECTS}|{ENDLESS}", objects=objects)
        with self.subTest("endless events, by nobody"):
            explore(self, url, "thirdparty", {}, "--include-operation-id-regex", ENDLESS)
        with self.subTest("what ends something"):
            explore(self, url, "thirdparty", bearer, "--include-operation-id-regex", ENDS_OBJECTS, objects=objects)


if __name__ == "__main__":
    unittest.main()
