# The oracle against lists worked out by hand from table SOS-S and docs/sos-rules.md.
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ORACLE = Path(__file__).parent / "oracle" / "sos_oracle.py"
sys.path.insert(0, str(ORACLE.parent))
from sos_oracle import Machine  # noqa: E402

HR, SPO2, MAX, MIN = "heart-rate", "oxygen-saturation", "blood-pressure-max", "blood-pressure-min"
OPEN = ["0 opened heart-rate"]
CALLED = OPEN + ["3000 confirmed heart-rate", "3500 dispatched heart-rate"]
ACKED = CALLED + ["3600 acknowledged heart-rate"]
SPO2_BOUND = {SPO2: (90, None)}
DAY = 86_400_000


def up(t, *entries, source=""):
    """One upload of a source that declares nothing; an entry is (metric, value) or (metric, value, own time)."""
    return lambda m: m.upload(t, [(e[0], e[2] if len(e) > 2 else t, e[1]) for e in entries], 0, source)


def slow(t, **values):
    """One upload of a monitor that sends averages each minute."""
    names = {"hr": HR, "breath": "respiration-rate", "spo2": SPO2}
    return lambda m: m.upload(t, [(names[name], t, value) for name, value in values.items()], 60_000)


def answer(t, word):
    return lambda m: m.answer(t, word)


def ack(t):
    return lambda m: m.acknowledge(t)


def hr(t, value=70):
    return up(t, (HR, value))


# The person subscribes at -1000; declared interval unknown, so silence is 30 s. `until`: the time at which the case ends.
CASES = {
    "OFF: uploads are passed over": dict(subscribe=False, steps=[hr(0, 200)], until=100_000, expected=[]),
    "MONITORING: bounds are in range (SOS-05)": dict(
        steps=[hr(0, 45), hr(1000, 120), up(2000, (MAX, 171), (MIN, 100)), up(3000, (MAX, 170), (MIN, 101))], until=10_000, expected=[]),
    "MONITORING: a maximum and a minimum of one own time are one measurement": dict(
        steps=[up(0, (MAX, 170), (MIN, 101)), up(1000, (MAX, 171), (MIN, 100)), up(2000, (MIN, 101), (MAX, 170))], until=10_000, expected=[]),
    "MONITORING: measurements of one upload are taken one after the other": dict(
        steps=[up(2000, (MAX, 171, 1000), (MAX, 120, 2000), (MIN, 100, 1000), (MIN, 110, 2000)),
               up(3000, (MAX, 171), (MIN, 101), (MAX, 120, 3001))], until=10_000,
        expected=["3000 opened blood-pressure-max", "3000 transient blood-pressure-max"]),
    "MONITORING: half a pair holds for 600 s": dict(
        steps=[up(0, (MIN, 110)), up(600_000, (MAX, 180)), up(600_001, (MAX, 175))], until=600_001,
        expected=["30000 signal-lost blood-pressure", "330000 silence-contacts -", "600000 opened blood-pressure-max",
                  "600001 transient blood-pressure-max"]),
    "MONITORING: each pressure has a severe bound by itself that is also its default (SOS-32)": dict(
        steps=[up(0, (MAX, 180), (MIN, 70)), up(1000, (MAX, 180.5), (MIN, 70))], until=3_999, expected=["1000 opened blood-pressure-max"]),
    "MONITORING: just outside, both directions (SOS-06)": dict(
        steps=[hr(0, 44.9), hr(1000), hr(2000, 120.1), hr(3000)], until=10_000,
        expected=OPEN + ["1000 transient heart-rate", "2000 opened heart-rate", "3000 transient heart-rate"]),
    "MONITORING: pressure needs both; the second half is the trigger (CON-27)": dict(
        steps=[up(0, (MAX, 180)), up(1000, (MIN, 101)), up(2000, (MAX, 170))], until=10_000,
        expected=["1000 opened blood-pressure-min", "2000 transient blood-pressure-min"]),
    "MONITORING: one own high bound ends the pair rule": dict(
        own={MAX: (None, 190)}, steps=[up(0, (MAX, 185), (MIN, 110)), up(1000, (MAX, 191))], until=3_000 + 1_000,
        expected=["1000 opened blood-pressure-max", "4000 confirmed blood-pressure-max"]),
    "MONITORING: with bp_rule or, one is enough": dict(
        settings={"bp_rule": "or"}, steps=[up(0, (MAX, 120), (MIN, 101)), up(500, (MIN, 100))], until=10_000,
        expected=["0 opened blood-pressure-min", "500 transient blood-pressure-min"]),
    "MONITORING: too old starts nothing, just not too old does (SOS-09)": dict(
        steps=[up(0, (HR, 200, -60_001)), up(1000, (HR, 200, -59_000))], until=3_999,
        expected=["0 late-critical heart-rate", "1000 opened heart-rate"]),
    "ALERTED: back in range 1 ms before 3 s (SOS-12)": dict(
        steps=[hr(0, 130), hr(2999)], until=10_000, expected=OPEN + ["2999 transient heart-rate"]),
    "ALERTED: back in range at 3 s is too late; CONFIRMED calls all the same": dict(
        steps=[hr(0, 130), hr(3000)], until=10_000, expected=CALLED),
    "ALERTED: one of two parameters back in range is not enough": dict(
        own=SPO2_BOUND, steps=[up(0, (HR, 130), (SPO2, 80)), up(1000, (HR, 70)), up(2000, (SPO2, 95))], until=10_000,
        expected=OPEN + ["2000 transient heart-rate"]),
    "ALERTED: critical and harmless in one upload": dict(
        steps=[up(0, (HR, 130, -1000), (HR, 80))], until=10_000, expected=OPEN + ["0 transient heart-rate"]),
    "ALERTED: fine mutes, the same breach starts nothing (SOS-33)": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000, 150), hr(3000), hr(4000, 130)], until=33_999,
        expected=OPEN + ["1000 muted heart-rate"]),
    "muted: severe is worse, and has a t0 of its own (SOS-32 b)": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000, 161)], until=5_000,
        expected=OPEN + ["1000 muted heart-rate", "2000 opened heart-rate", "5000 confirmed heart-rate"]),
    "muted: the other direction opens: fine at 125, then 20 (SOS-31)": dict(
        steps=[hr(0, 125), answer(1000, "fine"), hr(2000, 20)], until=5_500,
        expected=OPEN + ["1000 muted heart-rate", "2000 opened heart-rate", "5000 confirmed heart-rate", "5500 dispatched heart-rate"]),
    "muted: a quarter below what was answered is worse, a hair more is not (SOS-32 b)": dict(
        own={SPO2: (95, None)}, steps=[up(0, (SPO2, 80)), answer(500, "fine"), up(1000, (SPO2, 80)), up(2000, (SPO2, 79))], until=2_000,
        expected=["0 opened oxygen-saturation", "500 muted oxygen-saturation", "2000 opened oxygen-saturation"]),
    "muted: a quarter below, severe already": dict(
        steps=[hr(0, 32), answer(500, "fine"), hr(1000, 24.1), hr(2000, 24)], until=2_000,
        expected=OPEN + ["500 muted heart-rate", "2000 opened heart-rate"]),
    "muted: in range for 10 s and critical again is asked again; no answer calls (SOS-32 c, SOS-33)": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000), hr(12_000, 130), hr(30_000, 130), hr(50_000, 130), hr(71_000, 130)], until=72_000,
        expected=OPEN + ["1000 muted heart-rate", "12000 asked-again heart-rate", "72000 dispatched heart-rate"]),
    "muted: in range for 1 ms less than 10 s asks nothing": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000), hr(11_999, 130)], until=30_000, expected=OPEN + ["1000 muted heart-rate"]),
    "the mute of a high breach ends after 300 s, then 600 s, by asking again; 60 s to answer (SOS-33)": dict(
        steps=[hr(0, 130), answer(1000, "fine")] + [hr(t, 130) for t in range(10_000, 310_000, 10_000)] + [answer(311_000, "fine")]
        + [hr(t, 130) for t in range(320_000, 980_000, 10_000)], until=971_000,
        expected=OPEN + ["1000 muted heart-rate", "301000 asked-again heart-rate", "311000 muted heart-rate", "911000 asked-again heart-rate",
                         "971000 dispatched heart-rate"]),
    "the mute of a low breach ends after 300 s, below the severe bound after 60 s; 20 s to answer (SOS-33)": dict(
        steps=[hr(0, 40), answer(1000, "fine")] + [hr(t, 40) for t in range(10_000, 310_000, 10_000)] + [answer(310_000, "fine")]
        + [hr(t, 33) for t in range(320_000, 330_000, 5_000)] + [answer(325_500, "fine")]
        + [hr(t, 33) for t in range(330_000, 410_000, 10_000)], until=405_500,
        expected=OPEN + ["1000 muted heart-rate", "301000 asked-again heart-rate", "310000 muted heart-rate", "320000 opened heart-rate",
                         "320000 confirmed heart-rate", "323500 dispatched heart-rate", "325500 cancelled heart-rate",
                         "385500 closed heart-rate", "385500 asked-again heart-rate", "405500 dispatched heart-rate"]),
    "subscribe: who was heard by nothing but a metric that is no longer watched must be heard anew (SOS-25)": dict(
        own=SPO2_BOUND, steps=[up(0, (SPO2, 97)), lambda m: m.subscribe(10_000), up(15_000, (SPO2, 97)), hr(400_000)], until=400_000,
        expected=["40000 signal-lost -", "340000 silence-contacts -", "400000 signal-returned -"]),
    "who fell silent after a low breach is asked again when the mute ends, once (SOS-33)": dict(
        steps=[hr(0, 40), answer(1000, "fine"), answer(305_000, "fine")], until=3_000_000,
        expected=OPEN + ["1000 muted heart-rate", "30000 signal-lost heart-rate", "301000 asked-again heart-rate", "305000 muted heart-rate",
                         "330000 silence-contacts -"]),
    "asked again: in range for 10 s ends the question": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000), hr(12_000, 130), hr(13_000), hr(22_999), hr(23_000)], until=23_000,
        expected=OPEN + ["1000 muted heart-rate", "12000 asked-again heart-rate", "23000 transient heart-rate"]),
    "asked again: another breach that asks again and returns within its upload begins the 10 s anew (SOS-33)": dict(
        own=SPO2_BOUND,
        steps=[up(0, (HR, 130), (SPO2, 85)), answer(1000, "fine"), up(2000, (HR, 70), (SPO2, 95)), hr(12_000, 130), hr(13_000), hr(22_000),
               up(23_000, (SPO2, 85, 22_500), (SPO2, 95), (HR, 70)), up(24_000, (HR, 70), (SPO2, 95)), hr(33_999), hr(34_000)],
        until=34_000,
        expected=OPEN + ["1000 muted heart-rate", "12000 asked-again heart-rate", "34000 transient heart-rate"]),
    "asked again: worse arms the alert": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000), hr(12_000, 130), hr(13_000, 20)], until=16_500,
        expected=OPEN + ["1000 muted heart-rate", "12000 asked-again heart-rate", "13000 transient heart-rate", "13000 opened heart-rate",
                         "16000 confirmed heart-rate", "16500 dispatched heart-rate"]),
    "ALERTED: fine, then another parameter: worse (SOS-14)": dict(
        own=SPO2_BOUND, steps=[hr(0, 130), answer(1000, "fine"), up(2000, (SPO2, 89))], until=5_000,
        expected=OPEN + ["1000 muted heart-rate", "2000 opened oxygen-saturation", "5000 confirmed oxygen-saturation"]),
    "ALERTED: help calls at once": dict(
        steps=[hr(0, 130), answer(500, "help")], until=10_000, expected=OPEN + ["500 dispatched heart-rate"]),
    "muted: help is an emergency of its own (SOS-35)": dict(
        steps=[hr(0, 130), answer(500, "fine"), answer(900, "help")], until=10_000,
        expected=OPEN + ["500 muted heart-rate", "900 opened help", "900 dispatched help"]),
    "CONFIRMED: fine 1 ms before the call": dict(
        steps=[hr(0, 130), answer(3499, "fine")], until=10_000, expected=OPEN + ["3000 confirmed heart-rate", "3499 muted heart-rate"]),
    "CONFIRMED: fine at 3.5 s cancels; STOOD-DOWN closes when in range (SOS-21)": dict(
        steps=[hr(0, 130), answer(3500, "fine"), hr(4000, 140), hr(5000)], until=10_000,
        expected=CALLED + ["3500 cancelled heart-rate", "5000 closed heart-rate"]),
    "STOOD-DOWN: help calls again, a new parameter opens a new emergency": dict(
        own=SPO2_BOUND,
        steps=[hr(0, 130), answer(4000, "false-alarm"), answer(5000, "help"), answer(6000, "fine"), up(7000, (SPO2, 80))], until=9_999,
        expected=CALLED + ["4000 cancelled heart-rate", "5000 dispatched heart-rate", "6000 cancelled heart-rate", "7000 closed heart-rate",
                           "7000 opened oxygen-saturation"]),
    "DISPATCHING: without acknowledgement it never closes (SOS-19)": dict(
        steps=[hr(0, 130)] + [hr(t) for t in range(4000, 400_000, 20_000)], until=400_000, expected=CALLED),
    "DISPATCHED: closed 120 s after the first upload in range": dict(
        steps=[hr(0, 130), ack(3600)] + [hr(t) for t in range(10_000, 131_000, 20_000)], until=131_000,
        expected=ACKED + ["130000 closed heart-rate"]),
    "DISPATCHED: after a late acknowledgement the next upload in range closes": dict(
        steps=[hr(0, 130)] + [hr(t) for t in range(10_000, 151_000, 20_000)] + [ack(151_000), hr(153_000)], until=154_000,
        expected=CALLED + ["151000 acknowledged heart-rate", "153000 closed heart-rate"]),
    "DISPATCHED: many critical values, one emergency (SOS-24)": dict(
        own=SPO2_BOUND, steps=[hr(0, 130), ack(3600)] + [up(t, (HR, 140), (SPO2, 70)) for t in range(4000, 300_000, 1000)], until=300_000,
        expected=ACKED + ["4000 worse oxygen-saturation"]),
    "DISPATCHED: 125, acknowledged, then 20: worse (SOS-31, SOS-32)": dict(
        steps=[hr(0, 125), ack(3600), hr(4000, 20), hr(5000, 20), hr(6000, 15), hr(7000, 15)], until=10_000,
        expected=ACKED + ["4000 worse heart-rate", "6000 worse heart-rate"]),
    "DISPATCHED: readings more seldom than the silence limit close too": dict(
        steps=[hr(0, 130), ack(3600), hr(60_000), hr(120_000), hr(180_000)], until=181_000, expected=ACKED + ["180000 closed heart-rate"]),
    "DISPATCHED: one reading in range and then silence close nothing, the next one does": dict(
        steps=[hr(0, 130), ack(3600), hr(4000), hr(500_000)], until=501_000, expected=ACKED + ["500000 closed heart-rate"]),
    "DISPATCHED: a sensor that was taken off is forgotten after 600 s": dict(
        own=SPO2_BOUND, steps=[up(0, (SPO2, 80)), ack(3600)] + [hr(t) for t in range(10_000, 1_000_000, 10_000)], until=800_000,
        expected=[line.replace(HR, SPO2) for line in ACKED] + ["730000 closed oxygen-saturation", "730000 signal-lost oxygen-saturation"]),
    "STOOD-DOWN: silence closes and suspends": dict(
        steps=[hr(0, 130), answer(4000, "fine")], until=DAY,
        expected=CALLED + ["4000 cancelled heart-rate", "30000 signal-lost heart-rate", "30000 closed heart-rate",
                           "330000 silence-contacts -"]),
    "STOOD-DOWN: a silence that is due already ends it at once": dict(
        steps=[hr(0, 130), ack(3600), answer(40_000, "fine")], until=DAY,
        expected=ACKED + ["40000 cancelled heart-rate", "40000 signal-lost heart-rate", "40000 closed heart-rate",
                          "340000 silence-contacts -"]),
    "STOOD-DOWN: where all was silent before the call it ends at once, and the contacts are told (SOS-34)": dict(
        steps=[hr(0, 130), answer(1000, "fine"), answer(40_000, "help"), ack(40_100), answer(60_000, "fine")], until=DAY,
        expected=OPEN + ["1000 muted heart-rate", "30000 signal-lost heart-rate", "40000 opened help", "40000 dispatched help",
                         "40100 acknowledged help", "60000 cancelled help", "60000 closed help", "330000 silence-contacts -"]),
    "STOOD-DOWN: whom nothing but measurements on demand tell of is not silent: the next reading in range closes it": dict(
        own={"glucose": (70, 200)}, steps=[up(0, ("glucose", 250)), answer(4000, "fine"), up(5000, ("glucose", 120))], until=5000,
        expected=["0 opened glucose", "3000 confirmed glucose", "3500 dispatched glucose", "4000 cancelled glucose", "5000 closed glucose"]),
    "SUSPENDED: after 30 s, back with the data (SOS-25)": dict(
        steps=[hr(0), hr(9_999), hr(40_000, 130)], until=40_000,
        expected=["39999 signal-lost heart-rate", "40000 signal-returned heart-rate", "40000 opened heart-rate"]),
    "SUSPENDED: an interval that nobody declares is learnt (SOS-34)": dict(
        steps=[hr(t) for t in range(0, 600_001, 60_000)], until=780_000, expected=["30000 signal-lost heart-rate",
        "60000 signal-returned heart-rate", "780000 signal-lost heart-rate"]),
    "SUSPENDED: heart rate stops, another watched parameter goes on: warned, contacts after 300 s (SOS-34)": dict(
        own=SPO2_BOUND, steps=[up(0, (HR, 70), (SPO2, 97))] + [up(t, (SPO2, 97)) for t in range(5_000, 400_000, 5_000)], until=399_000,
        expected=["30000 signal-lost heart-rate", "330000 silence-contacts -"]),
    "what is measured on demand is never silent (SOS-34)": dict(
        own={"glucose": (70, 200)}, steps=[up(0, ("glucose", 100))], until=DAY, expected=[]),
    "what is no longer watched is forgotten (3.10)": dict(
        own=SPO2_BOUND, steps=[up(0, (HR, 70), (SPO2, 97)), lambda m: m.subscribe(1000, {}), hr(29_000), hr(58_000)], until=80_000,
        expected=[]),
    "typed in: keeps no watch heard, and nothing returns by it (SOS-34)": dict(
        steps=[hr(0)] + [up(t, (HR, 70), source="manual") for t in range(10_000, 400_001, 10_000)] + [hr(400_001)], until=400_001,
        expected=["30000 signal-lost heart-rate", "330000 silence-contacts -", "400001 signal-returned heart-rate"]),
    "typed in: unsets no joining due; a device that declares nothing does": dict(
        steps=[up(t, (HR, 70), source="manual") for t in range(0, 400_001, 10_000)] + [hr(400_001)], until=400_001,
        expected=["29000 signal-lost -", "329000 silence-contacts -", "400001 signal-returned -"]),
    "typed in: is judged like any other reading, in SUSPENDED too": dict(
        steps=[up(40_000, (HR, 30), source="manual")], until=43_500,
        expected=["29000 signal-lost -", "40000 opened heart-rate", "43000 confirmed heart-rate", "43500 dispatched heart-rate"]),
    "typed in: closes like any other reading, ends a doubt, and is never torn": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5), up(61_000, (HR, 60), source="manual"),
               *[up(t, (HR, 60), ("respiration-rate", 12), (SPO2, 97), source="manual") for t in range(62_000, 92_000, 10_000)],
               up(100_000, (HR, 30), source="manual"), up(100_500, (HR, 30), source="manual"), ack(103_600),
               up(110_000, (HR, 60), source="manual"), up(230_000, (HR, 60), source="manual")], until=230_000,
        expected=["60000 doubted heart-rate", "61000 doubt-ended heart-rate", "100000 opened heart-rate", "103000 confirmed heart-rate",
                  "103500 dispatched heart-rate", "103600 acknowledged heart-rate", "230000 closed heart-rate",
                  "230000 signal-lost heart-rate"]),
    "SUSPENDED: from subscription on, without any data": dict(
        steps=[], until=DAY, expected=["29000 signal-lost -", "329000 silence-contacts -"]),
    "ALERTED: silence goes on to the call (CON-32); an hour after the silence limit it is closed": dict(
        steps=[hr(0, 130), ack(3600)], until=DAY, expected=ACKED + ["3630000 closed heart-rate", "3630000 signal-lost heart-rate"]),
    "DISPATCHING: no silence ends a call; the hour counts from the acknowledgement": dict(
        steps=[hr(0, 130), ack(10_000_000)], until=DAY,
        expected=CALLED + ["10000000 acknowledged heart-rate", "13600000 closed heart-rate", "13600000 signal-lost heart-rate"]),
    "PAUSED: nothing is compared; resumed: values are forgotten (SOS-04)": dict(
        steps=[lambda m: m.pause(0), hr(1000, 200), lambda m: m.resume(2000), up(3000, (SPO2, 50))], until=33_000,
        expected=["32000 signal-lost -"]),
    "resumed from SUSPENDED: silence is noticed again": dict(
        steps=[lambda m: m.pause(30_000), lambda m: m.resume(40_000)], until=DAY,
        expected=["29000 signal-lost -", "70000 signal-lost -", "370000 silence-contacts -"]),
    "any: unsubscribe completes the running emergency (SOS-03)": dict(
        steps=[hr(0, 130), lambda m: m.unsubscribe(1000), hr(2000), ack(3600), hr(5000, 200)], until=DAY,
        expected=ACKED + ["3600 closed heart-rate"]),
    "any: unsubscribe without emergency": dict(steps=[hr(0), lambda m: m.unsubscribe(1000), hr(2000, 200)], until=DAY, expected=[]),
    "torn: a lone low rate of a minute in which all else is off is doubted, and called for after 20 s (SOS-38)": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5)], until=100_000,
        expected=["60000 doubted heart-rate", "80000 opened heart-rate", "80000 dispatched heart-rate"]),
    "torn: not while its breach is open and armed, however much worse it is (SOS-32)": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), up(10_000, (HR, 40), source="b"), answer(11_000, "fine"), up(59_000, (HR, 34), source="b"),
               slow(60_000, hr=11.5)], until=62_500,
        expected=["10000 opened heart-rate", "11000 muted heart-rate", "59000 opened heart-rate", "59000 confirmed heart-rate",
                  "62500 dispatched heart-rate"]),
    "torn: a reading in range ends the doubt": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5), slow(79_999, hr=60)], until=100_000,
        expected=["60000 doubted heart-rate", "79999 doubt-ended heart-rate"]),
    "torn: an answer ends the doubt": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5), answer(70_000, "fine")], until=100_000,
        expected=["60000 doubted heart-rate", "70000 doubt-ended heart-rate"]),
    "torn: the next one is believed": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5), slow(70_000, hr=11.5)], until=73_500,
        expected=["60000 doubted heart-rate", "70000 opened heart-rate", "73000 confirmed heart-rate", "73500 dispatched heart-rate"]),
    "torn: the first reading after a silence is believed (SOS-38)": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=11.5)], until=243_500,
        expected=["180000 signal-lost heart-rate", "240000 signal-returned heart-rate", "240000 opened heart-rate",
                  "243000 confirmed heart-rate", "243500 dispatched heart-rate"]),
    "torn: not with another reading beside it": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5, spo2=90)], until=60_000, expected=["60000 opened heart-rate"]),
    "torn: not where there never were other sensors": dict(
        steps=[slow(0, hr=60, breath=12), slow(60_000, hr=11.5)], until=60_000, expected=["60000 opened heart-rate"]),
    "torn: not above the bound": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=140)], until=60_000, expected=["60000 opened heart-rate"]),
    "silence: with the option, the ambulance is called when the contacts are told": dict(
        settings={"silence_calls_ambulance": True}, steps=[slow(0, hr=60, breath=12, spo2=97)], until=483_500,
        expected=["180000 signal-lost heart-rate", "480000 silence-contacts -", "480000 opened heart-rate",
                  "483000 confirmed heart-rate", "483500 dispatched heart-rate"]),
    "silence: what is typed in takes no alert back, what a device says does": dict(
        settings={"silence_calls_ambulance": True},
        steps=[hr(0), up(331_000, (HR, 70), source="manual"), up(340_000, (HR, 70), source="manual")], until=340_000,
        expected=["30000 signal-lost heart-rate", "330000 silence-contacts -", "330000 opened heart-rate", "333000 confirmed heart-rate",
                  "333500 dispatched heart-rate"]),
    "silence: what a device says takes the alert back": dict(
        settings={"silence_calls_ambulance": True}, steps=[hr(0), hr(331_000)], until=340_000,
        expected=["30000 signal-lost heart-rate", "330000 silence-contacts -", "330000 opened heart-rate", "331000 signal-returned heart-rate",
                  "331000 transient heart-rate"]),
    "sustained: an upload that proves 3 s of breach confirms at once and is called at receipt + 3.5 s (SOS-37)": dict(
        steps=[up(10_000, (HR, 20, 0), (HR, 20, 3000), (HR, 70, 9000))], until=13_500,
        expected=["10000 opened heart-rate", "10000 confirmed heart-rate", "13500 dispatched heart-rate"]),
    "sustained: 1 ms less than 3 s is transient": dict(
        steps=[up(10_000, (HR, 20, 0), (HR, 20, 2999), (HR, 70, 9000))], until=20_000,
        expected=["10000 opened heart-rate", "10000 transient heart-rate"]),
    "sustained: three openings of one breach within 60 s (SOS-37)": dict(
        steps=[hr(0, 130), hr(1000), hr(20_000, 130), hr(21_000), hr(60_000, 130)], until=63_500,
        expected=OPEN + ["1000 transient heart-rate", "20000 opened heart-rate", "21000 transient heart-rate", "51000 signal-lost heart-rate", "60000 signal-returned heart-rate",
                  "60000 opened heart-rate",
                         "60000 confirmed heart-rate", "63500 dispatched heart-rate"]),
    "sustained: openings are counted within the 60 s up to a reading that comes late (SOS-37)": dict(
        steps=[hr(0)] + [step for t in (5_000, 45_000, 110_000) for step in (hr(t - 20_000), hr(t, 130), hr(t + 1000))]
        + [up(112_000, (HR, 130, 60_000)), hr(112_500)], until=115_500,
        expected=[f"{t} {event} heart-rate" for t in (5_000, 45_000) for t, event in ((t, "opened"), (t + 1000, "transient"))]
        + ["76000 signal-lost heart-rate", "90000 signal-returned heart-rate", "110000 opened heart-rate", "111000 transient heart-rate",
           "112000 opened heart-rate", "112000 confirmed heart-rate", "115500 dispatched heart-rate"]),
    "sustained: three openings within 60 s, the earliest of which comes last (SOS-37)": dict(
        steps=[hr(50_000 - 25_000), hr(50_000, 130), hr(51_000), hr(55_000, 130), hr(56_000), up(57_000, (HR, 131, 10_000)), hr(58_000)],
        until=60_500,
        expected=[f"{t} {event} heart-rate" for t in (50_000, 55_000) for t, event in ((t, "opened"), (t + 1000, "transient"))]
        + ["57000 opened heart-rate", "57000 confirmed heart-rate", "60500 dispatched heart-rate"]),
    "sustained: three openings that no 60 s hold are none, though each is within 60 s of the one that comes last": dict(
        steps=[hr(0), hr(5_000, 130), hr(6_000), hr(30_000), hr(50_000), hr(70_000, 130), hr(71_000), up(72_000, (HR, 130, 45_000)), hr(73_000)],
        until=80_000,
        expected=[f"{t} {event} heart-rate" for at, end in ((5_000, 6_000), (70_000, 71_000), (72_000, 73_000))
                  for t, event in ((at, "opened"), (end, "transient"))]),
    "two sources that disagree do not cancel each other (SOS-37)": dict(
        steps=[up(0, (HR, 30), source="a"), up(500, (HR, 70), source="b"), up(1000, (HR, 30), source="a"), up(1500, (HR, 70), source="b")],
        until=3_500, expected=CALLED),
    "one critical reading of a source that fell silent, another in range: the call waits 20 s (SOS-37)": dict(
        steps=[up(-500, (HR, 70), source="b"), up(0, (HR, 30), source="a"), up(500, (HR, 70), source="b")], until=20_000,
        expected=OPEN + ["20000 confirmed heart-rate", "20000 dispatched heart-rate"]),
    "manual: help calls at once in MONITORING and PAUSED, and values never close it (SOS-35)": dict(
        steps=[hr(0), answer(1000, "help"), ack(1100)] + [hr(t) for t in range(10_000, 400_000, 10_000)]
        + [answer(400_000, "help-is-here"), hr(401_000)],
        until=401_000, expected=["1000 opened help", "1000 dispatched help", "1100 acknowledged help", "401000 closed help"]),
    "manual: of whom no device was ever heard it ends an hour after the acknowledgement (SOS-35)": dict(
        steps=[answer(40_000, "help"), ack(41_000)], until=DAY,
        expected=["29000 signal-lost -", "40000 opened help", "40000 dispatched help", "41000 acknowledged help", "3641000 closed help"]),
    "manual: so it does once help is here": dict(
        steps=[answer(40_000, "help"), ack(41_000), answer(50_000, "help-is-here")], until=DAY,
        expected=["29000 signal-lost -", "40000 opened help", "40000 dispatched help", "41000 acknowledged help", "3641000 closed help"]),
    "DISPATCHED: what is measured on demand alone ends an hour after the acknowledgement; the next critical reading calls again": dict(
        own={"glucose": (70, 200)}, steps=[up(0, ("glucose", 250)), ack(4000), up(4_000_000, ("glucose", 250))], until=4_003_500,
        expected=["0 opened glucose", "3000 confirmed glucose", "3500 dispatched glucose", "4000 acknowledged glucose", "3604000 closed glucose",
                  "4000000 opened glucose", "4003000 confirmed glucose", "4003500 dispatched glucose"]),
    "manual: repeats within 10 s are one, an old event tells the contacts (SOS-35)": dict(
        steps=[lambda m: m.pause(-500), up(0, ("help", 1)), up(10_000, ("help", 1)), up(20_001, ("help", 1)), up(1_000_000, ("help", 1, 99_999))],
        until=20_001 + 10_000 - 1, expected=["0 opened help", "0 dispatched help", "20001 dispatched help", "1000000 help-contacts -"]),
    "manual: a watch whose clock is ahead silences neither the phone nor itself once it is right (SOS-35)": dict(
        steps=[lambda m: m.pause(-500), up(0, ("help", 1, 300_000), source="watch"), answer(3000, "fine"), up(60_000, ("help", 1), source="phone"),
               answer(63_000, "fine"), up(90_000, ("help", 1), source="watch")],
        until=90_000,
        expected=["0 opened help", "0 dispatched help", "3000 cancelled help", "3000 closed help", "30000 signal-lost -",
                  "60000 opened help", "60000 dispatched help",
                  "63000 cancelled help", "63000 closed help", "90000 opened help", "90000 dispatched help"]),
    "manual: a late copy of what counted, and a press delivered again after another, call nobody (SOS-35)": dict(
        steps=[lambda m: m.pause(-500), up(0, ("help", 1, 300_000), source="watch"), up(20_000, ("help", 1, 9_999), source="phone"),
               up(31_000, ("help", 1, -1), source="watch"), up(45_000, ("help", 1, 9_000), source="phone"),
               up(290_000, ("help", 1, 300_000), source="watch")],
        until=290_000, expected=["0 opened help", "0 dispatched help", "20000 dispatched help"]),
    "help is here before the acknowledgement asks back (SOS-35)": dict(
        steps=[hr(0, 130), answer(4000, "help-is-here"), answer(5000, "help-is-here"), ack(6000)], until=10_000, expected=CALLED),
    "fall: prompt, then contacts and ambulance; in range it is not closed (SOS-36)": dict(
        steps=[hr(0), up(1000, ("fall", 1)), hr(2000)], until=21_000,
        expected=["1000 fell fall", "21000 fall-contacts fall", "21000 opened fall", "21000 dispatched fall"]),
    "fall: an answer ends it, a breach goes its own way, during a call it is worse (SOS-36)": dict(
        steps=[hr(0), up(1000, ("fall", 1)), answer(2000, "fine"), up(3000, ("fall", 1)), hr(4000, 30), up(8000, ("fall", 1))], until=23_000,
        expected=["1000 fell fall", "2000 fall-ended fall", "3000 fell fall", "4000 opened heart-rate", "7000 confirmed heart-rate",
                  "7500 dispatched heart-rate", "23000 fall-contacts fall", "23000 worse fall"]),
    "fall: a pause ends none: it may be pressed by somebody who lies there (SOS-36)": dict(
        steps=[hr(0), up(1000, ("fall", 1)), lambda m: m.pause(2000)], until=21_000,
        expected=["1000 fell fall", "21000 fall-contacts fall", "21000 opened fall", "21000 dispatched fall"]),
    "fall: an answer ends it while paused, and after resuming (SOS-36)": dict(
        steps=[up(1000, ("fall", 1)), lambda m: m.pause(2000), answer(3000, "fine"), up(4000, ("fall", 1)), lambda m: m.resume(5000),
               answer(6000, "fine")], until=34_000,
        expected=["1000 fell fall", "3000 fall-ended fall", "4000 fell fall", "6000 fall-ended fall"]),
    "fall: a watch whose clock is ahead does not silence the phone; what is sent again is no other fall (SOS-36)": dict(
        steps=[hr(0), up(1000, ("fall", 1, 301_000), source="watch"), answer(2000, "fine"), up(3000, ("fall", 1, 2500), source="phone"),
               answer(4000, "fine"), up(13_001, ("fall", 1, 3000), source="watch"), answer(14_000, "fine"),
               up(15_000, ("fall", 1, 301_000), source="watch"), up(16_000, ("fall", 1, 2500), source="phone")],
        until=16_000,
        expected=["1000 fell fall", "2000 fall-ended fall", "3000 fell fall", "4000 fall-ended fall", "13001 fell fall", "14000 fall-ended fall"]),
    "fall: reported by another device it counts after an answer, live or by a clock that is behind; its own time again is a copy (SOS-36)": dict(
        steps=[hr(0), up(1000, ("fall", 1), source="watch"), answer(2000, "fine"), up(9000, ("fall", 1, -1000), source="phone"),
               answer(9500, "fine"), up(9999, ("fall", 1, -2), source="strap"), answer(10_500, "fine"),
               up(20_000, ("fall", 1, -1000), source="strap")],
        until=20_000, expected=["1000 fell fall", "2000 fall-ended fall", "9000 fell fall", "9500 fall-ended fall", "9999 fell fall",
                               "10500 fall-ended fall"]),
    "manual: a press by a clock that is behind, after a call that was called off, tells the contacts, once (SOS-35)": dict(
        steps=[lambda m: m.pause(-500), up(0, ("help", 1), source="watch"), up(20_000, ("help", 1, -10_000), source="watch"),
               answer(25_000, "false-alarm"), up(40_000, ("help", 1, -20_000), source="watch"), up(45_000, ("help", 1, -20_000), source="watch")],
        until=45_000, expected=["0 opened help", "0 dispatched help", "25000 cancelled help", "25000 closed help", "30000 signal-lost -",
                               "40000 help-contacts -"]),
    "late: a late harmless value hides nothing, a late critical one counts": dict(
        steps=[hr(0, 130), up(1000, (HR, 70, -500)), hr(2000), up(2500, (HR, 131, 1500)), hr(2600)], until=10_000,
        expected=OPEN + ["2000 transient heart-rate", "2500 opened heart-rate", "2600 transient heart-rate"]),
    "a receive clock that was set back hides nothing (SOS-09)": dict(
        steps=[hr(0), hr(10_000_000), hr(5_000_000, 130)], until=10_000_000,
        expected=["30000 signal-lost heart-rate", "330000 silence-contacts -", "10000000 signal-returned heart-rate", "10000000 opened heart-rate"]),
}


RECORDING = """time,HR_bpm,ABPSys_mmHg,ABPDias_mmHg,NBPSys_mmHg
1970-01-01T00:00:00Z,70,0,0,
1970-01-01T00:01:00Z,0,180,0,200
1970-01-01T00:02:00Z,70,0,110,
1970-01-01T00:03:00Z,,120,80,
1970-01-01T00:04:00Z,0,0,0,120
1970-01-01T00:05:00Z,,110,70,
1970-01-01T00:09:00Z,20,,,
"""
# 2 min: the maximum of a minute ago and the minimum make the pair. 3 min: in range. 4 min: zeros and cuff pressures are neither
# normal values nor signs of life. 5 min: closed; the heart was last heard 180 s before. 8 min: so was the pressure.
EXPECTED = """120000 opened blood-pressure-min
123000 confirmed blood-pressure-min
123500 dispatched blood-pressure-min
123750 acknowledged blood-pressure-min
300000 closed blood-pressure-min
300000 signal-lost heart-rate
480000 signal-lost blood-pressure
540000 signal-returned heart-rate
540000 opened heart-rate
543000 confirmed heart-rate
543500 dispatched heart-rate
543750 acknowledged heart-rate
"""


def listed(*options, recordings=(RECORDING,)):
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.csv") for number in range(len(recordings))]
        for file, text in zip(files, recordings):
            file.write_text(text)
        command = [sys.executable, ORACLE, *files, "--ack-after-ms", "250", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class OracleTest(unittest.TestCase):
    def test_cases(self):
        for name, case in CASES.items():
            with self.subTest(name):
                machine = Machine(**case.get("settings", {}))
                if case.get("subscribe", True):
                    machine.subscribe(-1000, case.get("own"))
                for step in case["steps"]:
                    step(machine)
                machine.advance(case["until"])
                self.assertEqual([f"{t} {event} {metric}" for t, event, metric in machine.events], case["expected"])

    def test_recording(self):
        self.assertEqual(listed(), EXPECTED)

    def test_recording_as_json_lines(self):
        lines = [json.loads(line) for line in listed("--format", "jsonl").splitlines()]
        self.assertEqual("".join(f"{line['time']} {line['event']} {line['metric']}\n" for line in lines), EXPECTED)

    def test_several_recordings(self):
        lists = listed(recordings=(RECORDING, RECORDING)).split("# ")
        self.assertEqual([text.partition("\n")[2] for text in lists[1:]], [EXPECTED, EXPECTED])

    def test_rows_of_one_time_ages_and_events(self):
        # The critical value is 20 s old, the harmless one of the same upload 30 s: it comes too late. Fine at 2 s.
        recording = """time,event,age_ms,HR_bpm
1970-01-01T00:00:00Z,,20000,130
1970-01-01T00:00:00Z,,30000,70
1970-01-01T00:00:02Z,fine,,
1970-01-01T00:00:09Z,,0,131
"""
        self.assertEqual(listed(recordings=(recording,)).splitlines()[:2], ["0 opened heart-rate", "2000 muted heart-rate"])

    def test_age_by_the_devices_own_clock_where_the_upload_says_it(self):
        # The clock that receives is two minutes ahead; then what is five minutes old by the device, and new by that clock; then by both.
        late = ["0 late-critical heart-rate"]
        for own, sent, expected in [
                (-120_000, -120_000, OPEN), (-120_000, None, late), (0, 300_000, OPEN), (-300_000, 0, late), (-300_000, 60_000, late)]:
            machine = Machine()
            machine.subscribe(-1000)
            machine.upload(0, [(HR, own, 130)], sent=sent)
            self.assertEqual([f"{time} {event} {name}" for time, event, name in machine.events], expected)

    def refused(self, steps, until):
        """Steps are (time, value, refused or not, what the receiving clock says or None)."""
        machine = Machine()
        machine.subscribe(-1000)
        for t, value, refused, received in steps:
            machine.upload(t, [(HR, t if received is None else received, value)], refused=refused, received=received)
        machine.advance(until)
        return [f"{t} {event} {name}" for t, event, name in machine.events]

    def test_what_is_refused_may_alarm_and_takes_back_nothing_that_is_stored(self):
        beside = [(t, value, refused, None) for t in (0, 1000, 2000, 3000) for value, refused in ((30, False), (70, True))]
        self.assertEqual(self.refused(beside, 4000), CALLED)
        worse = [(0, 30, False, None), (0, 31, True, None), (0, 70, True, None)]
        self.assertEqual(self.refused(worse, 4000), CALLED, "nor by way of another critical one")
        ended = OPEN + ["1000 transient heart-rate"]
        self.assertEqual(self.refused([(0, 30, True, None), (1000, 70, True, None)], 4000), ended)
        self.assertEqual(self.refused([(-900, 70, False, None), (0, 30, True, None), (1000, 70, True, None)], 4000), ended)
        self.assertEqual(self.refused([(0, 30, True, None), (1000, 70, False, None)], 4000), ended)
        self.assertEqual(self.refused([(0, 30, False, None), (1000, 70, True, -3_600_000)], 4000), ended, "a clock was set back")

    def test_what_is_refused_ends_no_doubt(self):
        machine = Machine()
        machine.subscribe(-1000)
        for step in (slow(0, hr=60, breath=12, spo2=97), slow(60_000, hr=11.5)):
            step(machine)
        machine.upload(60_000, [(HR, 60_000, 70)], 60_000, refused=True)
        machine.advance(81_000)
        self.assertEqual([f"{t} {event}" for t, event, _ in machine.events], ["60000 doubted", "80000 opened", "80000 dispatched"])

    def test_acknowledgement_comes_before_an_upload_at_the_same_time(self):
        # Called at 3500, in range since 60000, acknowledged at 180000: the upload of 180000 closes.
        recording = "time,HR_bpm\n1970-01-01T00:00:00Z,130\n1970-01-01T00:01:00Z,70\n1970-01-01T00:03:00Z,70\n"
        lines = listed("--ack-after-ms", "176500", recordings=(recording,)).splitlines()
        self.assertEqual(lines[3:5], ["180000 acknowledged heart-rate", "180000 closed heart-rate"])


if __name__ == "__main__":
    unittest.main()
