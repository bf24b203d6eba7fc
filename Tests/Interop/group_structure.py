"""T3 to T6: what stands in releases, judged by other people's checkers and by the shadow."""
import collections
import contextlib
import io
import os
import re
import warnings

import pandas
from anjana.anonymity import k_anonymity as anjana_k_anonymity
from pycanon import anonymity as pycanon

from group_attacker import by_class, by_table, form
from group_shadow import NUMERIC, SCALES, TYPES

ATTRIBUTES = (None, None, None, [], ["age", "sex", "residence"], ["age", "sex", "occupation"], ["sex", "weight", "height"])
MOST_ROWS = 25_000


def ask_at_random(field):
    """Requests as honest people may make them; kept for whatever is judged by content."""
    shadow, random, wanted = field.shadow, field.random, field.options.requests
    organisations = field.attacker.organisations(max(1, wanted // 25))
    bodies = []
    days = shadow.hours // 24
    for _ in range(wanted):
        types = ["position"] if random.random() < 0.15 else random.sample(NUMERIC, random.choice((1, 1, 2)))
        length = random.choice((1, 1, 2, 3))
        first = random.randrange(max(1, days - length + 1))
        hours = shadow.day(first)[0], shadow.day(first)[0] + 24 * min(length, days)
        bodies.append(form(
            shadow.random_filters(random), types, hours, random.choice(("hour", "hour", "six-hours", "day", "window")),
            attributes=random.choice(ATTRIBUTES), product="records"))

    def ask(numbered):
        number, body = numbered
        answer = organisations[number % len(organisations)].ask(body)
        return answer, answer.entries() if answer.is_admitted else []
    answers = field.attacker.together(ask, list(enumerate(bodies)))
    field.refused = collections.Counter(answer.outcome for answer, _ in answers if not answer.is_admitted)
    field.releases = [(answer, entries) for answer, entries in answers if answer.is_admitted]


def frames(field):
    """Tables of numbers as checkers want them: ten rows for each entry, one row for each person that is promised."""
    found = []
    for answer, entries in field.releases:
        for name in sorted({entry.type for entry in entries if entry.values}):
            rows = []
            for classes in by_table([entry for entry in entries if entry.type == name]).values():
                for one in by_class(classes).values():
                    if len(one) == 1:
                        continue  # a whole class in one entry; the shadow counts who is behind it
                    for entry in one:
                        labels = dict(entry.classes) | {"bucket": f"{entry.first}-{entry.last}"}
                        values = {f"value{number}": value for number, value in enumerate(entry.values)}
                        rows += [labels | values] * 10
            if rows and len(rows) <= MOST_ROWS:
                found.append(pandas.DataFrame(rows))
    field.random.shuffle(found)
    return found[:field.options.checked]


def kept_by_anjana(frame, columns, k):
    """Rows that it leaves where it may take none away: all of them, or it cannot do it."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return len(anjana_k_anonymity(frame, [], columns, k, 0, {}))
    except KeyError:  # it would have to make a column coarser, and was given no way to
        return 0


def checkers(field):
    """T3 and T4."""
    worst = {"k of classes": [], "k of all columns": [], "l": [], "α": []}
    risks, values, disagreements = [], [], []
    checked = frames(field)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for frame in checked:
            of_value = [column for column in frame.columns if column.startswith("value")]
            quasi = [column for column in frame.columns if column not in of_value]
            of_class = pycanon.k_anonymity(frame, quasi)
            of_all = pycanon.k_anonymity(frame, quasi + of_value)
            worst["k of classes"].append(of_class)
            worst["k of all columns"].append(of_all)
            worst["l"].append(pycanon.l_diversity(frame, quasi, of_value))
            worst["α"].append(pycanon.alpha_k_anonymity(frame, quasi, of_value)[0])
            # A second count that shares nothing with pycanon, and anjana, which would have to take rows away if the first were wrong.
            counts = [min(collections.Counter(frame[columns].itertuples(index=False, name=None)).values())
                      for columns in (quasi, quasi + of_value)]
            risks.append(1 / counts[0])
            values.append(1 / counts[1])
            kept = [kept_by_anjana(frame, columns, k) for columns, k in ((quasi, 50), (quasi + of_value, 10))]
            if counts != [of_class, of_all] or kept != [len(frame)] * 2:
                disagreements.append(f"counted {counts}, pycanon {[of_class, of_all]}, anjana keeps {kept} of {len(frame)}")
    if not checked:
        field.report("T3", "pycanon on records", "nothing was released", "≥ 50, ≥ 10, ≥ 3, ≤ 0.5", False)
        field.report("T4", "anjana and a plain count", "nothing was released", "≤ 0.02, ≤ 0.1", False)
        return
    least = {name: min(found) for name, found in worst.items() if name != "α"}
    most = max(worst["α"])
    field.report(
        "T3", f"pycanon on {len(checked)} tables by type",
        f"k {least['k of classes']}, with values {least['k of all columns']}, l {least['l']}, α {most:.2f}", "≥ 50, ≥ 10, ≥ 3, ≤ 0.5",
        least["k of classes"] >= 50 and least["k of all columns"] >= 10 and least["l"] >= 3 and most <= 0.5)
    field.report(
        "T4", "anjana and a plain count of the same", f"prosecutor risk {max(risks):.4f}, with values {max(values):.3f}",
        "≤ 0.02, ≤ 0.1, agrees with T3", max(risks) <= 0.02 and max(values) <= 0.1 and not disagreements, disagreements)


def truth(field):
    """T5: how many people really are behind entries, classes and tables."""
    shadow, faults = field.shadow, []
    least = {"entry": [], "class": [], "table": []}
    for answer, entries in field.releases:
        filters = answer.body["filters"]
        matching = shadow.matching(filters)
        for (name, first, last), table in by_table(entries).items():
            members = matching & shadow.contributing(name, first, last)
            if name == "position":
                least["class"] += [entry.individuals for entry in table]
                least["table"].append(int(members.sum()))
                continue
            represented = 0
            for classes, one in by_class(table).items():
                readings = [int((mask & members).sum()) for mask in shadow.in_class(classes)]
                fitting = [people for people in readings if people // 10 == len(one)]
                people = fitting[0] if fitting else max(readings)
                if len(one) > 1 and not fitting:
                    faults.append(f"{answer.id} {name} {classes}: {len(one)} entries of {readings} people")
                least["class"].append(people)
                least["entry"].append(people // len(one))
                represented += people
            least["table"].append(represented)
    found = {name: min(numbers, default=0) for name, numbers in least.items()}
    is_right = found["entry"] >= 10 and found["class"] >= 50 and found["table"] >= 1001 and not faults
    field.report(
        "T5", f"people behind what {len(field.releases)} releases show (refused: {dict(field.refused)})",
        f"entry {found['entry']}, class {found['class']}, table {found['table']} of {len(least['table'])}",
        "≥ 10, ≥ 50, ≥ 1001", is_right and len(field.releases) >= field.options.requests // 20, faults)


def canaries(field):
    """T6: nothing of anybody in answers, logs and files that the suite writes for people to read."""
    people = set(field.shadow.people)
    real = field.canary
    paths = [field.attacker.transcript.path] + [
        os.path.join(folder, name) for folder, _, names in os.walk(field.suite.folder) for name in names
        if name.endswith((".log", ".out", ".jsonl"))]
    hits, identifiers = [], re.compile(rb"per_[0-9a-z]{26}")
    births = re.compile(rb"(?<![0-9])(?:19[0-9]{2}|200[0-9])-[01][0-9]-[0-3][0-9](?![0-9])")
    for path in paths:
        is_answer = path == field.attacker.transcript.path
        with open(path, "rb") as file:
            for line in file:
                hits += [f"a person's id in {path}" for found in identifiers.findall(line) if found.decode() in people]
                # How ingest's operator finds a device among others: who cannot read data of groups has no use for it.
                is_of_ingest = not is_answer and line.startswith(b"ingest ")
                hits += [
                    f"{what} of a real person in {path}" for what, text in real.items()
                    if text.encode() in line and not (what == "device" and is_of_ingest)]
                if is_answer and births.search(line):
                    hits.append(f"a day like one of birth in {path}")
    exact = sum(
        value % SCALES[metric][3] != 0 for _, entries in field.releases for entry in entries
        for metric, value in zip(TYPES[entry.type], entry.values))
    if exact:
        hits.append(f"{exact} values finer than they are rounded to")
    field.report(
        "T6", f"canaries in {field.attacker.transcript.answers} answers and {len(paths) - 1} logs", f"{len(hits)} hits", "0", not hits,
        sorted(set(hits)))
