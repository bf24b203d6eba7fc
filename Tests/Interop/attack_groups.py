#!/usr/bin/env python3
"""An organisation that wants to know what one person's heart does: the attacks on group data, against a running suite.

Starts a suite whose anonymiser has made its people up, registers organisations in numbers, and asks for groups through the gateway's HTTP
interface, with what a third party has and no more. Who was made up is known to the suite's shadow file, which scores the attacks and finds
groups of an exact size; where an attack leans on it, it is a stronger attacker than there can be. People who exist come, change and go in a
second suite, and the anonymiser of the first is killed under load; what was charged is then read in its store.

Prints one line for each attack T1 to T25: the figure, what it has to be, and whether it is. Exits with 1 where one is not.
"""
import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback

import numpy as np

import group_boundaries
import group_churn
import group_crashes
import group_differencing
import group_inference
import group_linkage
import group_structure
from group_attacker import Attacker
from group_shadow import Shadow
from people import Person
from running_suite import Suite, await_until

FILL_S = 1200
# What a standing population cannot show, and where it is shown.
ELSEWHERE = [
    ("T1", "1500 devices of 900 people", "made-up people have no devices: sums by person are ingest's, and its tests'"),
    ("T20", "60,000 draws", "Tests/AnonymiserTests/Domain/ExactChanceTests.swift"),
    ("T22", "audit of neighbours, 20,000 runs", "Tests/AnonymiserTests/Domain/ExactChanceTests.swift: HTTP gives one draw of each table, for ever"),
    ("T23", "the next window of a subscription", "Tests/AnonymiserTests/Live/GroupWindowTests.swift: here an hour would have to pass"),
    ("T24", "late data", "Tests/IngestTests/Cohorts/CohortStoryTests.swift: ingest never says them; T13 delivers some"),
    ("T25", "mutations", "make mutations: they need a build for each"),
]


class Field:
    """What attacks work with, and what came of them."""

    def __init__(self, suite, options, transcript):
        self.suite, self.options = suite, options
        self.random, self.generator = random.Random(options.seed), np.random.default_rng(options.seed)
        self.attacker, self.rows = Attacker(suite, transcript), []
        self.releases, self.refused, self.canary, self.shadow = [], {}, {}, None

    def report(self, name, what, figure, criterion, has_passed, faults=()):
        self.rows.append((name, what, figure, criterion, bool(has_passed), list(faults)))
        print(f"{'passed' if has_passed else 'FAILED'}  {name}  {what}: {figure}", flush=True)

    def await_catalogue(self, seconds=FILL_S):
        """Until the anonymiser answers and some of its hours are closed."""
        organisation = self.attacker.made[0] if self.attacker.made else self.attacker.organisation()

        def is_there():
            try:
                return self.attacker.catalogue(organisation).get("closedThrough")
            except (AssertionError, OSError):
                return None
        return await_until("the catalogue of groups answers", seconds, is_there)

    def plant(self):
        """A person who exists, beside those who do not: nothing of hers may be seen."""
        person = Person.register(self.suite)
        device, _ = person.pair()
        self.canary = {"mail": person.form["email"], "fiscal code": person.form["fiscalCode"], "id": person.person, "device": device}


ATTACKS = [
    ("T1", group_boundaries.boundary), ("T2", group_boundaries.refusals), ("T3 T4 T5 T8 T10", group_structure.ask_at_random),
    ("T3 T4", group_structure.checkers), ("T5", group_structure.truth), ("T7 T8 T9 T10", group_linkage.linkage),
    ("T11", group_differencing.differencing), ("T12", group_differencing.allowed_difference), ("T14", group_differencing.averaging),
    ("T15", group_differencing.equality), ("T16", group_boundaries.probing), ("T17", group_inference.statistics_membership),
    ("T18", group_inference.records_membership), ("T19", group_inference.reconstruction), ("T20", group_inference.noise),
    ("T21", group_inference.accounting), ("T13 T23", group_churn.churn), ("T21 T24", group_crashes.crashes), ("T6", group_structure.canaries),
]


def options():
    def number(name, usual):
        return int(os.environ.get(name, str(usual)))
    read = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  make attack                              20,000 people, 7 days
  ATTACK_PEOPLE=1000000 make attack        by hand: hours, and some GB of memory for the shadow
  .ci/interop attack_groups.py --only T11 --seed 5
  .ci/interop attack_groups.py --only T13 T23   1004 people register first

It begins a suite of its own, and a second one for people who exist (T13, T23), and ends both. Within one organisation the limits of the
policy hold: 64 groups admitted and 256 refused a year, two releases of statistics a day; what needs more takes more organisations, which
collude, and which real ones would have to be.""")
    read.add_argument("--people", type=int, default=number("ATTACK_PEOPLE", 20_000), help="who are made up; ATTACK_PEOPLE, else 20,000")
    read.add_argument("--days", type=int, default=number("ATTACK_DAYS", 7), help="of data, 7 at least; ATTACK_DAYS, else 7")
    read.add_argument("--seed", type=int, default=number("ATTACK_SEED", random.randrange(1 << 30)), help="of people and attacks; ATTACK_SEED, else by chance")
    read.add_argument("--only", nargs="*", default=[], metavar="ID", help="as T5; T6 and T8 look at what others were told")
    for name, usual, what in (
            ("requests", 500, "honest requests at random"), ("latencies", 2000, "refusals whose time is taken"), ("targets", 500, "groups beside a group"),
            ("trials", 2000, "pairs of equal groups"), ("probes", 600, "targets at the threshold"), ("repeats", 200, "of one request"),
            ("checked", 12, "releases for pycanon and anjana"), ("neighbours", 100, "days of groups with an outlier, and without")):
        read.add_argument(f"--{name}", type=int, default=usual, help=f"{what}; {usual}")
    read.add_argument("--kills", type=int, default=number("ATTACK_KILLS", 50), help="of the anonymiser while it is asked; ATTACK_KILLS, else 50")
    chosen = read.parse_args()
    if chosen.days < 7:
        read.error("--days must be at least 7: attacks take a day of their own where the guard would see them beside each other")
    return chosen


def attack(field, shadow_file):
    chosen = field.options
    begun = time.monotonic()
    field.plant()
    field.await_catalogue()
    await_until("the shadow is written", FILL_S, lambda: os.path.exists(shadow_file))
    field.shadow = Shadow(shadow_file)
    print(f"{field.shadow.count} people, {field.shadow.hours // 24} days, after {time.monotonic() - begun:.0f} s", flush=True)
    for names, work in ATTACKS:
        if chosen.only and not set(chosen.only) & set(names.split()):
            continue
        started = time.monotonic()
        try:
            work(field)
        except Exception:  # an attack that cannot be carried out proves nothing, and the others go on
            field.report(names, "could not be carried out", traceback.format_exc(limit=3).strip().splitlines()[-1], "-", False, [traceback.format_exc()])
        print(f"        {names} took {time.monotonic() - started:.0f} s, {field.attacker.transcript.answers} answers so far", flush=True)
    field.attacker.transcript.close()


def table(field):
    print(f"\nseed {field.options.seed}, {field.options.people} people, {field.attacker.count} organisations, {field.attacker.transcript.answers} answers\n")
    print("| id | attack | figure | has to be | |\n| --- | --- | --- | --- | --- |")
    rows = sorted(field.rows, key=lambda row: int("".join(filter(str.isdigit, row[0].split()[0]))))
    for name, what, figure, criterion, has_passed, _ in rows:
        print(f"| {name} | {what} | {figure} | {criterion} | {'passed' if has_passed else 'FAILED'} |")
    for name, what, where in ELSEWHERE:
        print(f"| {name} | {what} | – | – | {where} |")
    for name, _, _, _, has_passed, faults in rows:
        for fault in ([] if has_passed else faults[:10]):
            print(f"{name}: {fault}")
    print("HELD" if rows and all(row[4] for row in rows) else "BROKEN")


def main():
    chosen = options()
    missing = [name for name in ("trackme", "anonymiser", "thirdparty-gateway") if not os.access(Suite.executable(name), os.X_OK)]
    if missing:
        sys.exit(f"no {', '.join(missing)}: build first, or name the folder in TRACKME_BUILD")
    print(f"seed {chosen.seed}", flush=True)
    own = tempfile.mkdtemp(prefix="attack-", dir="/tmp")
    shadow_file = os.path.join(own, "shadow.ndjson")
    suite = None
    try:
        suite = Suite({
            "TRACKME_ANO_SYNTHETIC_PEOPLE": str(chosen.people), "TRACKME_ANO_SYNTHETIC_DAYS": str(chosen.days),
            "TRACKME_ANO_SYNTHETIC_SEED": str(chosen.seed), "TRACKME_ANO_SYNTHETIC_SHADOW": shadow_file, "TRACKME_PAY_WHEN": "free",
            "TRACKME_ACC_LOG_INS_PER_MINUTE": "100000", "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "1000000",
            "TRACKME_ORG_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_ORG_CALLS_PER_MINUTE": "10000000", "TRACKME_ORG_CALLS_PER_DAY": "100000000",
        }, gateway=True)
        suite.await_ready()
        field = Field(suite, chosen, os.path.join(own, "transcript"))
        attack(field, shadow_file)
        table(field)
        sys.exit(0 if field.rows and all(row[4] for row in field.rows) else 1)
    finally:
        if suite:
            suite.close()
        shutil.rmtree(own, ignore_errors=True)


if __name__ == "__main__":
    main()
