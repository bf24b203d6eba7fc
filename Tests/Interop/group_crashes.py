"""T21, T24: the anonymiser is killed again and again while sixteen threads ask and windows close. What was told before is told after, byte
for byte, and was paid for once.

Nobody can wait for days of windows: those of made-up days are due at once where a subscription is set back in the service's store, to the
first of these days, and where nobody has changed since. The same store tells, after the kills, what was charged.
"""
import collections
import hashlib
import json
import threading
import time
from random import Random

from group_attacker import EXHAUSTED, entries_of, form, hour_of, until_answered
from group_shadow import NUMERIC, SEXES
from running_suite import await_until

HEART, OXYGEN = NUMERIC[0], NUMERIC[1]
THREADS = 16
RELEASE_MICRO_RHO, DAY_MICRO_RHO = 50_000, 100_000
HOLD_HOURS = 7 * 24
START_S, WINDOWS_S = 120, 1200
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def stored(identifier):
    """The 16 bytes that stores keep of an id."""
    number = 0
    for digit in identifier.rpartition("_")[2]:
        number = number * 32 + DIGITS.index(digit)
    return number.to_bytes(16, "big")


def digests(pages):
    return tuple(hashlib.sha256(page).digest() for page in pages)


class Crowd:
    """Organisations that ask without end, two threads each, and what they were told."""

    def __init__(self, field):
        shadow, random = field.shadow, field.random
        self.field, self.over, self.lock, self.threads = field, threading.Event(), threading.Lock(), []
        # By organisation's number and body: answers, and the pages of the first one that was released.
        self.answers, self.pages, self.faults = {}, {}, []
        self.organisations = field.attacker.organisations(THREADS // 2)
        # Nobody is as small as that: whole sexes, in words of which no other attack has made tables.
        groups = [{"sex": [sex], "height": {"from": random.randrange(105, 125, 5)}} for sex in SEXES[:2]]
        days = [shadow.day(number) for number in range(shadow.hours // 24)]
        # Three a day, of which each organisation can be given two.
        statistics = [form(filters, [name], hours, "hour", attributes=[], product="statistics")
                      for filters, name in ((groups[0], HEART), (groups[1], HEART), (groups[0], OXYGEN)) for hours in days]
        records = [form(filters, [name], hours, granularity, attributes=attributes, product="records")
                   for filters in groups for name in (HEART, OXYGEN) for hours in days for granularity in ("six-hours", "day")
                   for attributes in ([], ["age"])]
        self.bodies = {one.number: statistics + random.sample(records, min(len(records), 24)) for one in self.organisations}

    def begin(self):
        for number in range(THREADS):
            organisation = self.organisations[number // 2]
            random = Random(self.field.random.getrandbits(64))
            bodies = list(self.bodies[organisation.number])
            random.shuffle(bodies)
            self.threads.append(threading.Thread(target=self.go_on, args=(organisation, bodies, random), daemon=True))
        for thread in self.threads:
            thread.start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def go_on(self, organisation, bodies, random):
        """What is asked for again is a release that was made before; what is under way at a kill is asked for until it is answered."""
        asked = 0
        while not self.over.is_set():
            body = bodies[asked % len(bodies)]
            asked += 1
            try:
                self.ask(organisation, body, f"{random.getrandbits(128):032x}")
            except Exception as fault:  # one thread's fault is reported, and the others go on
                with self.lock:
                    self.faults.append(f"organisation {organisation.number}: {type(fault).__name__}: {fault}"[:300])

    def ask(self, organisation, body, key):
        answer = until_answered(lambda: organisation.ask(body, key))
        pages = digests(until_answered(lambda: organisation.raw_entries(answer.id))) if answer.is_admitted else None
        name = organisation.number, json.dumps(body, sort_keys=True)
        with self.lock:
            self.answers.setdefault(name, []).append(answer)
            if pages and self.pages.setdefault(name, pages) != pages:
                self.faults.append(f"{answer.id}: other bytes than the same request before")

    # After the kills

    def admitted(self, organisation=None):
        """By name: the first answer that was a release."""
        return {name: found[0] for name, answers in self.answers.items() if organisation is None or name[0] == organisation.number
                if (found := [answer for answer in answers if answer.is_admitted])}

    def look_again(self):
        """Faults of what is served now: other bytes than before, or other content than another organisation's."""
        content, faults = {}, []
        for name, answers in self.answers.items():
            outcomes = {answer.outcome for answer in answers}
            if len(outcomes) != 1 or not outcomes <= {"ADMITTED", EXHAUSTED}:
                faults.append(f"organisation {name[0]}: {sorted(outcomes)} to {name[1]}")

        def fetch(pair):
            return pair[0], until_answered(lambda: pair[1].organisation.raw_entries(pair[1].id))
        for name, pages in self.field.attacker.together(fetch, list(self.admitted().items())):
            if digests(pages) != self.pages[name]:
                faults.append(f"organisation {name[0]}: other bytes than before the kills, of {name[1]}")
            lines = "\n".join(sorted(repr(entry.content) for entry in entries_of(pages)))
            content.setdefault(name[1], set()).add(hashlib.sha256(lines.encode()).digest())
        return faults + [f"{len(found)} different contents of {body}" for body, found in content.items() if len(found) > 1]

    def charges(self, before, windows):
        """Faults of what the store says was charged.

        before: by day, how often everybody's days had been charged.
        windows: so many windows of statistics of each day were judged meanwhile; each charges whom it is the first to count.
        """
        faults, made, rows = [], collections.defaultdict(set), self.field.suite.rows
        for organisation in self.organisations:
            faults += self.charges_of(organisation)
            for (_, body), answer in self.admitted(organisation).items():
                if answer.body["product"] == "statistics":
                    made[hour_of(answer.body["from"]) // 24].add(body)
        after = dict(rows("anonymiser", "SELECT day, additions FROM group_days"))
        for day, bodies in made.items():
            added = after.get(day, 0) - before.get(day, 0)
            if not len(bodies) <= added <= len(bodies) + windows:
                faults.append(f"everybody's day {day} was charged {added} times for {len(bodies)} releases and {windows} windows")
        return faults

    def charges_of(self, organisation):
        faults, rows, own = [], self.field.suite.rows, stored(organisation.id)
        released = self.admitted(organisation)
        told = {stored(answer.id) for name, answers in self.answers.items() if name[0] == organisation.number
                for answer in answers if answer.is_admitted}
        kept = rows("anonymiser", "SELECT request, source, canonical FROM group_requests WHERE organisation = ? AND refusal IS NULL", own)
        if {request for request, _, _ in kept} != told:
            faults.append(f"organisation {organisation.number} was told of {len(told)} releases, {len(kept)} are kept")
        made = [(request, canonical) for request, source, canonical in kept if request == source]
        if len({canonical for _, canonical in made}) != len(made) or len(made) != len(released):
            faults.append(f"organisation {organisation.number}: {len(made)} releases made of {len(released)} different requests")
        for request, _ in made:
            tables, keys, contents = rows(
                "anonymiser", "SELECT count(*), count(k.digest), count(t.digest) FROM group_release_tables r"
                " LEFT JOIN group_table_keys k ON k.organisation = ? AND k.digest = r.digest"
                " LEFT JOIN group_tables t ON t.digest = r.digest WHERE r.request = ?", own, request)[0]
            if not tables == keys == contents > 0:
                faults.append(f"a release of {tables} tables has {contents}, and the keys of {keys}")
        expected = collections.Counter()
        for answer in released.values():
            if answer.body["product"] == "statistics":
                expected[hour_of(answer.body["from"]) // 24] += RELEASE_MICRO_RHO
        spent = dict(rows("anonymiser", "SELECT day, micro_rho FROM group_organisation_days WHERE organisation = ?", own))
        if spent != dict(expected) or max(spent.values(), default=0) > DAY_MICRO_RHO:
            faults.append(f"organisation {organisation.number} was charged {spent} for {dict(expected)}")
        groups = {json.dumps(answer.body["filters"], sort_keys=True) for answer in released.values()}
        counted = rows("anonymiser", "SELECT count(*) FROM group_cohorts WHERE organisation = ? AND admitted = 1", own)[0][0]
        if counted != len(groups):
            faults.append(f"organisation {organisation.number}: {counted} groups count of {len(groups)} that were admitted")
        return faults


class Subscription:
    """By the hour, over the made-up days; of an organisation of its own."""

    def __init__(self, field, filters, product):
        self.field, self.filters, self.product, self.seen, self.faults = field, filters, product, {}, []
        self.organisation = field.attacker.organisation()
        now = int(time.time()) // 3600
        body = form(filters, [HEART], (now, now + 48), "hour", attributes=[], product=product)
        key = f"{field.random.getrandbits(128):032x}"
        self.answer = until_answered(lambda: self.organisation.ask(body, key))
        assert self.answer.is_admitted and self.answer.json.get("subscription"), self.answer.content[:400]
        first, last = field.shadow.window
        field.suite.change(
            "anonymiser", "UPDATE group_subscriptions SET day_from = ?, day_to = ?, next = ?, closes = ? WHERE request = ?",
            first // 24, last // 24, 4 * first, 4 * first + 4, stored(self.answer.id))

    def told(self):
        """Number, hours since 1970 from and to, status."""
        return [(one["window"], hour_of(one["from"]), hour_of(one["to"]), one["status"])
                for one in until_answered(lambda: self.organisation.windows(self.answer.id))]

    def kept(self):
        return [(number, first // 4, last // 4, status) for number, first, last, status in self.field.suite.rows(
            "anonymiser", "SELECT sequence, quarter_from, quarter_to, status FROM group_windows WHERE request = ? ORDER BY sequence",
            stored(self.answer.id))]

    def fetch(self, number):
        """What a window is now, against what it was."""
        pages = until_answered(lambda: self.organisation.raw_entries(self.answer.id, number))
        if self.seen.setdefault(number, digests(pages)) != digests(pages):
            self.faults.append(f"window {number} of {self.answer.id}: other bytes than before")
        return entries_of(pages)

    def look(self):
        """Between two kills: at some that are new."""
        new = [number for number, _, _, status in self.told() if status == "released" and number not in self.seen]
        for number in self.field.random.sample(new, min(2, len(new))):
            self.fetch(number)

    def judge(self):
        """Faults of its windows, once all of them are told."""
        told, (first, last) = self.told(), self.field.shadow.window
        if [number for number, _, _, _ in told] != list(range(1, len(told) + 1)):
            self.faults.append(f"numbers of windows of {self.answer.id} have gaps")
        ends = [first] + [to for _, _, to, _ in told]
        if [begin for _, begin, _, _ in told] != ends[:-1] or ends[-1] != last:
            self.faults.append(f"windows of {self.answer.id} do not follow each other from the first hour to the last")
        if told != self.kept():
            self.faults.append(f"{self.answer.id}: {len(told)} windows were told, {len(self.kept())} are kept")
        for number in list(self.seen):
            self.fetch(number)
        if self.product == "statistics":
            days = {day for _, begin, to, status in told if status == "released" for day in range(begin // 24, (to - 1) // 24 + 1)}
            spent = dict(self.field.suite.rows(
                "anonymiser", "SELECT day, micro_rho FROM group_organisation_days WHERE organisation = ?", stored(self.organisation.id)))
            if spent != {day: RELEASE_MICRO_RHO for day in days}:
                self.faults.append(f"a subscription was charged {spent} for windows of {sorted(days)}")
        return told

    def compare(self, told):
        """Faults of records beside what the shadow says of each hour: which are released, which are joined, and of how many people."""
        shadow, members = self.field.shadow, self.field.shadow.matching(self.filters)
        (first, last), expected, held = shadow.window, [], None
        for hour in range(first, last):
            begin = hour if held is None else held
            if hour + 1 - begin > HOLD_HOURS:
                expected.append((begin, hour, "withheld"))
                begin = hour
            people, held = int((members & shadow.contributing(HEART, begin, hour + 1)).sum()), None
            if people > 1000:
                expected.append((begin, hour + 1, "released"))
            elif hour + 1 - begin >= HOLD_HOURS or hour + 1 == last:
                expected.append((begin, hour + 1, "withheld"))
            else:
                held = begin
        faults = []
        if [one[1:] for one in told] != expected:
            faults.append(f"{self.answer.id}: {len(told)} windows were told, {len(expected)} others are right")
        for number, begin, to, status in told:
            if status == "released":
                people = int((members & shadow.contributing(HEART, begin, to)).sum())
                entries = len(self.fetch(number))
                if people <= 1000 or entries != people // 10:
                    faults.append(f"window {number} of {self.answer.id}: {entries} entries of {people} people")
        return faults


def small_group(field):
    """Filters of a group that is now above the threshold, now below it, from hour to hour."""
    shadow, random = field.shadow, field.random
    counted = shadow.contributing(HEART, *shadow.window)
    for size in random.sample(range(1085, 1111), 26):
        if filters := shadow.exactly(size, counted, random, lambda one: "residence" not in one):
            return filters
    raise AssertionError("no such group in this population")


def anonymiser(suite):
    return [process for process, program in suite.processes() if program == "anonymiser"]


def kill(field, before):
    """At a moment by chance: seven times of ten once it answers, else also while it starts. The process that was killed."""
    await_until("the anonymiser runs again", START_S, lambda: len(found := anonymiser(field.suite)) == 1 and found != before)
    running = anonymiser(field.suite)
    if field.random.random() < 0.7:
        field.await_catalogue(START_S)
    time.sleep(field.random.uniform(0, 2))
    field.suite.kill_service("anonymiser")
    return running


def crashes(field):
    """T21: kill -9 under load. T24: windows that dip below the threshold, over the same kills."""
    suite, random, wanted = field.suite, field.random, field.options.kills
    suite.change("anonymiser", "UPDATE cohort_rows SET changed_at = 0")
    killed = anonymiser(suite)
    suite.kill_service("anonymiser")  # it reads them when it starts
    await_until("the anonymiser runs again", START_S, lambda: len(found := anonymiser(suite)) == 1 and found != killed)
    field.await_catalogue(START_S)
    before = dict(suite.rows("anonymiser", "SELECT day, additions FROM group_days"))
    head = "SELECT coalesce(max(head), 0) FROM stream_heads WHERE stream = 'anonymiser.windows'"
    said = suite.rows("anonymiser", head)[0][0]

    # One after the other, so that there are always windows to close.
    whole = [{"sex": [sex], "height": {"from": random.choice((125, 130, 135))}} for sex in SEXES[:2]]
    planned = [(small_group(field), "records"), (whole[0], "statistics"), (small_group(field), "records"), (whole[1], "records"),
               (whole[1], "statistics"), (small_group(field), "records")]
    crowd, subscriptions = Crowd(field), []
    crowd.begin()
    try:
        for number in range(wanted):
            while len(subscriptions) < len(planned) and len(subscriptions) <= number * len(planned) // wanted:
                subscriptions.append(Subscription(field, *planned[len(subscriptions)]))
            killed = kill(field, killed)
            random.choice(subscriptions).look()
    finally:
        crowd.end()
    field.await_catalogue(START_S)
    still = "SELECT count(*) FROM group_subscriptions WHERE closes IS NOT NULL"
    await_until("all windows are closed", WINDOWS_S, lambda: suite.rows("anonymiser", still)[0][0] == 0)
    for one in subscriptions:
        await_until("all windows are told", START_S, lambda: len(one.told()) == len(one.kept()))

    told = [one.judge() for one in subscriptions]
    windows = sum(map(len, told))
    faults = crowd.faults + crowd.look_again()
    faults += crowd.charges(before, 24 * sum(one.product == "statistics" for one in subscriptions))
    if (heard := suite.rows("anonymiser", head)[0][0] - said) != windows:
        faults.append(f"{heard} windows were said, {windows} are kept")
    dips = [fault for one, some in zip(subscriptions, told) if one.product == "records" for fault in one.compare(some)]
    faults += [fault for one in subscriptions for fault in one.faults]
    released, answers = crowd.admitted(), sum(map(len, crowd.answers.values()))
    products = collections.Counter(answer.body["product"] for answer in released.values())
    is_enough = answers >= wanted and min(products["records"], products["statistics"]) >= min(wanted, 16)
    field.report(
        "T21", f"{wanted} times kill -9 while {THREADS} threads ask",
        f"{answers} answers, {dict(products)} released and served again, {windows} windows; {len(faults)} uncharged, doubled or changed",
        "0", is_enough and not faults, faults or ["too little was released between the kills"])
    joined = [one for some in told for one in some if one[2] - one[1] > 1]
    field.report(
        "T24", f"{windows} windows of {len(subscriptions)} subscriptions, {len(joined)} of them joined, over the same kills",
        f"{len(dips)} other than by the shadow's count of people", "0, > 1000 people in each, 72 windows and more, some joined",
        not dips and windows >= 72 and bool(joined), dips)
