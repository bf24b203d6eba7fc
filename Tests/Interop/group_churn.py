"""T13, T23: people join, change, deliver late, opt out and are erased, and a group is asked for before and after.

Beside people who are made up nobody who exists is taken, so that these have a suite of their own, in which they register, pair and share
over HTTP. One thing cannot wait: an opt-in counts from its moment on, and a day is released once it is over. In the store of this suite
every opt-in is ten days old, and ingest, which closes hours as soon as anybody shares, is not there until all of them do.
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

from group_attacker import FEW, Attacker, entries_of, form, hour_of, rfc3339, until_answered
from people import Person, call
from running_suite import EXECUTABLES, Suite, await_until

HEART = "heart-rate"
HOME, AWAY = "F205", "H501"
# Two move away and one opts out before 1001 are left.
PEOPLE = 1004
THREADS = 4
READY_S, HEARD_S, CLOSED_S, ERASED_S = 60, 60, 1200, 300
OLD_OPT_INS = """
    CREATE TRIGGER opted_in_ten_days_ago AFTER INSERT ON anonymous_sharing BEGIN
        UPDATE anonymous_sharing SET changed_at = NEW.changed_at - 864000000 WHERE account = NEW.account AND metric = NEW.metric;
    END
    """


class Town(Suite):
    """A suite of people who exist: all of one city, each with a heart rate on each of some days."""

    SERVICES = (*EXECUTABLES[1:], "thirdparty-gateway")

    def __init__(self, random):
        super().__init__({
            "TRACKME_PAY_WHEN": "free", "TRACKME_ACC_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_ACC_LOG_INS_PER_MINUTE": "100000",
            "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "1000000", "TRACKME_ING_PAIRING_OFFERS_PER_H": "100000",
            "TRACKME_ORG_REGISTRATIONS_PER_HOUR": "1000000", "TRACKME_ORG_CALLS_PER_MINUTE": "10000000",
            "TRACKME_ORG_CALLS_PER_DAY": "100000000"}, gateway=True)
        self.random, today = random, int(time.time()) // 86_400
        self.days = [range(24 * day, 24 * day + 24) for day in range(today - 5, today - 1)]
        self.people = []

    def go_on(self, without=()):
        """Stops everything and starts it again, but for some."""
        self.up.terminate()
        self.up.wait(timeout=READY_S)
        await_until("all processes have ended", READY_S, lambda: not list(self.processes()))
        if without:
            self.change("consent", OLD_OPT_INS)
        whole, self.parts = self.parts, [part for part in self.parts if part not in without]
        try:
            self.launch()
        finally:
            self.parts = whole
        # Who waits for one that is not there is not ready.
        urls = [url for name, url in zip(self.SERVICES, self.urls) if not without or name == "consent"]
        await_until("the services are ready", READY_S, lambda: all(map(self._is_ready, urls)))

    def settle(self):
        """Everybody lives there, has measured, and shares; everything is closed that they measured."""
        with ThreadPoolExecutor(THREADS) as pool:
            self.people = list(pool.map(self.arrive, [self.random.randrange(55, 95) for _ in range(PEOPLE)]))
        self.go_on(without=("ingest",))
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda one: share(one, True), self.people))
        self.await_heard()
        self.go_on()

    def arrive(self, rate):
        """Somebody registers, pairs a wearable, and delivers; nothing is shared."""
        person = until_answered(lambda: Person.register(self, cityOfResidence=HOME))
        _, person.device_token = until_answered(lambda: person.pair(measures=[HEART]))
        self.deliver(person, rate)
        return person

    def deliver(self, person, rate):
        entries = [{"type": HEART, "at": rfc3339(day[9]), "value": rate} for day in self.days]
        status, answer, _ = call("POST", f"{self.ingest_url}/ingest/v1/entries", {"entries": entries}, person.device_token)
        assert status == 200 and not answer["rejected"], (status, answer)

    def await_heard(self):
        """Until the anonymiser knows all that consent has to say of who shares."""
        stream = "consent.cohort"

        def is_heard():
            end = self.rows("consent", "SELECT epoch, head + 1 FROM stream_epoch, stream_heads WHERE stream = ?", stream)
            known = self.rows("anonymiser", "SELECT epoch, next FROM consumer_positions WHERE stream = ?", stream)
            return end == known and not self.rows("consent", "SELECT 1 FROM cohort_profiles WHERE due = 1 LIMIT 1")
        await_until("the anonymiser knows who shares", HEARD_S, is_heard)


def share(person, is_shared):
    """An access token is good for ten minutes, which registering everybody takes."""
    status, tokens, _ = call("POST", f"{person.suite.consent_url}/consent/v1/sessions/refresh", {"refreshToken": person.refresh_token})
    assert status == 200, (status, tokens)
    person.access_token, person.refresh_token = tokens["accessToken"], tokens["refreshToken"]
    status, answer, _ = person.consent("PUT", f"/consent/v1/policy/anonymous/{HEART}", {"shared": is_shared})
    assert status == 200, (status, answer)


def edit(person, **changes):
    status, answer, _ = call(
        "POST", f"{person.suite.consent_url}/consent/v1/sessions", {"login": person.form["email"], "password": Person.password})
    assert status == 200, (status, answer)
    person.access_token, person.refresh_token = answer["accessToken"], answer["refreshToken"]
    status, answer, _ = person.consent("PATCH", "/consent/v1/profile", changes)
    assert status == 200, (status, answer)


def erase(person):
    """Until every service has confirmed."""
    edit(person, weight=70)  # logged in just now
    status, asked, _ = person.consent("POST", "/consent/v1/erasures", {"scope": "account"})
    assert status == 200, (status, asked)
    status, ordered, _ = person.consent(
        "POST", "/consent/v1/erasures/orders", {"confirmation": asked["confirmation"], "password": Person.password})
    assert status == 202, (status, ordered)
    await_until("the erasure is over", ERASED_S, lambda: (call("GET", ordered["certificate"])[1] or {}).get("completedAt"))


def group(day, product="records"):
    return form({"residence": [HOME]}, [HEART], (day[0], day[-1] + 1), "day", attributes=[], product=product)


class Witness:
    """An organisation that was given the first day while everybody was there."""

    PRODUCTS = ("records", "statistics")

    def __init__(self, organisation, day):
        self.organisation, self.day, self.faults = organisation, day, []
        self.releases, self.pages, self.content = {}, {}, {}
        for product in self.PRODUCTS:
            answer = organisation.ask(group(day, product))
            assert answer.is_admitted, f"{PEOPLE} people: {answer.outcome}"
            self.releases[product], self.pages[product] = answer.release, organisation.raw_entries(answer.id)
            self.content[product] = content(self.pages[product])

    def look(self, what, other=None):
        """Whether the same organisation is told the same bytes, and another one the same content."""
        for product in self.PRODUCTS:
            answer = self.organisation.ask(group(self.day, product))
            if not answer.is_admitted or answer.release != self.releases[product]:
                self.faults.append(f"{what}, {product}: {answer.outcome}, {answer.release}")
            elif self.organisation.raw_entries(answer.id) != self.pages[product]:
                self.faults.append(f"{what}, {product}: other bytes")
            if not other:
                continue
            answer = other.ask(group(self.day, product))
            if not answer.is_admitted or content(other.raw_entries(answer.id)) != self.content[product]:
                self.faults.append(f"{what}, {product}: another organisation is told something else ({answer.outcome})")


def content(pages):
    return sorted(repr((entry.content, entry.count_error, entry.value_errors)) for entry in entries_of(pages))


def churn(field):
    """T13 and T23, in a town of 1004 people."""
    town = Town(field.random)
    try:
        town.await_ready()
        town.settle()
        attacker = Attacker(town, os.path.join(town.folder, "transcript"))
        organisations = attacker.organisations(10)
        end = town.days[-1][-1] + 1

        def is_closed():
            closed = attacker.catalogue(organisations[0]).get("closedThrough")
            return closed and hour_of(closed) >= end
        await_until("what was measured is closed", CLOSED_S, lambda: until_answered(is_closed))
        witness = joins_and_leaves(field, town, organisations)
        departures(field, town, organisations[5:], witness)
        attacker.transcript.close()
    finally:
        town.close()


def joins_and_leaves(field, town, organisations):
    """T13; afterwards 1001 people are left."""
    witness = Witness(organisations[0], town.days[0])

    def join():
        newcomer = town.arrive(180)
        share(newcomer, True)

    def move():
        for person in town.people[:2]:
            edit(person, cityOfResidence=AWAY)
        edit(town.people[2], weight=95, occupation="student")
    changes = [("one joins", join), ("three edit their profile", move), ("one delivers late", lambda: town.deliver(town.people[3], 180)),
               ("one opts out", lambda: share(town.people[4], False))]
    for (what, change), other in zip(changes, organisations[1:]):
        change()
        town.await_heard()
        witness.look(what, other)
    field.report(
        "T13", f"the same requests after {', '.join(what for what, _ in changes)}, of {PEOPLE} who exist",
        f"{len(witness.faults)} answers that differ of {4 * len(changes)}", "0: the same bytes, and the same content for others",
        not witness.faults, witness.faults)
    return witness


def departures(field, town, organisations, witness):
    """T23: on days of their own 1001 are enough, and not without the one who has left; who moves back shows that the day had data."""
    told, wrong = [], []

    def judge(what, organisation, day, is_admitted):
        answer = organisation.ask(group(town.days[day]))
        told.append(f"{what}: {answer.outcome}")
        if answer.is_admitted != is_admitted or not is_admitted and answer.reason != FEW:
            wrong.append(told[-1])
    judge("1001", organisations[0], 1, True)
    share(town.people[5], False)
    town.await_heard()
    judge("one opted out", organisations[1], 2, False)
    edit(town.people[0], cityOfResidence=HOME)
    town.await_heard()
    judge("another in their place", organisations[2], 2, True)
    erase(town.people[6])
    town.await_heard()
    judge("one erased", organisations[3], 3, False)
    edit(town.people[1], cityOfResidence=HOME)
    town.await_heard()
    judge("another in their place", organisations[4], 3, True)
    witness.look("after the erasure")
    wrong += [fault for fault in witness.faults if fault.startswith("after the erasure")]
    field.report(
        "T23", "new groups of exactly 1001 who exist, less one who opted out, less one who was erased", "; ".join(told), "as said of each",
        not wrong, wrong)
