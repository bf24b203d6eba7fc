"""One's own data as strangers read them: fhir.resources takes the Bundles, gpxpy the tracks, and what went out comes in again.

The recordings are those of TEST_DATA (../shared/data unless told); without them the tests are skipped.
"""
import csv
import hashlib
import json
import os
import unittest
from urllib.request import Request, urlopen

import gpxpy
from fhir.resources.R4B.bundle import Bundle

from people import Person, call
from running_suite import SuiteTestCase, await_until

DATA = os.environ.get("TEST_DATA", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data"))
VITALS = {
    "HR_bpm": "heart-rate", "ABPSys_mmHg": "blood-pressure-max", "ABPDias_mmHg": "blood-pressure-min", "RESP_pm": "respiration-rate",
    "SpO2_%": "oxygen-saturation",
}


def rows(name):
    with open(os.path.join(DATA, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


PRESSURES = [column for column, metric in VITALS.items() if metric in ("blood-pressure-max", "blood-pressure-min")]


def vitals():
    for row in rows("icu-vitals-32h.csv"):
        for column, metric in VITALS.items():
            if row[column] and float(row[column]) > 0:
                yield {"type": metric, "at": row["time"], "value": float(row[column])}


def run():
    for row in rows("run-lisbon-2017.csv"):
        yield {"type": "heart-rate", "at": row["time"], "value": float(row["heart_rate_bpm"])}
        if row["latitude"]:
            yield {
                "type": "position", "at": row["time"], "latitude": float(row["latitude"]), "longitude": float(row["longitude"]),
                "altitude": float(row["altitude_m"]),
            }


@unittest.skipUnless(os.path.exists(os.path.join(DATA, "icu-vitals-32h.csv")), f"no recordings in {DATA}")
class ExportTests(SuiteTestCase):
    limit = 300
    settings = {"TRACKME_MYD_EXPORTS_PER_DAY": "20", "TRACKME_MYD_EXPORT_FILE_MIB": "1", "TRACKME_ING_REQUESTS_PER_S": "1000"}

    def upload(self, entries, token):
        entries = list(entries)
        for start in range(0, len(entries), 5000):
            status, answer, _ = call(
                "POST", f"{self.suite.ingest_url}/ingest/v1/entries", {"entries": entries[start:start + 5000]}, token)
            self.assertEqual((200, []), (status, answer["rejected"]))
        return len(entries)

    def fetch(self, person, path):
        request = Request(self.suite.ingest_url + path, headers={"Authorization": f"Bearer {person.access_token}"})
        with urlopen(request, timeout=20) as answer:
            return answer.read()

    def export(self, person, format):
        """The manifest and the files, each with the hash that the manifest tells."""
        status, job, _ = person.ingest("POST", "/ingest/v1/exports", {"format": format})
        self.assertEqual(202, status, job)
        path = f"/ingest/v1/exports/{job['id']}"
        done = await_until("the export is over", 60, lambda: (found := person.ingest("GET", path)[1])["state"] in ("done", "failed") and found)
        self.assertEqual("done", done["state"], done)
        files = [self.fetch(person, f"{path}/files/{file['name']}") for file in done["files"]]
        for file, content in zip(done["files"], files):
            self.assertEqual((file["sha256"], file["bytes"]), (hashlib.sha256(content).hexdigest(), len(content)))
        return done["files"], files

    def take_in(self, person, media_type, content):
        request = Request(
            f"{self.suite.ingest_url}/ingest/v1/imports", data=content, method="POST",
            headers={"Authorization": f"Bearer {person.access_token}", "Content-Type": media_type})
        with urlopen(request, timeout=20) as answer:
            job = json.load(answer)
        path = f"/ingest/v1/imports/{job['id']}"
        done = await_until("the import is over", 60, lambda: (found := person.ingest("GET", path)[1])["state"] in ("done", "failed") and found)
        self.assertEqual(("done", 0), (done["state"], done["rejectedCount"]), done)

    def test_strangers_read_what_leaves(self):
        """FHIR by fhir.resources, GPX by gpxpy: every entry of the real recordings, and equal again after an import."""
        person = Person.register(self.suite)
        token = person.pair(measures=[*VITALS.values(), "position"])[1]
        self.upload(vitals(), token)
        self.upload(run(), token)

        manifest, bundles = self.export(person, "fhir")
        self.assertGreater(len(bundles), 1)
        values, panels = {}, 0
        for content in (content for file, content in zip(manifest, bundles) if file["mediaType"] == "application/fhir+json"):
            bundle = Bundle.model_validate_json(content)
            names = [entry.fullUrl for entry in bundle.entry]
            self.assertEqual(len(names), len(set(names)))
            for entry in bundle.entry:
                observation = entry.resource
                if observation.get_resource_type() != "Observation":
                    continue
                codes = {coding.system: coding.code for coding in observation.code.coding}
                if codes.get("http://loinc.org") == "85354-9":
                    panels += 1
                    parts = observation.component
                else:
                    parts = [observation]
                for part in parts:
                    own = next(coding.code for coding in part.code.coding if coding.system == "urn:trackme:metric")
                    if own != "position":
                        self.assertEqual("http://unitsofmeasure.org", part.valueQuantity.system)
                        values.setdefault(own, {})[observation.effectiveDateTime.timestamp()] = float(part.valueQuantity.value)
        expected = {}
        for entry in [*vitals(), *(entry for entry in run() if "value" in entry)]:
            expected.setdefault(entry["type"], []).append(entry["value"])
        for metric, numbers in expected.items():
            self.assertEqual(sorted(numbers), sorted(values[metric].values()), metric)
        pressures = [{row["time"] for row in rows("icu-vitals-32h.csv") if row[name] and float(row[name]) > 0} for name in PRESSURES]
        self.assertEqual(len(set.intersection(*pressures)), panels, "both pressures of one time are one panel")

        tracks, documents = self.export(person, "gpx")
        points = [
            (point.latitude, point.longitude, point.elevation) for content in documents
            for track in gpxpy.parse(content.decode()).tracks for segment in track.segments for point in segment.points
        ]
        self.assertEqual([(e["latitude"], e["longitude"], e["altitude"]) for e in run() if "latitude" in e], points)

        heirs = [Person.register(self.suite) for _ in range(2)]
        sent = list(zip(manifest, bundles))
        for heir in heirs:
            for file, content in sent:
                self.take_in(heir, file["mediaType"], content)
            sent = list(zip(*self.export(heir, "fhir")))
        # The first heir's export is the second's, byte for byte, but for weight and height told at registration.
        status, latest, _ = heirs[1].ingest("GET", "/ingest/v1/latest")
        self.assertEqual(200, status)
        self.assertLessEqual(set(expected) | {"position"}, {entry["type"] for entry in latest["items"]})


if __name__ == "__main__":
    unittest.main()
