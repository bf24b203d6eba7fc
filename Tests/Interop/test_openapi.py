"""schemathesis, given nothing but each service's OpenAPI document: no 5xx, no undocumented status, no answer outside its schema.

Seconds for each document: TRACKME_SCHEMATHESIS_S (10 unless told; the full measure is 60).
"""
import json
import os
import subprocess
import sys
import unittest
from urllib.request import urlopen

from people import Person
from running_suite import SuiteTestCase

SECONDS = os.environ.get("TRACKME_SCHEMATHESIS_S", "10")
# Ends the log-in that the others need; told apart so that they come last.
ENDS_SESSIONS = "^delete.*Sessions|^putConsentV1Password"
# Not being ready is a 503 by design.
READINESS = "/health/ready"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


class OpenAPITests(SuiteTestCase):
    limit = 60 + 6 * (int(SECONDS) + 20)

    def explore(self, url, prefix, headers, *selection):
        document = f"{url}/{prefix}/openapi.json"
        with urlopen(document, timeout=5) as answer:
            self.assertTrue(json.load(answer)["openapi"].startswith("3.1."))
        arguments = [
            os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "schemathesis"), "run", document, "--url", url, "--checks", CHECKS,
            "--phases", "examples,coverage,fuzzing", "--max-time", SECONDS, "--seed", "1", "--request-timeout", "10",
            "--continue-on-failure", "--no-color", "--suppress-health-check", "all", "--exclude-path", READINESS, *selection,
        ]
        for name, value in headers.items():
            arguments += ["--header", f"{name}: {value}"]
        environment = os.environ | {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
        done = subprocess.run(
            arguments, capture_output=True, text=True, timeout=int(SECONDS) * 3 + 60, env=environment, cwd=self.suite.folder)
        self.assertEqual(0, done.returncode, done.stdout[-6000:] + done.stderr[-1000:])

    def test_no_surprises(self):
        """The documents of all services hold for whoever takes them at their word."""
        person = Person.register(self.suite)
        bearer = {"Authorization": f"Bearer {person.access_token}"}
        for url, prefix in self.suite.documents():
            with self.subTest(prefix):
                self.explore(url, prefix, bearer, "--exclude-operation-id-regex", ENDS_SESSIONS)
        with self.subTest("sessions"):
            self.explore(self.suite.consent_url, "consent", bearer, "--include-operation-id-regex", ENDS_SESSIONS)


if __name__ == "__main__":
    unittest.main()
