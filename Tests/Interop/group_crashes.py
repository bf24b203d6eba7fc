"""T21 with a service that dies: groups are asked for while the anonymiser is killed again and again."""
import glob
import json
import os
import random
import sqlite3
import threading

from group_attacker import EXHAUSTED, FEW, SIMILAR, form
from group_shadow import NUMERIC
from running_suite import await_until

# Of one release of statistics, in millionths; docs/privacy.md.
MICRO_RHO = 50_000
THREADS = 16


def crashes(field):
    """No release without its charge and none charged twice, and what was read before a kill is read after it, byte for byte."""
    shadow, kills = field.shadow, field.options.kills
    organisations = field.attacker.organisations(8)
    forms = []
    for organisation in organisations:
        # One group for all days, so that the guard sees one.
        group = {"age": {"from": 18 + organisation.number % 8, "to": 100}}
        for day in range(shadow.hours // 24):
            forms.append((organisation, form(group, NUMERIC[:1], shadow.day(day), "day", attributes=[], product="statistics")))
        for _ in range(6):
            forms.append((organisation, form(shadow.random_filters(field.random), NUMERIC[:2], shadow.day(0), "hour", attributes=["sex"])))
    read, strange, lock, is_over = {}, [], threading.Lock(), threading.Event()

    def content(answer):
        return [(entry.id, entry.content) for entry in answer.entries()]

    def note(place, answer):
        if not answer.is_admitted:
            if answer.outcome not in (FEW, SIMILAR, EXHAUSTED):
                raise AssertionError(answer.outcome)
            with lock:
                if place in read:
                    strange.append(f"admitted, then {answer.outcome}: {json.dumps(forms[place][1])}")
            return
        entries = content(answer)
        with lock:
            if read.setdefault(place, entries) != entries:
                strange.append(f"other entries than before: {json.dumps(forms[place][1])}")

    def ask(seed):
        own = random.Random(seed)
        while not is_over.is_set():
            place = own.randrange(len(forms))
            try:
                note(place, forms[place][0].ask(forms[place][1]))
            except (AssertionError, OSError):
                continue  # it was not there for long, which is no answer

    def anonymisers():
        return [process for process, name in field.suite.processes() if name == "anonymiser"]

    threads = [threading.Thread(target=ask, args=(field.random.randrange(1 << 30),)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        is_over.wait(field.random.uniform(0.02, 1.2))  # the moment is the point
        before = anonymisers()
        field.suite.kill_service("anonymiser")
        await_until("the anonymiser runs again", 30, lambda gone=before: len(anonymisers()) == 1 and anonymisers() != gone)
    is_over.set()
    for thread in threads:
        thread.join()
    field.await_catalogue()
    admitted = {organisation.number: 0 for organisation in organisations}
    for place, (organisation, body) in enumerate(forms):
        answer = organisation.ask(body)
        note(place, answer)
        if answer.is_admitted and body.get("product") == "statistics":
            admitted[organisation.number] += 1
    charged = charges(field.suite.data)
    expected = sorted(count * MICRO_RHO for count in admitted.values() if count)
    # Other attacks have spent too, in organisations of their own.
    missing = list(expected)
    for sum_of_one in charged:
        if sum_of_one in missing:
            missing.remove(sum_of_one)
    if missing:
        strange.append(f"charged {charged}, of which these are missing: {missing}")
    field.report(
        "T21", f"the anonymiser killed {kills} times while {THREADS} ask",
        f"{len(read)} releases read before and after, {sum(admitted.values())} of statistics, {len(strange)} faults",
        "each charged once, the same bytes", not strange and len(read) >= 20 and sum(admitted.values()) >= 8, strange)


def charges(data):
    """What each organisation has spent altogether, by the anonymiser's own store, which is read without being changed."""
    path, = glob.glob(os.path.join(data, "anonymiser", "anonymiser.db"))
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return [row[0] for row in store.execute("SELECT sum(micro_rho) FROM group_organisation_days GROUP BY organisation")]
    finally:
        store.close()
