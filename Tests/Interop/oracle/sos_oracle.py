#!/usr/bin/env python3
"""Second opinion on supervision: computes the list of events of docs/sos-rules.md §4 from a recording, one function per rule.

Written from docs/sos-rules.md and the requirements alone, without a look at the service. "§" is a section of that page.
Python 3.11, standard library only. All times are integers: milliseconds since 1970, UTC.
"""
import argparse
import csv
import json
import math
import sys
from datetime import datetime, timedelta, timezone

# §1: what is possible, both ends included (ING-08); metrics that are not named here have no range.
POSSIBLE = {
    "heart-rate": (1, 350), "pulse-rate": (1, 350),
    "blood-pressure-max": (1, 400), "cuff-blood-pressure-max": (1, 400),
    "blood-pressure-min": (1, 300), "cuff-blood-pressure-min": (1, 300),
    "blood-pressure-mean": (1, 350), "cuff-blood-pressure-mean": (1, 350),
    "oxygen-saturation": (1, 100), "respiration-rate": (1, 150), "body-temperature": (10, 50), "glucose": (1, 2000),
}
# §1: metrics that are signs of life (SOS-25).
VITAL = {"heart-rate", "pulse-rate", "blood-pressure-max", "blood-pressure-min", "blood-pressure-mean", "oxygen-saturation",
         "body-temperature", "respiration-rate", "electrocardiogram", "myocardial-signal"}
# §4: columns of a recording.
COLUMNS = {
    "HR_bpm": "heart-rate", "ABPSys_mmHg": "blood-pressure-max", "ABPDias_mmHg": "blood-pressure-min",
    "ABPMean_mmHg": "blood-pressure-mean", "PULSE_bpm": "pulse-rate", "RESP_pm": "respiration-rate",
    "SpO2_%": "oxygen-saturation", "NBPSys_mmHg": "cuff-blood-pressure-max", "NBPDias_mmHg": "cuff-blood-pressure-min",
    "NBPMean_mmHg": "cuff-blood-pressure-mean",
}
MAX, MIN, PAIR = "blood-pressure-max", "blood-pressure-min", "blood-pressure"
DEFAULTS = {"heart-rate": (45, 120)}            # SOS-05
PAIR_HIGH = {MAX: 170, MIN: 100}                # SOS-05
SETTINGS = {"max_age": 60_000, "signal_lost": 30_000, "sustain": 3_000, "dispatch_at": 3_500, "bp_rule": "and",
            "silence_contacts": 300_000, "silence_calls_ambulance": False}
NORMAL, HELD, SILENT = 120_000, 600_000, 3_600_000   # fixed by the page: closing, latest values, silence after the acknowledgement
RATES, AVERAGED, TOGETHER = {"heart-rate", "pulse-rate", "respiration-rate"}, 30_000, 3      # §1: torn averages
EMERGENCY = {"ALERTED", "CONFIRMED", "DISPATCHING", "DISPATCHED", "STOOD-DOWN"}


class Machine:
    """One subscriber."""

    def __init__(self, **settings):
        self.set = SETTINGS | settings
        self.state, self.now, self.events = "OFF", -math.inf, []
        self.own, self.personal = {}, {}
        self.values = {}                        # metric -> (value, own time, the last time at which it holds)
        self.mute = None                        # None, or the set of muted parameters
        self.t0 = self.trigger = self.normal_since = self.called_at = self.acknowledged_at = None
        self.parameters = set()                 # parameters of the emergency
        self.silence_due = self.contacts_due = math.inf
        self.told, self.last = False, None      # of this silence; metric and own time of the newest sign of life
        self.heard_together, self.torn = set(), False       # vital metrics of the last upload with a sign of life; one was torn since
        self.leaving = False                    # unsubscribed while an emergency runs

    def emit(self, event, metric=None):         # §4, SOS-29
        self.events.append((self.now, event, metric or self.trigger))

    # ---- §2: what is critical

    def pair_rule(self):                        # SOS-05, CON-27: "and", and neither has an own high bound
        return self.set["bp_rule"] == "and" and all(self.own.get(m, (None, None))[1] is None for m in PAIR_HIGH)

    def bounds(self, metric):                   # SOS-08: own over personalised over default, each side for itself
        default_low, default_high = DEFAULTS.get(metric, (None, None))
        if self.set["bp_rule"] == "or":         # CON-27
            default_high = PAIR_HIGH.get(metric, default_high)
        own, personal = self.own.get(metric, (None, None)), self.personal.get(metric, (None, None))
        if metric in PAIR_HIGH and self.pair_rule():        # its high is the pair's half
            personal = (personal[0], None)
        return tuple(next((side for side in sides if side is not None), None) for sides in zip(own, personal, (default_low, default_high)))

    def half(self, metric):                     # SOS-07: personalisation moves a half of the pair
        high = self.personal.get(metric, (None, None))[1]
        return PAIR_HIGH[metric] if high is None else high

    def parameters_of(self, metric):            # the parameters in which a metric takes part
        own = {metric} if self.bounds(metric) != (None, None) else set()
        return own | ({PAIR} if metric in PAIR_HIGH and self.pair_rule() else set())

    def outside(self, metric, value):           # SOS-05 strict, SOS-06 both directions
        low, high = self.bounds(metric)
        return (low is not None and value < low) or (high is not None and value > high)

    def is_critical(self, parameter):           # SOS-05, SOS-06: by the latest values
        if parameter == PAIR:
            return all(m in self.values and self.values[m][0] > self.half(m) for m in PAIR_HIGH)
        return parameter in self.values and self.outside(parameter, self.values[parameter][0])

    def beyond(self, metric, value):            # §2
        return self.outside(metric, value) or (PAIR in self.parameters_of(metric) and value > self.half(metric))

    def critical_now(self):                     # S
        watched = set().union(*(self.parameters_of(m) for m in self.values))
        return {p for p in watched if self.is_critical(p)}

    def counts(self, metric, at, received):     # SOS-09, CON-40: at most max_age old on arrival; vital or watched
        return received - at <= self.set["max_age"] and (metric in VITAL or bool(self.parameters_of(metric)))

    def forget(self, received):                 # §2: a latest value holds for so long
        self.values = {m: v for m, v in self.values.items() if received <= v[2]}

    def take(self, metric, at, value, received, interval):                      # §2 "Latest value"; whether it was taken
        if not self.parameters_of(metric):
            return False
        own_time = min(at, received)
        known = self.values.get(metric)
        if known and own_time < known[1] and not self.beyond(metric, value):
            return False
        self.values[metric] = (value, own_time, own_time + max(HELD, 3 * (interval or 0)))
        return True

    def measure(self, entries, received, interval):                             # §2: entries of one own time are judged together
        taken = [metric for metric, at, value in entries if self.take(metric, at, value, received, interval)]
        judged = [(metric, {p for p in self.parameters_of(metric) if self.concerns(metric, p) and self.is_critical(p)}) for metric in taken]
        return [entry for entry in judged if entry[1]]

    def concerns(self, metric, parameter):      # the metric's own value is outside, for that parameter
        value = self.values[metric][0]
        return value > self.half(metric) if parameter == PAIR else self.outside(metric, value)

    # ---- §3.1, §3.3: timers

    def next_timer(self):                       # (due, rank, what) of the earliest one, or None
        due = []
        if self.state == "ALERTED":
            due.append((self.t0 + self.set["sustain"], 0, self.confirm))
        if self.state == "CONFIRMED":
            due.append((self.t0 + self.set["dispatch_at"], 1, self.dispatch))
        if self.state in ("MONITORING", "STOOD-DOWN") and not self.leaving:
            due.append((self.silence_due, 2, self.silence))
        if self.state == "DISPATCHED" and not self.leaving:
            due.append((max(self.silence_due, self.acknowledged_at) + SILENT, 2, self.silence))
        if self.state == "SUSPENDED" and not self.leaving:
            due.append((self.contacts_due, 3, self.contacts))
        return min(due, key=lambda d: d[:2], default=None)

    def fire(self, timer):                      # at its own due time; at the present step if it was overdue
        self.now = max(self.now, timer[0])
        timer[2]()

    def advance(self, t):
        while (timer := self.next_timer()) and timer[0] <= t:
            self.fire(timer)

    def happens(self, t, what):                 # §3.1: timers, event, timers; time never runs backwards
        t = max(t, self.now)
        self.advance(t)
        self.now = t
        what(t)
        self.advance(t)

    def confirm(self):                          # SOS-12, SOS-15: sustained
        self.state = "CONFIRMED"
        self.emit("confirmed")

    def dispatch(self):                         # SOS-15: the call; SOS-14: "I need help"
        self.state, self.called_at, self.mute = "DISPATCHING", self.now, None
        self.emit("dispatched")

    def close(self):                            # SOS-S: back in range and emergency closed
        self.emit("closed")
        self.back()

    def silence(self):                          # SOS-25, CON-32
        self.told = self.told or self.state == "DISPATCHED"                     # help was sent: the contacts know
        if self.state != "MONITORING":          # nobody is left to show that all is in range again
            self.close()
        self.state = "SUSPENDED"
        self.contacts_due = math.inf if self.told else self.now + self.set["silence_contacts"]
        self.emit("signal-lost", "-")

    def contacts(self):                         # §3.3: the contacts hear of the silence; an ambulance by option
        self.contacts_due, self.told = math.inf, True
        self.emit("silence-contacts", "-")
        if self.set["silence_calls_ambulance"] and self.last:
            self.state, self.t0, self.trigger, self.mute, self.silence_due = "ALERTED", self.now, self.last[0], None, self.now
            self.normal_since = self.acknowledged_at = self.called_at = None
            self.parameters = {"silence"}
            self.emit("opened")

    def forget_signal(self):                    # as if nothing had ever been heard
        self.contacts_due, self.told, self.last = math.inf, False, None
        self.heard_together, self.torn = set(), False

    def back(self, mute=None):                  # to MONITORING, or OFF where the person has left meanwhile (SOS-03)
        self.state, self.mute = "MONITORING", mute
        if self.leaving:
            self.off()

    # ---- §3.2: an upload

    def upload(self, t, entries, interval=None):                                # ages are measured to t, however late the machine is
        self.happens(t, lambda now: self._upload(now, t, entries, interval))

    def _upload(self, t, received, entries, interval):
        if self.state in ("OFF", "PAUSED") or self.leaving:
            return
        counting = [e for e in entries if self.counts(e[0], e[1], received)]
        if not counting:
            return
        if self.is_torn(counting, interval):
            self.torn, self.contacts_due = True, self.contacts_due if self.told else t
            return
        self.torn, self.heard_together = False, {e[0] for e in counting if e[0] in VITAL}
        self.sign_of_life(t, interval, counting[-1][0], min(counting[-1][1], received))
        self.forget(received)
        measurements = {}                       # own time -> entries, in the order of their first entries
        for entry in counting:
            measurements.setdefault(entry[1], []).append(entry)
        critical = [c for m in measurements.values() for c in self.measure(m, received, interval)]              # C
        if self.state == "MONITORING":
            self.in_monitoring(t, critical)
        elif self.state == "ALERTED":
            self.in_alerted(critical)
        elif self.state == "STOOD-DOWN":
            self.in_stood_down(t, critical)
        else:
            self.in_call(t, critical)

    def is_torn(self, counting, interval):      # §1: the average of a minute in which the sensors were off for the most part
        metric, _, value = counting[0]
        low = self.bounds(metric)[0]
        return (len(counting) == 1 and metric in RATES and low is not None and value < low and (interval or 0) >= AVERAGED
                and self.state == "SUSPENDED" and metric in self.heard_together and len(self.heard_together) >= TOGETHER and not self.torn)

    def sign_of_life(self, t, interval, metric, own_time):                      # SOS-25
        self.silence_due = max(self.silence_due, t + self.limit(interval))
        self.contacts_due, self.told = math.inf, False
        if self.last is None or own_time >= self.last[1]:
            self.last = (metric, own_time)
        if self.state == "SUSPENDED":
            self.state = "MONITORING"
            self.emit("signal-returned", "-")

    def limit(self, interval):                  # SOS-25
        return max(self.set["signal_lost"], 3 * (interval or 0))

    def open(self, t, candidates, critical):    # SOS-11, SOS-24
        if not candidates:
            return False
        self.state, self.t0, self.trigger, self.mute = "ALERTED", t, candidates[0][0], None
        self.normal_since = self.acknowledged_at = self.called_at = None
        self.parameters = set()
        self.emit("opened")
        self.in_alerted(critical)
        return True

    def note_parameters(self, critical):        # §3.2: the parameters of the emergency
        self.parameters |= self.critical_now().union(*(c[1] for c in critical))

    def in_monitoring(self, t, critical):       # SOS-11; SOS-14: muted until all is in range or it gets worse
        if self.mute is None:
            self.open(t, critical, critical)
        elif not self.open(t, [c for c in critical if c[1] - self.mute], critical) and not self.critical_now():
            self.mute = None

    def in_alerted(self, critical):             # SOS-12, CON-29
        self.note_parameters(critical)
        if not self.critical_now():
            self.emit("transient")
            self.back()

    def in_call(self, t, critical):             # CONFIRMED, DISPATCHING, DISPATCHED: since when all is normal (SOS-S)
        self.note_parameters(critical)
        if critical or self.critical_now():
            self.normal_since = None
        if not self.critical_now() and self.normal_since is None:
            self.normal_since = t
        if self.state == "DISPATCHED" and self.normal_since is not None and t - self.normal_since >= NORMAL:
            self.close()

    def in_stood_down(self, t, critical):       # SOS-21, SOS-24, SOS-S
        new = [c for c in critical if c[1] - self.parameters]
        if new:
            self.close()
            self.open(t, new, critical)
        elif not self.critical_now():
            self.close()

    # ---- §3.4: answers

    def answer(self, t, word):
        self.happens(t, lambda t: {"fine": self.fine, "false-alarm": self.fine, "help": self.help, "help-is-here": self.help_is_here}[word]())

    def fine(self):                             # SOS-14, SOS-21
        if self.state in ("ALERTED", "CONFIRMED"):
            self.emit("muted")
            self.back(mute=set(self.parameters))
        elif self.state in ("DISPATCHING", "DISPATCHED"):
            self.emit("cancelled")
            self.state = "STOOD-DOWN"
            if self.leaving:
                self.close()

    def help(self):                             # SOS-14
        muted = self.state in ("MONITORING", "SUSPENDED") and self.mute is not None
        if muted or self.state == "STOOD-DOWN":
            self.normal_since = None
        if muted or self.state in ("ALERTED", "CONFIRMED", "STOOD-DOWN"):
            self.dispatch()

    def help_is_here(self):                     # SOS-19: the person stops repeating
        if self.state == "DISPATCHING":
            self.taken()

    # ---- §3.5: the rest

    def acknowledge(self, t):                   # SOS-19
        self.happens(t, lambda t: self._acknowledge())

    def _acknowledge(self):
        if self.state == "DISPATCHING":
            self.emit("acknowledged")
            self.taken()

    def taken(self):
        self.state, self.acknowledged_at = "DISPATCHED", self.now
        if self.leaving:
            self.close()

    def subscribe(self, t, own=None, interval=None):                            # SOS-01, SOS-08
        self.happens(t, lambda t: self._subscribe(t, own or {}, interval))

    def _subscribe(self, t, own, interval):
        fresh = self.state == "OFF"
        self.own = own
        self.values = {m: v for m, v in self.values.items() if self.parameters_of(m)}
        if fresh or self.leaving:
            self.leaving, self.silence_due = False, t + self.limit(interval)
        if fresh:
            self.state, self.values, self.mute = "MONITORING", {}, None
            self.forget_signal()

    def pause(self, t):                         # SOS-04
        self.happens(t, lambda t: self._pause())

    def _pause(self):
        if self.state in ("MONITORING", "SUSPENDED"):
            self.state, self.values, self.mute = "PAUSED", {}, None
            self.forget_signal()

    def resume(self, t, interval=None):         # SOS-04
        self.happens(t, lambda t: self._resume(t, interval))

    def _resume(self, t, interval):
        if self.state == "PAUSED":
            self.state, self.silence_due = "MONITORING", t + self.limit(interval)

    def unsubscribe(self, t):                   # SOS-03: ends supervision, not the emergency
        self.happens(t, lambda t: self._unsubscribe())

    def _unsubscribe(self):
        if self.state not in EMERGENCY:
            self.off()
            return
        self.leaving = True
        if self.state in ("DISPATCHED", "STOOD-DOWN"):
            self.close()

    def off(self):
        self.state, self.values, self.mute, self.leaving = "OFF", {}, None, False
        self.forget_signal()


# ---- §4: a recording as input

def reading(metric, cell):                      # ING-08: empty, impossible (a disconnected sensor's 0) and no number are no readings
    try:
        value = float(cell)
    except ValueError:
        return None
    low, high = POSSIBLE[metric]
    return value if low <= value <= high else None


def milliseconds(text):
    time = datetime.fromisoformat(text)
    time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return (time - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def rows(lines):                                # (time, word or None, entries) of each row, entries in the order of the columns
    reader = csv.reader(lines)
    header = next(reader, [])
    for row in reader:
        cells = dict(zip(header, row))
        t = milliseconds(row[0])
        at = t - int(cells.get("age_ms") or 0)
        named = [(COLUMNS[name], cell) for name, cell in zip(header, row) if name in COLUMNS]
        yield t, cells.get("event") or None, [(metric, at, value) for metric, cell in named if (value := reading(metric, cell)) is not None]


def uploads(recording):                         # rows of one time that follow each other are one upload
    waiting = None
    for t, word, entries in recording:
        if waiting and (word or waiting[0] != t):
            yield waiting
            waiting = None
        if word:
            yield t, word, []
        else:
            waiting = (t, None, (waiting[2] if waiting else []) + entries)
    if waiting:
        yield waiting


def run_until(machine, t, ack):                 # §4: timers and acknowledgements in the order of time; timers first (§3.1)
    while True:
        timer = machine.next_timer()
        acknowledgement = machine.called_at + ack if machine.state == "DISPATCHING" else math.inf
        if timer and timer[0] <= min(t, acknowledgement):
            machine.fire(timer)
        elif acknowledgement <= t:
            machine.acknowledge(acknowledgement)
        else:
            machine.now = max(machine.now, t)   # a row without an entry passes time all the same
            return


def replay(recording, ack=100, own=None, interval=60_000, personal=None, **settings):
    machine, last = Machine(**settings), None
    machine.personal = personal or {}
    happenings = {
        "subscribe": lambda t: machine.subscribe(t, own, interval), "unsubscribe": machine.unsubscribe, "pause": machine.pause,
        "resume": lambda t: machine.resume(t, interval)}
    for t, word, entries in uploads(recording):
        if last is None:
            machine.subscribe(t, own, interval)
        last = t if last is None else max(last, t)
        run_until(machine, last, ack)
        if word in happenings:
            happenings[word](t)
        elif word:
            machine.answer(t, word)
        elif entries:
            machine.upload(t, entries, interval)
    if last is not None:
        run_until(machine, last + 600_000, ack)
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


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Computes the list of supervision events (docs/sos-rules.md, section 4) from a recording.")
    parser.add_argument("files", metavar="FILE.csv", nargs="+", help="with more than one, a line `# FILE` comes before each list")
    parser.add_argument("--ack-after-ms", type=int, default=100, metavar="N", help="every dispatch is acknowledged N ms later (100)")
    parser.add_argument("--own", type=bound, action="append", default=[], metavar="METRIC=LOW:HIGH", help="own bound; repeat for more")
    parser.add_argument("--personal", type=bound, action="append", default=[], metavar="METRIC=LOW:HIGH", help="personalised bound")
    parser.add_argument("--bp-rule", choices=["and", "or"], default="and")
    parser.add_argument("--interval", type=seconds, default=60_000, metavar="S", help="declared interval (60)")
    parser.add_argument("--max-age", type=seconds, default=60_000, metavar="S", help="sos.max_age_s (60)")
    parser.add_argument("--signal-lost", type=seconds, default=30_000, metavar="S", help="sos.signal_lost_s (30)")
    parser.add_argument("--sustain", type=seconds, default=3_000, metavar="S", help="sos.sustain_s (3)")
    parser.add_argument("--dispatch-at", type=seconds, default=3_500, metavar="S", help="sos.dispatch_at_s (3.5)")
    parser.add_argument("--silence-contacts", type=seconds, default=300_000, metavar="S", help="sos.silence_contacts_s (300)")
    parser.add_argument("--silence-calls-ambulance", action="store_true", help="sos.silence_calls_ambulance")
    parser.add_argument("--format", choices=["text", "jsonl"], default="text")
    a = parser.parse_args(arguments)
    for name in a.files:
        if len(a.files) > 1:
            print(f"# {name}")
        with open(name, newline="", encoding="utf-8-sig") as file:
            events = replay(rows(file), a.ack_after_ms, dict(a.own), a.interval, dict(a.personal), bp_rule=a.bp_rule,
                            max_age=a.max_age, signal_lost=a.signal_lost, sustain=a.sustain, dispatch_at=a.dispatch_at,
                            silence_contacts=a.silence_contacts, silence_calls_ambulance=a.silence_calls_ambulance)
        for time, event, metric in events:
            print(json.dumps({"time": time, "event": event, "metric": metric}) if a.format == "jsonl" else f"{time} {event} {metric}")


if __name__ == "__main__":
    sys.exit(main())
