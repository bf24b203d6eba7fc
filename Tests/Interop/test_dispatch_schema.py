# The published schema of dispatch messages says what the golden messages hold, and no less.
import copy
import json
import re
import unittest
from pathlib import Path

from jsonschema import Draft202012Validator

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((ROOT / "docs" / "integrators" / "dispatch.schema.json").read_text(encoding="utf-8"))
MESSAGES = {
    path.name: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "Tests" / "SOSDispatcherTests" / "Golden").glob("dispatch-1-*.json"))
    if path.name != "dispatch-1-signed.json"  # headers, no message
}


def sealed(schema):
    """The schema with every object closed: a field that it does not describe is then a fault."""
    if isinstance(schema, list):
        return [sealed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: sealed(part) for key, part in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed["additionalProperties"] = False
    return closed


class DispatchSchema(unittest.TestCase):
    def faults(self, message, schema=SCHEMA):
        return [fault.json_path + ": " + fault.message for fault in Draft202012Validator(schema).iter_errors(message)]

    def test_the_schema_is_one(self):
        Draft202012Validator.check_schema(SCHEMA)
        self.assertGreaterEqual(len(MESSAGES), 2)

    def test_every_golden_message_fits_and_has_no_field_that_is_not_described(self):
        for name, message in MESSAGES.items():
            with self.subTest(name):
                self.assertEqual(self.faults(message, sealed(SCHEMA)), [])

    def test_every_field_that_all_messages_have_is_required(self):
        common = set.intersection(*(set(message) for message in MESSAGES.values()))
        self.assertEqual(common, set(SCHEMA["required"]))

    def test_a_field_more_is_no_fault_and_a_field_less_or_another_kind_is_one(self):
        alert = MESSAGES["dispatch-1-alert.json"]
        self.assertEqual(self.faults(alert | {"later": 1}), [])
        for name in SCHEMA["required"]:
            self.assertTrue(self.faults({key: value for key, value in alert.items() if key != name}), name)
            self.assertTrue(self.faults(alert | {name: None}), name)
        nowhere = copy.deepcopy(alert)
        del nowhere["location"]["lat"]
        self.assertTrue(self.faults(nowhere))
        self.assertEqual(self.faults(alert | {"location": {"method": "none", "trusted": False, "previous": []}}), [])

    def test_the_examples_of_the_documentation_fit_but_for_what_was_left_out(self):
        text = (ROOT / "docs" / "integrators" / "dispatch.md").read_text(encoding="utf-8")
        for example in map(json.loads, [part.split("```")[0] for part in text.split("```json\n")[1:]]):
            faults = [fault for fault in self.faults(example, sealed(SCHEMA)) if "is a required property" not in fault]
            self.assertEqual(faults, [])

    def test_the_pages_table_of_triggers_and_severities_is_the_schemas(self):
        text = (ROOT / "docs" / "integrators" / "dispatch.md").read_text(encoding="utf-8")
        table = text.split("### What began it")[1].split("### When it gets worse")[0]
        kinds = SCHEMA["properties"]["trigger"]["properties"]["kind"]["enum"]
        self.assertEqual(sorted(re.findall(r"^\| `([a-z]+)` \|", table, re.M)), sorted(kinds))
        said = next(line for line in text.splitlines() if line.startswith("| `severity` |"))
        for severity in SCHEMA["properties"]["severity"]["enum"]:
            self.assertIn(f"`{severity}`", said)
        for name, message in MESSAGES.items():
            self.assertIn(message["trigger"]["kind"], kinds, name)
            self.assertEqual(message["severity"] == "worse", bool(message.get("worse")), name)


if __name__ == "__main__":
    unittest.main()
