# The published schema of dispatch messages says what the golden messages hold, and no less.
import copy
import json
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

    def test_the_example_of_the_documentation_fits_but_for_what_was_left_out(self):
        text = (ROOT / "docs" / "integrators" / "dispatch.md").read_text(encoding="utf-8")
        example = json.loads(text.split("```json\n")[1].split("```")[0])
        faults = [fault for fault in self.faults(example, sealed(SCHEMA)) if "is a required property" not in fault]
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main()
