#!/usr/bin/env python3
"""Second opinion on supervision: computes the list of events of docs/sos-rules.md §4 from a recording.

Written from docs/sos-rules.md and the requirements alone, without a look at the service. "§" is a section of that page.
Python 3.11, standard library only. All times are integers: milliseconds since 1970, UTC.
"""
import argparse
import csv
import json
import math
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

MAX, MIN, PAIR = "blood-pressure-max", "blood-pressure-min", "blood-pressure"
BELOW, ABOVE = "below", "above"
SILENCE = "silence", BELOW                      # §3.5

# §1: what is possible, both ends included but for a rate of 0 (ING-08); only these metrics are numbers here.
POSSIBLE = {
    "heart-rate": (0, 350), "pulse-rate": (0, 350),
    "blood-pressure-max": (1, 400), "cuff-blood-pressure-max": (1, 400),
    "blood-pressure-min": (1, 300), "cuff-blood-pressure-min": (1, 300),
    "blood-pressure-mean": (1, 350), "cuff-blood-pressure-mean": (1, 350),
    "oxygen-saturation": (1, 100), "respiration-rate": (1, 150), "body-temperature": (10, 50), "glucose": (1, 2000),
}
NOT_ZERO = {"heart-rate", "pulse-rate"}
VITAL = {"heart-rate", "pulse-rate", "blood-pressure-max", "blood-pressure-min", "blood-pressure-mean", "oxygen-saturation",
         "body-temperature", "respiration-rate", "electrocardiogram", "myocardial-signal"}
RATES = {"heart-rate", "pulse-rate", "respiration-rate"}
ON_DEMAND = {"cuff-blood-pressure-max", "cuff-blood-pressure-min", "cuff-blood-pressure-mean", "glucose", "weight", "height"}
# §4: columns of a recording.
COLUMNS = {
    "HR_bpm": "heart-rate", "heart_rate_bpm": "heart-rate", "ABPSys_mmHg": "blood-pressure-max", "ABPDias_mmHg": "blood-pressure-min",
    "ABPMean_mmHg": "blood-pressure-mean", "PULSE_bpm": "pulse-rate", "RESP_pm": "respiration-rate",
    "SpO2_%": "oxygen-saturation", "NBPSys_mmHg": "cuff-blood-pressure-max", "NBPDias_mmHg": "cuff-blood-pressure-min",
    "NBPMean_mmHg": "cuff-blood-pressure-mean",
}
DEFAULTS = {"heart-rate": (45, 120), MAX: (None, 180), MIN: (None, 120)}     # §2
HALVES = {MAX: 170, MIN: 100}                                               # SOS-05
SETTINGS = {
    "max_age": 60_000, "signal_lost": 30_000, "sustain": 3_000, "dispatch_at": 3_500, "bp_rule": "and", "silence_contacts": 300_000,
    "silence_calls_ambulance": False, "doubt": 20_000, "reask": 60_000, "mute": 300_000, "calm": 10_000, "hr_severe_low": 35,
    "hr_severe_high": 160, "fall_prompt": 20_000,
}
# Fixed by the page.
NORMAL, HELD, SILENT, DAY = 120_000, 600_000, 3_600_000, 86_400_000
LATE, EVENT_AGE, REPEATED, ASKED_BACK, REASK_LOW, LONGEST_MUTE, SEVERE_MUTE = 600_000, 900_000, 10_000, 60_000, 20_000, 900_000, 60_000
LIVE, REMEMBERED = 10_000, 8
AVERAGED, OPENINGS, WITHIN = 30_000, 3, 60_000

IDLE = ("MONITORING", "SUSPENDED")
TYPED = "manual"                                # the source of what no device measured
ASKING = ("ALERTED", "CONFIRMED", "ASKED AGAIN")
CALLED = ("DISPATCHING", "DISPATCHED")


def order(breach):                              # "in order of parameters"
    return breach[0], breach[1] == ABOVE


@dataclass
class Latest:                                   # §2: of one metric and source
    value: float
    measured: int
    received: int
    own: int                                    # its own time, at most that up to which ages of its upload count
    refused: bool


@dataclass
class Run:                                      # §2: of one source and breach
    first: int = 0
    length: int = 0                             # 0: none goes on
    calm_since: float = -math.inf
    beginnings: list = field(default_factory=list)


@dataclass
class Known:                                    # §3: of one open or muted breach
    answers: int = 0
    lowest: float = math.inf
    severe: bool = False
    told: tuple | None = None                   # (lowest, severe) as last answered, called for or sent
    until: float = math.inf                     # of a mute; endless while it is lapsed
    lapsed: bool = False
    asked_for_silence: bool = False

    def saw(self, value, severe):
        self.lowest, self.severe = min(self.lowest, value), self.severe or severe

    def tell(self):
        self.told = (self.lowest, self.severe)


@dataclass
class Critical:                                 # §2: a critical entry
    metric: str
    value: float
    breaches: set
    calm_begun: set


@dataclass
class Heard:                                    # §3.5: one metric of one source
    last: int
    declared: int
    gaps: list = field(default_factory=list)

    def interval(self):
        gaps = sorted(self.gaps)
        if not gaps or self.declared > 0 and len(gaps) < 3:
            return self.declared
        rank = math.ceil((0.95 if len(gaps) >= 20 else 0.5) * len(gaps))
        learnt = max(self.declared, gaps[rank - 1])
        return 0 if len(gaps) < 3 and learnt > 3_600_000 else learnt

    def is_on_demand(self, metric):
        return metric in ON_DEMAND or self.declared <= 0 and self.interval() > 3_600_000


@dataclass
class Doubt:                                    # §3.7
    due: int
    metric: str
    value: float

    @property
    def breach(self):
        return self.metric, BELOW


class Machine:
    def __init__(self, **settings):
        unknown = settings.keys() - SETTINGS.keys()
        assert not unknown, unknown
        self.rules = SETTINGS | settings
        self.events = []
        self.now = -math.inf
        self.state, self.subscribed = "OFF", False
        self.own, self.personal = {}, {}
        self.trigger, self.t0, self.kept, self.normal_since, self.acknowledged_at, self.asked_back = None, None, False, None, None, None
        self.open, self.mutes, self.called_off = {}, {}, {}
        self.doubt, self.fall_due, self.late, self.last_help = None, None, None, None
        self.help_at = None                             # own time of the last that counted
        self.counted = {"help": [], "fall": []}         # §3.6: source and own time of the last entries that counted
        self.latest_counted = {"help": -math.inf, "fall": -math.inf}        # their latest τ, that of answers too
        self.joining_due, self.joining_said, self.contacts_due, self.contacts_know = None, False, None, False
        self.forget_measurements()

    def forget_measurements(self):
        self.latest, self.runs = {}, {}         # by (metric, source), by (source, breach)
        self.signals, self.silent = {}, set()   # §3.5: by (metric, source); names of signals
        self.whole = {}                         # §1: by source, the metrics of the last upload that was not torn, and whether one was since
        self.sign_of_life = None                # (metric, measured)

    def emit(self, event, name=None):
        self.events.append((self.now, event, name or self.trigger))

    # ---- §2: what is critical

    @property
    def pair_rule(self):
        return self.rules["bp_rule"] == "and" and all(self.own.get(metric, (None, None))[1] is None for metric in HALVES)

    def bounds(self, metric):
        low, high = DEFAULTS.get(metric, (None, None))
        if self.rules["bp_rule"] == "or" and metric in HALVES:
            high = HALVES[metric]
        personal, own = self.personal.get(metric, (None, None)), self.own.get(metric, (None, None))
        if personal[0] is not None:
            low = personal[0]
        if personal[1] is not None and not (metric in HALVES and self.pair_rule):
            high = personal[1]
        return own[0] if own[0] is not None else low, own[1] if own[1] is not None else high

    def half(self, metric):                     # of the pair in force
        if metric not in HALVES or not self.pair_rule:
            return None
        personal = self.personal.get(metric, (None, None))[1]
        return personal if personal is not None else HALVES[metric]

    def is_watched(self, metric):
        return any(side is not None for side in (*self.bounds(metric), self.half(metric)))

    def own_breach(self, metric, value):        # of the metric's parameter, by the metric's bounds alone
        low, high = self.bounds(metric)
        if low is not None and value < low:
            return metric, BELOW
        if high is not None and value > high:
            return metric, ABOVE
        return None

    def is_beyond(self, metric, value):
        half = self.half(metric)
        return self.own_breach(metric, value) is not None or half is not None and value > half

    def is_severe(self, breach, value):
        parameter, direction = breach
        low, high = {
            "heart-rate": (self.rules["hr_severe_low"], self.rules["hr_severe_high"]), MAX: (None, 180), MIN: (None, 120),
            "oxygen-saturation": (80, None)}.get(parameter, (None, None))
        if direction == BELOW and low is not None:
            bound = self.bounds(parameter)[0]
            return value < (low if bound is None else min(low, bound))
        if direction == ABOVE and high is not None:
            bound = self.bounds(parameter)[1]
            return value > (high if bound is None else max(high, bound))
        return True

    def breaches_of(self, source, parameters=None):     # by this source's latest values
        found = set()
        for (metric, of), latest in self.latest.items():
            if of == source and (parameters is None or metric in parameters) and (breach := self.own_breach(metric, latest.value)):
                found.add(breach)
        if (parameters is None or PAIR in parameters) and self.pair_rule:
            halves = [self.latest.get((metric, source)) for metric in (MAX, MIN)]
            if all(latest and latest.value > self.half(metric) for metric, latest in zip((MAX, MIN), halves)):
                found.add((PAIR, ABOVE))
        return found

    def sources(self):
        return sorted({source for _, source in self.latest})

    def critical(self):                         # S
        return set().union(*(self.breaches_of(source) for source in self.sources()))

    def critical_values(self, breach):          # (measured, source, metric, value) of each source by which it is critical
        parameter, _ = breach
        metric = MAX if parameter == PAIR else parameter
        return [(latest.measured, source, metric, latest.value) for source in self.sources()
                if breach in self.breaches_of(source, {parameter}) and (latest := self.latest[metric, source])]

    # ---- §2: measurements

    def measure(self, counting, t, source, aged_to, refused):
        """Takes the measurements of an upload. What is critical in it, and which breaches it proves."""
        groups = {}
        for metric, at, measured, value in counting:
            groups.setdefault(at, []).append((metric, measured, value))
        entries, proven, taken_metrics = [], set(), set()
        for at in sorted(groups):
            group, taken = groups[at], []
            for metric, measured, value in group:
                if not self.is_watched(metric):
                    continue
                known = self.latest.get((metric, source))
                stands = refused and known is not None and not known.refused and known.own <= aged_to
                if known is None or self.is_beyond(metric, value) or measured >= known.measured and not stands:
                    keeps = stands and self.is_beyond(metric, known.value)
                    self.latest[metric, source] = Latest(value, measured, t, min(at, aged_to), refused and not keeps)
                    taken.append((metric, value))
            if not taken:
                continue
            metrics = {metric for metric, _ in taken}
            taken_metrics |= metrics
            parameters = metrics | ({PAIR} if metrics & HALVES.keys() else set())
            critical = self.breaches_of(source, parameters)
            calm_begun = self.run(source, parameters, critical, group[0][1], proven)
            for metric, value in taken:
                breaches = {breach for breach in critical
                            if breach == self.own_breach(metric, value) or breach[0] == PAIR and metric in HALVES}
                if self.is_beyond(metric, value) and breaches:
                    entries.append(Critical(metric, value, breaches, breaches & calm_begun))
        return entries, proven, taken_metrics

    def run(self, source, parameters, critical, measured, proven):
        calm_begun = set()
        for breach in [(parameter, direction) for parameter in parameters for direction in (BELOW, ABOVE)]:
            key = source, breach
            if breach not in critical:
                run = self.runs.get(key)
                if run and run.length:
                    run.length, run.calm_since = 0, measured
                continue
            run = self.runs.setdefault(key, Run())
            if not run.length:
                run.first = measured
                run.beginnings = [begun for begun in run.beginnings if self.now - begun <= WITHIN + self.rules["max_age"]] + [measured]
                others = any(breach in self.breaches_of(other, {breach[0]}) for other in self.sources() if other != source)
                if measured - run.calm_since >= self.rules["calm"] and not others:
                    calm_begun.add(breach)
            run.length += 1
            run.first = min(run.first, measured)
            begun = sorted(run.beginnings)
            often = any(max(last, measured) - min(first, measured) <= WITHIN for first, last in zip(begun, begun[OPENINGS - 1:]))
            if measured - run.first >= self.rules["sustain"] or often:
                proven.add(breach)
        return calm_begun

    def forget_old(self, t):
        for (metric, source), latest in list(self.latest.items()):
            heard = self.signals.get((metric, source))
            if t - latest.measured > max(HELD, 3 * (heard.interval() if heard else 0)):
                del self.latest[metric, source]
                for key in [key for key in self.runs if key[0] == source and (key[1][0] == metric or key[1][0] == PAIR and metric in HALVES)]:
                    del self.runs[key]

    # ---- §3.4: what is worse, and mutes

    def is_worse(self, known, entry_breach, value):
        if known.told is None:
            return False
        lowest, severe = known.told
        if self.is_severe(entry_breach, value) and not severe:
            return True
        return entry_breach[1] == BELOW and 4 * value <= 3 * lowest

    def mute(self, breach, known):
        known.answers += 1
        known.tell()
        known.lapsed = False
        if breach[1] == BELOW:
            length = SEVERE_MUTE if known.severe else self.rules["mute"]
        else:
            length = min(self.rules["mute"] * 2 ** (known.answers - 1), LONGEST_MUTE)
        known.until = self.now + length
        self.mutes[breach] = known

    def mute_open(self):
        for breach, known in self.open.items():
            self.mute(breach, known)
        self.open = {}

    def tell_open(self):
        for known in self.open.values():
            known.tell()

    def take_up(self, breach, entries, calm_begun=False):
        """An answered or a new breach becomes open."""
        known = self.mutes.pop(breach, None) or self.open.get(breach)
        if known is None:
            known = Known()
            values = [entry.value for entry in entries if breach in entry.breaches]
        else:
            values = []
            if calm_begun:
                known.lowest, known.severe, known.asked_for_silence = math.inf, False, False
                values = [entry.value for entry in entries if breach in entry.breaches]
        for value in values:
            known.saw(value, self.is_severe(breach, value))
        if breach == SILENCE:
            known.severe = True
        if calm_begun and known.told is not None:
            known.tell()
        known.until, known.lapsed = math.inf, False
        self.open[breach] = known

    # ---- §3.1: time

    def timers(self):
        rules, state = self.rules, self.state
        if state == "ALERTED":
            yield self.t0 + (rules["doubt"] if self.waits() else rules["sustain"]), 0, "", self.confirm
        if state == "CONFIRMED":
            yield self.t0 + rules["dispatch_at"], 1, "", self.dispatch
        if state == "ASKED AGAIN":
            yield self.question_due, 2, "", self.dispatch
        if self.doubt:
            yield self.doubt.due, 3, "", self.doubt_due
        if self.fall_due is not None:
            yield self.fall_due, 4, "", self.fall_is_due
        runs = state in IDLE or state == "STOOD-DOWN"
        if runs and self.mutes:
            yield min(known.until for known in self.mutes.values()), 5, "", self.mutes_end
        if runs and self.joining_due is not None:
            yield self.joining_due, 6, "", self.joining_is_due
        if runs and self.subscribed:
            for name in {self.signal(metric) for metric, _ in self.signals} - self.silent:
                if (due := self.deadline(name)) is not None:
                    yield due, 7, name, lambda name=name: self.falls_silent(name)
        if state in IDLE and self.contacts_due is not None:
            yield self.contacts_due, 8, "", self.contacts_are_due
        if state == "DISPATCHED":
            heard = [due for due in [self.joining_due, *map(self.deadline, {self.signal(metric) for metric, _ in self.signals})] if due is not None]
            yield max(heard + [self.acknowledged_at]) + SILENT, 9, "", self.closes_by_silence
            if self.kept:
                yield self.acknowledged_at + DAY, 9, "", self.close

    def next_timer(self):
        return min(((due, rank, name, act) for due, rank, name, act in self.timers() if due < math.inf), default=None, key=lambda timer: timer[:3])

    def fire(self, timer):
        self.now = max(self.now, timer[0])
        timer[3]()

    def advance(self, t):
        while (timer := self.next_timer()) and timer[0] <= t:
            self.fire(timer)
        self.now = max(self.now, t)

    def happens(self, t, act):
        t = max(t, self.now)
        self.advance(t)
        act()
        self.advance(self.now)

    def confirm(self):
        self.state = "CONFIRMED"
        self.emit("confirmed")

    def dispatch(self):
        self.state, self.normal_since, self.asked_back = "DISPATCHING", None, None
        self.tell_open()
        self.emit("dispatched")

    def waits(self):
        open_critical = self.critical() & self.open.keys()
        if not open_critical or any(parameter not in POSSIBLE for parameter, _ in open_critical):
            return False
        for breach in open_critical:
            metric = breach[0]
            critical = {source for _, source, _, _ in self.critical_values(breach)}
            if any(self.runs.get((source, breach), Run()).length != 1 for source in critical):
                return False
            if not any(of == metric and source not in critical and not self.is_beyond(metric, latest.value)
                       and latest.received >= self.t0 + 3_000 - WITHIN for (of, source), latest in self.latest.items()):
                return False
        return True

    def mutes_end(self):
        ended = sorted((breach for breach, known in self.mutes.items() if known.until <= self.now), key=order)
        asked = []
        for breach in ended:
            known, values = self.mutes[breach], self.critical_values(breach)
            if any(self.now - measured <= WITHIN for measured, *_ in values):
                asked.append(breach)
            elif values and breach[1] == BELOW and not known.asked_for_silence:
                known.asked_for_silence = True
                asked.append(breach)
            elif values and breach[1] == ABOVE:
                known.until, known.lapsed = math.inf, True
            else:
                del self.mutes[breach]
        if not asked:
            return
        if self.state == "STOOD-DOWN":
            self.emit("closed")
        newest = max(measured for measured, *_ in self.critical_values(asked[0]))
        trigger = min((source, metric) for measured, source, metric, _ in self.critical_values(asked[0]) if measured == newest)[1]
        self.ask_again(trigger, asked, [])

    def ask_again(self, trigger, breaches, entries, calm_begun=()):
        self.begin(trigger, "ASKED AGAIN")
        for breach in breaches:
            self.take_up(breach, entries, breach in calm_begun)
        self.question_due = self.t0 + self.time_to_answer()
        self.emit("asked-again")

    def time_to_answer(self):
        return REASK_LOW if any(direction == BELOW for _, direction in self.open) else self.rules["reask"]

    def begin(self, trigger, state):
        self.trigger, self.t0, self.state, self.kept, self.normal_since = trigger, self.now, state, False, None

    # ---- §3.2, §3.3: uploads

    def upload(self, t, entries, interval=0, source="", sent=None, refused=False, received=None):
        """Entries are (metric, own time, value); `sent` is what the device's clock said, `received` what the receiving one did, if not t."""
        received = t if received is None else received
        self.happens(t, lambda: self._upload(received, received if sent is None else sent, entries, interval, source, refused))

    def _upload(self, received, sent, entries, interval, source, refused):
        if not self.subscribed:
            return
        t = self.now
        aged = [(metric, at, max(0, min(received, sent) - at), value) for metric, at, value in entries]
        latest = max(received, sent)
        if self.state != "PAUSED":
            counting = [(metric, at, t - age, value) for metric, at, age, value in aged if self.counts(metric, age, value)]
            if counting:
                self.readings(counting, t, interval, source, min(received, sent), refused)
            self.late_reading(aged, t, source)
        for at, age in [(at, age) for metric, at, age, _ in aged if metric == "fall" and age <= EVENT_AGE]:
            if not self.is_known("fall", source, at, age, latest) or self.is_unclear("fall", at) and self.state not in CALLED:
                self.falls(source, at, age)
        for metric, at, age, _ in aged:
            if metric == "help":
                if age > EVENT_AGE:
                    self.emit("help-contacts", "-")
                elif not self.is_known("help", source, at, age, latest):
                    self.help(at, age, source)
                elif self.last_help is None and self.is_unclear("help", at):
                    self.remember("help", source, at, age)
                    self.emit("help-contacts", "-")

    def is_known(self, metric, source, at, age, latest):        # §3.6: what is sent again
        is_live = age <= LIVE and at - latest <= LIVE
        return (source, at) in self.counted[metric] or not is_live and self.now - age <= self.latest_counted[metric]

    def is_unclear(self, metric, at):       # of what is sent again: whether it may be another one
        return all(own != at for _, own in self.counted[metric])

    def remember(self, metric, source, at, age):                # an answer has no source
        if source is not None:
            self.counted[metric] = (self.counted[metric] + [(source, at)])[-REMEMBERED:]
        self.latest_counted[metric] = max(self.latest_counted[metric], self.now - age)

    def counts(self, metric, age, value):
        return age <= self.rules["max_age"] and is_possible(metric, value) and (metric in VITAL or self.is_watched(metric))

    def readings(self, counting, t, interval, source, aged_to, refused):
        whole, torn_since = self.whole.get(source, (set(), False))
        if self.is_torn(counting, source, whole, torn_since):
            self.whole[source] = whole, True
            if not self.doubt:
                self.doubt = Doubt(t + self.rules["doubt"], counting[0][0], counting[0][3])
                self.emit("doubted", counting[0][0])
            return
        self.whole[source] = {metric for metric, *_ in counting}, False
        self.hear(counting, t, interval, source)
        self.forget_old(t)
        entries, proven, taken = self.measure(counting, t, source, aged_to, refused)
        metrics = taken if refused else {metric for metric, *_ in counting}
        if self.doubt and self.doubt.metric in metrics:
            if not any(entry.metric == self.doubt.metric for entry in entries):
                self.emit("doubt-ended", self.doubt.metric)
            self.doubt = None
        if self.late and self.late[0] in metrics:
            self.late = None
        self.judge(entries, proven, taken, source)

    def is_torn(self, counting, source, whole, torn_since):
        if len(counting) != 1 or torn_since:
            return False
        metric, _, _, value = counting[0]
        breach = metric, BELOW
        if metric not in RATES or self.own_breach(metric, value) != breach:
            return False
        heard = self.signals.get((metric, source))
        if heard is None or heard.interval() < AVERAGED:
            return False
        if metric not in whole or len((whole & VITAL) - {metric}) < 2 or self.signal(metric) in self.silent:
            return False
        if breach in self.open and self.state in ("ALERTED", "CONFIRMED"):     # §3.4: nothing open is worse there, it is armed
            return False
        known = self.open.get(breach) or self.mutes.get(breach)
        return known is None or self.is_worse(known, breach, value)

    def judge(self, entries, proven, taken, source):
        critical = self.critical()
        opening, asking = [], []                # (entry, breaches)
        for entry in entries:
            opens, asks = set(), set()
            for breach in entry.breaches:
                muted, is_open = self.mutes.get(breach), breach in self.open
                if not muted and not is_open or muted and self.is_worse(muted, breach, entry.value):
                    opens.add(breach)
                elif muted and (muted.lapsed or breach in entry.calm_begun):
                    asks.add(breach)
            if opens:
                opening.append((entry, opens))
            if asks:
                asking.append((entry, asks))
        worse = [(entry, found) for entry in entries
                 if (found := {breach for breach in entry.breaches if breach in self.open and self.is_worse(self.open[breach], breach, entry.value)})]
        self.note(entries)
        calm_begun = {breach for entry in entries for breach in entry.calm_begun if breach in self.mutes}
        for breach, known in list(self.mutes.items()):      # §3.4: a lapsed one ends by a value in range
            metrics = HALVES.keys() if breach[0] == PAIR else {breach[0]}
            if known.lapsed and taken & metrics and breach not in critical and not any(breach in entry.breaches for entry in entries):
                del self.mutes[breach]
        opened = set().union(*(breaches for _, breaches in opening))
        asked = set().union(*(breaches for _, breaches in asking)) - opened

        if self.state == "STOOD-DOWN":
            if opening or asking or not critical:
                self.emit("closed")
                self.ends()
            if not opening and not asking:
                return
        if self.state in IDLE:
            if opening:
                self.alert(opening[0][0].metric, entries, critical, opened | asked, calm_begun)
                self.is_alerted(critical, proven, source)
            elif asking:
                self.ask_again(asking[0][0].metric, sorted(asked, key=order), entries, calm_begun)
        elif self.state == "ALERTED":
            self.join(opened | asked, entries, calm_begun)
            self.is_alerted(critical, proven, source)
        elif self.state == "CONFIRMED":
            self.join(opened | asked, entries, calm_begun)
        elif self.state == "ASKED AGAIN":
            self.is_asked_again(entries, critical, proven, source, opening, worse, opened, asked, calm_begun)
        elif self.state in CALLED:
            self.is_called(entries, critical, opening + asking + worse, opened | asked, calm_begun)

    def note(self, entries):                    # the lowest and the severest since a breach was opened
        for entry in entries:
            for breach in entry.breaches:
                if known := self.open.get(breach) or self.mutes.get(breach):
                    known.saw(entry.value, self.is_severe(breach, entry.value))

    def join(self, breaches, entries, calm_begun):
        for breach in breaches:
            self.take_up(breach, entries, breach in calm_begun)

    def alert(self, trigger, entries, critical, opening, calm_begun):
        self.begin(trigger, "ALERTED")
        every = critical | {breach for entry in entries for breach in entry.breaches}
        self.join({breach for breach in every if breach not in self.mutes and breach not in self.open} | opening, entries, calm_begun)
        self.emit("opened")

    def is_alerted(self, critical, proven, source):
        if proven & self.open.keys():
            self.confirm()
        elif SILENCE in self.open and source == TYPED:      # §3.5: what is typed in is no sign of life
            return
        elif not critical & self.open.keys():
            self.emit("transient")
            self.ends()

    def is_asked_again(self, entries, critical, proven, source, opening, worse, opened, asked, calm_begun):
        first = next((entry for entry in entries if any(entry is found for found, _ in opening + worse)), None)
        if first:
            self.emit("transient")
            self.alert(first.metric, entries, critical, opened | asked, calm_begun)
            self.is_alerted(critical, proven, source)
        elif asked:
            self.join(asked, entries, calm_begun)
            self.question_due = min(self.question_due, self.now + self.time_to_answer())
            self.normal_since = None
        elif critical & self.open.keys():
            self.normal_since = None
        else:
            if self.normal_since is None:
                self.normal_since = self.now
            if self.now - self.normal_since >= self.rules["calm"]:
                self.emit("transient")
                self.ends()

    def is_called(self, entries, critical, said, joining, calm_begun):
        first = next((entry for entry in entries if any(entry is found for found, _ in said)), None)
        if first:
            self.join(joining, entries, calm_begun)
            self.tell_open()
            self.emit("worse", first.metric)
        critical = {breach for breach in critical if breach not in self.mutes or breach in self.open}
        seen = {breach for entry in entries for breach in entry.breaches if breach not in self.mutes or breach in self.open}
        if seen or critical:
            self.normal_since = None
        if not critical:
            if self.normal_since is None:
                self.normal_since = self.now
            if self.state == "DISPATCHED" and self.now - self.normal_since >= NORMAL and not self.kept:
                self.close()

    def close(self):
        self.emit("closed")
        self.ends()

    def closes_by_silence(self):
        self.contacts_know = True
        self.contacts_due = None
        self.close()

    def ends(self):                             # §3.3: back to what was before the emergency
        self.open, self.normal_since, self.kept = {}, None, False
        if not self.subscribed:
            self.off()
        else:
            self.state = "SUSPENDED" if self.is_all_silent() else "MONITORING"

    # ---- §3.5: silence

    @staticmethod
    def signal(metric):
        return PAIR if metric in HALVES else metric

    def deadline(self, name):
        metrics = (MAX, MIN) if name == PAIR else (name,)
        found = []
        for metric in metrics:
            dues = [heard.last + max(self.rules["signal_lost"], 3 * heard.interval()) for (of, _), heard in self.signals.items()
                    if of == metric and not heard.is_on_demand(metric)]
            if dues:
                found.append(max(dues))
        return min(found, default=None)

    def names(self):
        return {self.signal(metric) for metric, _ in self.signals}

    def is_all_silent(self):
        with_deadline = {name for name in self.names() if self.deadline(name) is not None}
        return self.joining_said or bool(with_deadline) and with_deadline <= self.silent

    def hear(self, counting, t, interval, source):
        watched = [metric for metric, *_ in counting if self.is_watched(metric)]
        if not watched or source == TYPED:
            return
        before = self.names()
        for metric, _, measured, _ in counting:
            if metric in watched and (self.sign_of_life is None or measured >= self.sign_of_life[1]):
                self.sign_of_life = metric, measured
        for metric in dict.fromkeys(watched):
            heard = self.signals.get((metric, source))
            if heard is None:
                self.signals[metric, source] = Heard(t, interval)
                continue
            if t != heard.last:
                explained = interval > 0 and t - heard.last <= max(self.rules["signal_lost"], 3 * interval)
                heard.gaps = (heard.gaps + [0 if explained else t - heard.last])[-200:]
            heard.last, heard.declared = t, interval
        self.joining_due = None
        returned = sorted(name for name in self.silent if (due := self.deadline(name)) is None or due > t)
        if self.joining_said:
            self.joining_said = False
            self.emit("signal-returned", "-")
        for name in returned:
            self.silent.discard(name)
            self.emit("signal-returned", name)
        if self.state == "SUSPENDED" and (returned or self.names() - before):
            self.state = "MONITORING"
        self.forget_contacts()

    def forget_contacts(self):
        if "heart-rate" not in self.silent and self.names() - self.silent:
            self.contacts_due, self.contacts_know = None, False

    def falls_silent(self, name):
        self.silent.add(name)
        self.emit("signal-lost", name)
        self.after_silence(name == "heart-rate")

    def joining_is_due(self):
        self.joining_due, self.joining_said = None, True
        self.emit("signal-lost", "-")
        self.after_silence(False)

    def after_silence(self, of_heart):
        everything = self.is_all_silent()
        if (of_heart or everything) and self.contacts_due is None and not self.contacts_know:
            self.contacts_due = self.now + self.rules["silence_contacts"]
        if everything and self.state == "STOOD-DOWN":
            self.emit("closed")
            self.ends()
        elif everything and self.state == "MONITORING":
            self.state = "SUSPENDED"

    def contacts_are_due(self):
        self.contacts_due, self.contacts_know = None, True
        self.emit("silence-contacts", "-")
        if self.rules["silence_calls_ambulance"] and self.is_all_silent() and self.sign_of_life:
            self.begin(self.sign_of_life[0], "ALERTED")
            self.open = {SILENCE: Known(severe=True)}
            self.emit("opened")

    def join_supervision(self, interval):
        self.forget_measurements()
        self.mutes, self.doubt, self.late = {}, None, None
        self.joining_due, self.joining_said = self.now + max(self.rules["signal_lost"], 3 * interval), False
        self.contacts_due, self.contacts_know = None, False

    # ---- §3.6: answers

    def answer(self, t, word):
        self.happens(t, {"fine": self.fine, "false-alarm": self.fine, "help": lambda: t != self.help_at and self.help(t, self.now - t),
                         "help-is-here": self.help_is_here}[word])

    def fine(self):
        self.last_help = None                   # another call for help is another one from now on
        if self.state == "OFF":
            return
        if self.fall_due is not None:
            self.fall_due = None
            self.emit("fall-ended", "fall")
        if self.doubt:
            doubt, self.doubt = self.doubt, None
            self.emit("doubt-ended", doubt.metric)
            if doubt.breach in self.open:
                self.open[doubt.breach].saw(doubt.value, self.is_severe(doubt.breach, doubt.value))
            if doubt.breach not in self.open or self.state not in ASKING + CALLED:
                known = self.mutes.get(doubt.breach) or Known()
                known.saw(doubt.value, self.is_severe(doubt.breach, doubt.value))
                self.mute(doubt.breach, known)
        self.late = None
        if self.state in ASKING:
            self.emit("muted")
            self.mute_open()
            self.ends()
        elif self.state in CALLED:
            self.emit("cancelled")
            self.called_off = dict(self.open)
            self.mute_open()
            self.state, self.normal_since = "STOOD-DOWN", None
            # §3.5, decision 0007: whom nothing measures any more has it closed at once.
            if not self.subscribed or self.kept and not self.critical() or self.is_all_silent():
                self.close()

    def help(self, at, age, source=None):       # `at` is its own time
        self.asked_back = None
        if self.state == "OFF" or self.last_help is not None and self.now - self.last_help <= REPEATED:
            return
        self.last_help, self.help_at = self.now, at
        self.remember("help", source, at, age)
        if self.state == "STOOD-DOWN":
            self.call_again()
        trigger = "fall" if self.fall_due is not None else self.doubt.metric if self.doubt else "help"
        self.call(trigger)
        self.fall_due, self.doubt, self.late = None, None, None
        self.dispatch()

    def call_again(self):                       # what was open when it was called off
        for breach, known in self.called_off.items():
            self.mutes.pop(breach, None)
            known.until, known.lapsed = math.inf, False
            self.open[breach] = known

    def call(self, trigger, is_kept=True):
        """An emergency of its own, or the one that is there, before it is called for."""
        if self.state == "PAUSED":
            self.resumed(0)                     # whoever fell or calls says nothing of devices
        if self.state in IDLE:
            self.begin(trigger, self.state)
            self.emit("opened")
        if self.doubt:
            self.open_doubted()
        self.kept = self.kept or is_kept

    def open_doubted(self):
        self.take_up(self.doubt.breach, [])
        self.open[self.doubt.breach].saw(self.doubt.value, self.is_severe(self.doubt.breach, self.doubt.value))

    def help_is_here(self):
        if self.state == "DISPATCHING":
            if self.asked_back is None or self.now - self.asked_back > ASKED_BACK:
                self.asked_back = self.now
                return
            self.kept = False
            self.helped()
        elif self.state == "DISPATCHED":
            self.kept = False

    def helped(self):
        self.state, self.acknowledged_at = "DISPATCHED", self.now
        if not self.subscribed:
            self.close()

    def acknowledge(self, t):
        self.happens(t, self._acknowledge)

    def _acknowledge(self):
        if self.state == "DISPATCHING":
            self.emit("acknowledged")
            self.helped()

    # ---- §3.7 to §3.9: beside the state

    def doubt_due(self):
        doubt = self.doubt
        if self.state in CALLED:
            known = self.open.get(doubt.breach)
            if known is None or self.is_worse(known, doubt.breach, doubt.value):
                self.open_doubted()
                self.tell_open()
                self.normal_since = None
                self.emit("worse", doubt.metric)
            self.doubt = None
            return
        if self.state == "STOOD-DOWN":
            self.emit("closed")
            self.ends()
        self.call(doubt.metric, is_kept=False)
        self.doubt = None
        self.dispatch()

    def late_reading(self, aged, t, source):
        if self.state not in IDLE or self.late and t < self.late[1]:
            return
        for metric, at, age, value in aged:
            if not self.rules["max_age"] < age <= LATE or not is_possible(metric, value) or not self.is_watched(metric):
                continue
            breach = self.own_breach(metric, value)
            latest = self.latest.get((metric, source))
            if breach is None or breach in self.mutes or latest and t - age <= latest.measured:
                continue
            if any(of == metric and other > at and is_possible(of, reading) for of, other, _, reading in aged):
                continue
            self.late = metric, t + LATE
            self.emit("late-critical", metric)
            return

    def falls(self, source, at, age):
        if self.fall_due is not None:
            return
        self.remember("fall", source, at, age)
        if self.state in CALLED:
            self.kept = True
            self.emit("worse", "fall")
            return
        self.fall_due = self.now + self.rules["fall_prompt"]
        self.emit("fell", "fall")

    def fall_is_due(self):
        self.fall_due = None
        self.emit("fall-contacts", "fall")
        if self.state in CALLED:
            self.kept = True
            self.emit("worse", "fall")
            return
        if self.state == "STOOD-DOWN":
            self.emit("closed")
            self.ends()
        doubt, self.doubt = self.doubt, None    # a fall takes in no doubt
        self.call("fall")
        self.doubt = doubt
        self.dispatch()

    # ---- §3.10: the rest

    def subscribe(self, t, own=None, interval=0):
        self.happens(t, lambda: self._subscribe(own, interval))

    def _subscribe(self, own, interval):
        self.own, self.interval = own or {}, interval
        if not self.subscribed:
            self.subscribed = True
            if self.state == "OFF":
                self.state = "MONITORING"
            self.join_supervision(interval)
        else:
            self.forget_unwatched(interval)

    def forget_unwatched(self, interval):
        forgotten = [heard.declared for (metric, _), heard in self.signals.items() if not self.is_watched(metric)]
        self.latest = {key: latest for key, latest in self.latest.items() if self.is_watched(key[0])}
        self.signals = {key: heard for key, heard in self.signals.items() if self.is_watched(key[0])}
        self.runs = {key: run for key, run in self.runs.items() if (self.pair_rule if key[1][0] == PAIR else self.is_watched(key[1][0]))}
        self.silent &= self.names()
        if forgotten and not self.signals:      # §3.10: no deadline is left by which anything must be heard
            self.joining_due = self.now + max(self.rules["signal_lost"], 3 * max(forgotten + [interval]))

    def unsubscribe(self, t):
        self.happens(t, self._unsubscribe)

    def _unsubscribe(self):
        if not self.subscribed:
            return
        self.subscribed, self.doubt, self.fall_due, self.late, self.mutes = False, None, None, None, {}
        self.joining_due, self.contacts_due = None, None
        if self.state == "ASKED AGAIN":
            self.emit("transient")
        if self.state in (*IDLE, "PAUSED", "ASKED AGAIN"):
            self.off()
        elif self.state in ("DISPATCHED", "STOOD-DOWN"):
            self.close()

    def off(self):
        self.state, self.open, self.mutes = "OFF", {}, {}
        self.forget_measurements()

    def pause(self, t):
        self.happens(t, self._pause)

    def _pause(self):
        if self.state not in IDLE:
            return
        if self.doubt:
            self.emit("doubt-ended", self.doubt.metric)
        self.state, self.mutes, self.doubt, self.late = "PAUSED", {}, None, None
        self.joining_due, self.joining_said, self.contacts_due, self.contacts_know = None, False, None, False
        self.forget_measurements()

    def resume(self, t, interval=0):
        self.happens(t, lambda: self.resumed(interval))

    def resumed(self, interval):
        if self.state == "PAUSED":
            self.state = "MONITORING"
            self.join_supervision(interval)


# ---- §4: a recording

def is_possible(metric, value):                 # ING-08: a disconnected sensor's 0 is no reading
    if metric not in POSSIBLE:
        return False
    low, high = POSSIBLE[metric]
    return low <= value <= high and not (value == 0 and metric in NOT_ZERO)


def number(cell):
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def milliseconds(text):
    time = datetime.fromisoformat(text)
    time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


EVENT_ENTRIES = {"help-event": "help", "fall": "fall"}


def rows(lines):                                # (time, source, word or None, entries) of each row, entries in the order of the columns
    reader = csv.reader(lines)
    header = next(reader, [])
    for row in reader:
        cells = dict(zip(header, row))
        t = milliseconds(row[0])
        at = t - int(cells.get("age_ms") or 0)
        word = cells.get("event") or None
        if word in EVENT_ENTRIES:
            entries, word = [(EVENT_ENTRIES[word], at, 1.0)], None
            yield t, cells.get("source") or "", "alone", entries
            continue
        named = [(COLUMNS[name], cell) for name, cell in zip(header, row) if name in COLUMNS]
        yield t, cells.get("source") or "", word, [(metric, at, value) for metric, cell in named if (value := number(cell)) is not None]


def uploads(recording):                         # rows of one time and source that follow each other are one upload
    waiting = None
    for t, source, word, entries in recording:
        if waiting and (word or waiting[:2] != (t, source)):
            yield waiting
            waiting = None
        if word:
            yield t, source, None if word == "alone" else word, entries
        else:
            waiting = (t, source, None, (waiting[3] if waiting else []) + entries)
    if waiting:
        yield waiting


def run_until(machine, t, ack, seen):
    """Timers and acknowledgements in the order of time; timers first (§3.1). `seen` says how much of the list was looked at, and what waits."""
    while True:
        calls = [time for time, event, _ in machine.events[seen["events"]:] if event == "dispatched"]
        if calls:
            seen["acknowledged"] = calls[-1] + ack
        seen["events"] = len(machine.events)
        timer = machine.next_timer()
        if timer and timer[0] <= min(t, seen["acknowledged"]):
            machine.fire(timer)
        elif seen["acknowledged"] <= t:
            due, seen["acknowledged"] = seen["acknowledged"], math.inf
            machine.acknowledge(due)
        else:
            machine.now = max(machine.now, t)   # a row without an entry passes time all the same
            return


def replay(recording, ack=100, own=None, interval=60_000, personal=None, **settings):
    machine, last = Machine(**settings), None
    machine.personal = personal or {}
    seen = {"events": 0, "acknowledged": math.inf}
    happenings = {
        "subscribe": lambda t: machine.subscribe(t, own, interval), "unsubscribe": machine.unsubscribe, "pause": machine.pause,
        "resume": lambda t: machine.resume(t, interval)}
    for t, source, word, entries in uploads(recording):
        if last is None:
            machine.subscribe(t, own, interval)
        last = t if last is None else max(last, t)
        run_until(machine, last, ack, seen)
        if word in happenings:
            happenings[word](t)
        elif word:
            machine.answer(t, word)
        elif entries:
            machine.upload(t, entries, interval, source)
    if last is not None:
        run_until(machine, last, ack, seen)
        end = max(last, machine.now)
        while True:                             # until 600 s after the latest, acknowledgements included
            pending = seen["acknowledged"]
            if pending < math.inf:
                end = max(end, pending)
            run_until(machine, end + 600_000, ack, seen)
            if seen["acknowledged"] == math.inf:
                break
    return machine.events


# ---- command line

def bound(text):                                # METRIC=LOW:HIGH, either side may be empty (SOS-08)
    metric, _, sides = text.partition("=")
    low, separator, high = sides.partition(":")
    if metric not in POSSIBLE or not separator:
        raise argparse.ArgumentTypeError(f"{text}: write METRIC=LOW:HIGH, for instance oxygen-saturation=90:")
    low, high = (float(s) if s else None for s in (low, high))
    least, most = POSSIBLE[metric]
    if any(s is not None and not least <= s <= most for s in (low, high)) or (None not in (low, high) and low >= high):
        raise argparse.ArgumentTypeError(f"{text}: low must be below high, both from {least} to {most}")
    return metric, (low, high)


def seconds(text):
    return round(float(text) * 1000)


DURATIONS = {
    "max_age": "sos.max_age_s", "signal_lost": "sos.signal_lost_s", "sustain": "sos.sustain_s", "dispatch_at": "sos.dispatch_at_s",
    "silence_contacts": "sos.silence_contacts_s", "doubt": "sos.doubt_s", "reask": "sos.reask_s", "mute": "sos.mute_s",
    "calm": "sos.calm_s", "fall_prompt": "sos.fall_prompt_s"}


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Computes the list of supervision events (docs/sos-rules.md, section 4) from a recording.")
    parser.add_argument("files", metavar="FILE.csv", nargs="+", help="with more than one, a line `# FILE` comes before each list")
    parser.add_argument("--ack-after-ms", type=int, default=100, metavar="N", help="every dispatch is acknowledged N ms later (100)")
    parser.add_argument("--own", type=bound, action="append", default=[], metavar="METRIC=LOW:HIGH", help="own bound; repeat for more")
    parser.add_argument("--personal", type=bound, action="append", default=[], metavar="METRIC=LOW:HIGH", help="personalised bound")
    parser.add_argument("--bp-rule", choices=["and", "or"], default="and")
    parser.add_argument("--interval", type=seconds, default=60_000, metavar="S", help="declared interval (60); 0: undeclared")
    for name, setting in DURATIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=seconds, default=SETTINGS[name], metavar="S",
                            help=f"{setting} ({SETTINGS[name] / 1000:g})")
    parser.add_argument("--silence-calls-ambulance", action="store_true", help="sos.silence_calls_ambulance")
    parser.add_argument("--format", choices=["text", "jsonl"], default="text")
    a = parser.parse_args(arguments)
    settings = {name: getattr(a, name) for name in (*DURATIONS, "bp_rule", "silence_calls_ambulance")}
    for name in a.files:
        if len(a.files) > 1:
            print(f"# {name}")
        with open(name, newline="", encoding="utf-8-sig") as file:
            events = replay(rows(file), a.ack_after_ms, dict(a.own), a.interval, dict(a.personal), **settings)
        for time, event, metric in events:
            print(json.dumps({"time": time, "event": event, "metric": metric}) if a.format == "jsonl" else f"{time} {event} {metric}")


if __name__ == "__main__":
    sys.exit(main())
