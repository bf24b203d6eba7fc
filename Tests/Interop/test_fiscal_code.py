# Our fiscal codes against PyPI's python-codicefiscale, which others rely on: 10,000 codes, and every disagreement has a reason.
import json
import random
import string
import subprocess
import unittest
from datetime import date, timedelta
from pathlib import Path

import codicefiscale.data
from codicefiscale import codicefiscale as peer

ROOT = Path(__file__).parent.parent.parent
PLACES = ROOT / "Services" / "Consent" / "Resources" / "places.tsv"
PROGRAM = ROOT / ".build" / "interop" / "fiscal-code"
SOURCES = [ROOT / "Tests" / "Interop" / "fiscal_code" / "main.swift", ROOT / "Shared" / "Contracts" / "Forms" / "FiscalCode.swift"]
DIGIT_PLACES = [6, 7, 9, 10, 12, 13, 14]


def compiled():
    newest = max(source.stat().st_mtime for source in SOURCES)
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < newest:
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["swiftc", "-swift-version", "6", "-package-name", "trackme", "-O", *map(str, SOURCES), "-o", str(PROGRAM)], check=True)
    return PROGRAM


def ask(questions):
    text = "".join(f"{kind}\t{value}\n" for kind, value in questions)
    answers = subprocess.run([str(compiled())], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(questions)
    return answers


def made(chance, municipalities):
    """A valid code by the peer's own encoder."""
    sex = chance.choice("MF")
    born = date(1927, 1, 1) + timedelta(days=chance.randrange(36_000))
    place = chance.choice(municipalities)
    letters = "".join(chance.choice(string.ascii_uppercase) for _ in range(6))
    plain = letters + peer.encode_birthdate(born.isoformat(), sex) + place
    return plain + peer.encode_cin(plain)


def omocodic(chance, code):
    characters = list(code[:15])
    for index in chance.sample(DIGIT_PLACES, chance.randint(1, 7)):
        characters[index] = "LMNPQRSTUV"[int(characters[index])]
    plain = "".join(characters)
    return plain + peer.encode_cin(plain)


def broken(chance, code):
    """Something that a person or a program may send instead; some of it is right by chance."""
    at = chance.randrange(16)
    kind = chance.randrange(9)
    anything = chance.choice(string.ascii_uppercase + string.digits)
    if kind == 0:  # one character mistyped
        return code[:at] + anything + code[at + 1:]
    if kind == 1:  # two neighbours swapped
        at = min(at, 14)
        return code[:at] + code[at + 1] + code[at] + code[at + 2:]
    if kind == 2:  # too short or too long
        return chance.choice([code[:at], code + anything, ""])
    if kind == 3:  # a date that does not exist, with a right check character
        plain = code[:8] + chance.choice(["B30", "B71", "D31", "D00", "E40", "E72", "B29", "S99"]) + code[11:15]
        return plain + peer.encode_cin(plain)
    if kind == 4:  # a letter that no month has
        plain = code[:8] + chance.choice("FGIJKNOQUVWXYZ") + code[9:15]
        return plain + peer.encode_cin(plain)
    if kind == 5:  # in another case, with spaces
        return " " + code[:6].lower() + " " + code[6:11] + "  " + code[11:].lower() + " "
    if kind == 6:  # a place that does not exist, with a right check character
        plain = code[:11] + chance.choice(["A000", "Z999", "M999", "Y123"])
        return plain + peer.encode_cin(plain)
    if kind == 7:  # a letter that replaces no digit
        at = chance.choice(DIGIT_PLACES)
        plain = code[:at] + chance.choice("ABCDEFGHIJKOWXYZ") + code[at + 1:15]
        return plain + peer.encode_cin(plain)
    return code[:at] + chance.choice("-.'àé/#") + code[at:]  # a sign inside


class FiscalCodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(20261121)
        known = codicefiscale.data.get_municipalities_data()
        places = sorted({place["code"] for place in known if place["active"]} | {"Z112", "Z404", "Z222"})
        valid = [made(chance, places) for _ in range(4000)]
        cls.codes = (
            [("valid", code) for code in valid]
            + [("omocodic", omocodic(chance, chance.choice(valid))) for _ in range(3000)]
            + [("broken", broken(chance, chance.choice(valid))) for _ in range(3000)])
        cls.places = {line.split("\t")[0] for line in PLACES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
        cls.ours = ask([("code", code) for _, code in cls.codes])

    @staticmethod
    def theirs(code):
        try:
            return peer.decode(code), None
        except (ValueError, KeyError) as error:
            return None, str(error)

    def reason(self, code, ours, error):
        """Why the two may differ about a code; None where they may not."""
        words = ours.split()
        if words[0] == "valid" and error:
            place = words[6]
            if "wrong birthplace code" in error and place not in self.places:
                return "registration, not the code's form, refuses places that do not exist"
            if "wrong birthplace code" in error:
                return "the peer knows no such place in every year of the code: its periods have gaps, so ours do not count"
        if words[0] == "fault" and not error:
            if any(not (c.isascii() and c.isalnum() or c.isspace()) for c in code):
                return "the peer takes out signs and marks before it looks; we refuse what a health card does not show"
        return None

    def test_10000_codes_are_judged_alike_or_differ_for_a_known_reason(self):
        reasons, valid, unexplained = {}, 0, []
        for (_, code), ours in zip(self.codes, self.ours):
            decoded, error = self.theirs(code)
            if ours.startswith("valid") and decoded:
                valid += 1
                words = ours.split()
                born = decoded["birthdate"]
                self.assertEqual(words[1], decoded["code"])
                self.assertEqual([int(word) for word in words[2:5]], [born.year % 100, born.month, born.day], code)
                self.assertEqual(words[5], {"M": "male", "F": "female"}[decoded["gender"]], code)
                self.assertEqual(words[6], decoded["birthplace"]["code"], code)
                self.assertEqual(words[7], "omocodic" if decoded["code"] != decoded["omocodes"][0] else "plain", code)
                self.assertEqual(words[8].split(","), sorted(decoded["omocodes"]), code)
                self.assertIn(words[6], self.places, code)
            elif ours.startswith("valid") or decoded:
                reason = self.reason(code, ours, error)
                if reason is None:
                    unexplained.append((code, ours, error))
                else:
                    reasons[reason] = reasons.get(reason, 0) + 1
        self.assertEqual(unexplained, [])
        self.assertGreater(valid, 6500)
        self.assertLess(sum(reasons.values()), 1200, reasons)
        print(json.dumps({"codes": len(self.codes), "valid for both": valid, "differ": reasons}, indent=2))

    def test_names_are_coded_alike(self):
        first = sorted({name for names in codicefiscale.data.get_names_data().values() for name in names})
        last = ["Rossi", "D'Amico", "De Luca", "Fò", "Hu", "Ò", "Nguyễn", "Müller", "Ängström", "O'Neill-Ferrari", "Großmann", "Łukasz",
                "Sørensen", "Đorđević", "Çelik", "Ibañez", "Aia", "Eo", "Xu", "Bianchi Bandinelli", "Æsir", "Œuvrard"]
        names = first + last
        theirs = [peer.encode_lastname(name) for name in names] + [peer.encode_firstname(name) for name in names]
        ours = ask([("surname", name) for name in names] + [("name", name) for name in names])
        self.assertEqual([pair for pair in zip(names * 2, ours, theirs) if pair[1] != pair[2]], [])
        self.assertGreater(len(first), 1000)


if __name__ == "__main__":
    unittest.main()
