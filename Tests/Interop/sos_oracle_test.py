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


def up(t, *entries):
    """One upload; an entry is (metric, value) or (metric, value, own time)."""
    return lambda m: m.upload(t, [(e[0], e[2] if len(e) > 2 else t, e[1]) for e in entries])


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
        steps=[up(0, (MIN, 110)), up(600_000, (MAX, 180)), up(600_001, (MAX, 190))], until=600_001,
        expected=["30000 signal-lost -", "330000 silence-contacts -", "600000 signal-returned -", "600000 opened blood-pressure-max",
                  "600001 transient blood-pressure-max"]),
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
        steps=[up(0, (HR, 200, -60_001)), up(1000, (HR, 200, -59_000))], until=3_999, expected=["1000 opened heart-rate"]),
    "ALERTED: back in range 1 ms before 3 s (SOS-12)": dict(
        steps=[hr(0, 130), hr(2999)], until=10_000, expected=OPEN + ["2999 transient heart-rate"]),
    "ALERTED: back in range at 3 s is too late; CONFIRMED calls all the same": dict(
        steps=[hr(0, 130), hr(3000)], until=10_000, expected=CALLED),
    "ALERTED: one of two parameters back in range is not enough": dict(
        own=SPO2_BOUND, steps=[up(0, (HR, 130), (SPO2, 80)), up(1000, (HR, 70)), up(2000, (SPO2, 95))], until=10_000,
        expected=OPEN + ["2000 transient heart-rate"]),
    "ALERTED: critical and harmless in one upload": dict(
        steps=[up(0, (HR, 130, -1000), (HR, 80))], until=10_000, expected=OPEN + ["0 transient heart-rate"]),
    "ALERTED: fine mutes, the same parameter starts nothing, in range re-arms (SOS-14)": dict(
        steps=[hr(0, 130), answer(1000, "fine"), hr(2000, 180), hr(3000), hr(4000, 130)], until=6_999,
        expected=OPEN + ["1000 muted heart-rate", "4000 opened heart-rate"]),
    "ALERTED: fine, then another parameter: worse (SOS-14)": dict(
        own=SPO2_BOUND, steps=[hr(0, 130), answer(1000, "fine"), up(2000, (SPO2, 89))], until=5_000,
        expected=OPEN + ["1000 muted heart-rate", "2000 opened oxygen-saturation", "5000 confirmed oxygen-saturation"]),
    "ALERTED: help calls at once": dict(
        steps=[hr(0, 130), answer(500, "help")], until=10_000, expected=OPEN + ["500 dispatched heart-rate"]),
    "muted: help takes the emergency up again": dict(
        steps=[hr(0, 130), answer(500, "fine"), answer(900, "help")], until=10_000,
        expected=OPEN + ["500 muted heart-rate", "900 dispatched heart-rate"]),
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
        expected=ACKED),
    "DISPATCHED: readings more seldom than the silence limit close too": dict(
        steps=[hr(0, 130), ack(3600), hr(60_000), hr(120_000), hr(180_000)], until=181_000, expected=ACKED + ["180000 closed heart-rate"]),
    "DISPATCHED: one reading in range and then silence close nothing, the next one does": dict(
        steps=[hr(0, 130), ack(3600), hr(4000), hr(500_000)], until=501_000, expected=ACKED + ["500000 closed heart-rate"]),
    "DISPATCHED: a sensor that was taken off is forgotten after 600 s": dict(
        own=SPO2_BOUND, steps=[up(0, (SPO2, 80)), ack(3600)] + [hr(t) for t in range(10_000, 1_000_000, 10_000)], until=800_000,
        expected=[line.replace(HR, SPO2) for line in ACKED] + ["730000 closed oxygen-saturation"]),
    "STOOD-DOWN: silence closes and suspends": dict(
        steps=[hr(0, 130), answer(4000, "fine")], until=DAY,
        expected=CALLED + ["4000 cancelled heart-rate", "30000 closed heart-rate", "30000 signal-lost -",
                           "330000 silence-contacts -"]),
    "STOOD-DOWN: a silence that is due already ends it at once": dict(
        steps=[hr(0, 130), ack(3600), answer(40_000, "fine")], until=DAY,
        expected=ACKED + ["40000 cancelled heart-rate", "40000 closed heart-rate", "40000 signal-lost -",
                          "340000 silence-contacts -"]),
    "SUSPENDED: after 30 s, back with the data (SOS-25)": dict(
        steps=[hr(0), hr(29_999), hr(60_000, 130)], until=60_000,
        expected=["59999 signal-lost -", "60000 signal-returned -", "60000 opened heart-rate"]),
    "SUSPENDED: from subscription on, without any data": dict(
        steps=[], until=DAY, expected=["29000 signal-lost -", "329000 silence-contacts -"]),
    "ALERTED: silence goes on to the call (CON-32); an hour after the silence limit it is closed": dict(
        steps=[hr(0, 130), ack(3600)], until=DAY, expected=ACKED + ["3630000 closed heart-rate", "3630000 signal-lost -"]),
    "DISPATCHING: no silence ends a call; the hour counts from the acknowledgement": dict(
        steps=[hr(0, 130), ack(10_000_000)], until=DAY,
        expected=CALLED + ["10000000 acknowledged heart-rate", "13600000 closed heart-rate", "13600000 signal-lost -"]),
    "PAUSED: nothing is compared; resumed: values are forgotten (SOS-04)": dict(
        steps=[lambda m: m.pause(0), hr(1000, 200), lambda m: m.resume(2000), up(3000, (SPO2, 50))], until=33_000,
        expected=["33000 signal-lost -"]),
    "resumed from SUSPENDED: silence is noticed again": dict(
        steps=[lambda m: m.pause(30_000), lambda m: m.resume(40_000)], until=DAY,
        expected=["29000 signal-lost -", "70000 signal-lost -", "370000 silence-contacts -"]),
    "any: unsubscribe completes the running emergency (SOS-03)": dict(
        steps=[hr(0, 130), lambda m: m.unsubscribe(1000), hr(2000), ack(3600), hr(5000, 200)], until=DAY,
        expected=ACKED + ["3600 closed heart-rate"]),
    "any: unsubscribe without emergency": dict(steps=[hr(0), lambda m: m.unsubscribe(1000), hr(2000, 200)], until=DAY, expected=[]),
    "torn: a lone low rate of a minute in which all else is off alarms nobody, and the contacts hear at once": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=11.5)], until=DAY,
        expected=["180000 signal-lost -", "240000 silence-contacts -"]),
    "torn: the next one is believed": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=11.5), slow(300_000, hr=11.5)], until=303_500,
        expected=["180000 signal-lost -", "240000 silence-contacts -", "300000 signal-returned -", "300000 opened heart-rate",
                  "303000 confirmed heart-rate", "303500 dispatched heart-rate"]),
    "torn: not with another reading beside it": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=11.5, spo2=90)], until=240_000,
        expected=["180000 signal-lost -", "240000 signal-returned -", "240000 opened heart-rate"]),
    "torn: not where there never were other sensors": dict(
        steps=[slow(0, hr=60, breath=12), slow(240_000, hr=11.5)], until=240_000,
        expected=["180000 signal-lost -", "240000 signal-returned -", "240000 opened heart-rate"]),
    "torn: not above the bound": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=140)], until=240_000,
        expected=["180000 signal-lost -", "240000 signal-returned -", "240000 opened heart-rate"]),
    "torn: not before the silence is said": dict(
        steps=[slow(0, hr=60, breath=12, spo2=97), slow(179_999, hr=11.5)], until=179_999, expected=["179999 opened heart-rate"]),
    "torn: with the option, the ambulance is called at once": dict(
        settings={"silence_calls_ambulance": True}, steps=[slow(0, hr=60, breath=12, spo2=97), slow(240_000, hr=11.5)], until=243_500,
        expected=["180000 signal-lost -", "240000 silence-contacts -", "240000 opened oxygen-saturation",
                  "243000 confirmed oxygen-saturation", "243500 dispatched oxygen-saturation"]),
    "late: a late harmless value hides nothing, a late critical one counts": dict(
        steps=[hr(0, 130), up(1000, (HR, 70, -500)), hr(2000), up(2500, (HR, 131, 1500)), hr(2600)], until=10_000,
        expected=OPEN + ["2000 transient heart-rate", "2500 opened heart-rate", "2600 transient heart-rate"]),
    "a receive clock that was set back hides nothing (SOS-09)": dict(
        steps=[hr(0), hr(10_000_000), hr(5_000_000, 130)], until=10_000_000,
        expected=["30000 signal-lost -", "330000 silence-contacts -", "10000000 signal-returned -", "10000000 opened heart-rate"]),
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
# normal values nor signs of life. 5 min: closed. 8 min: 180 s after that.
EXPECTED = """120000 opened blood-pressure-min
123000 confirmed blood-pressure-min
123500 dispatched blood-pressure-min
123750 acknowledged blood-pressure-min
300000 closed blood-pressure-min
480000 signal-lost -
540000 signal-returned -
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

    def test_acknowledgement_comes_before_an_upload_at_the_same_time(self):
        # Called at 3500, in range since 60000, acknowledged at 180000: the upload of 180000 closes.
        recording = "time,HR_bpm\n1970-01-01T00:00:00Z,130\n1970-01-01T00:01:00Z,70\n1970-01-01T00:03:00Z,70\n"
        lines = listed("--ack-after-ms", "176500", recordings=(recording,)).splitlines()
        self.assertEqual(lines[3:5], ["180000 acknowledged heart-rate", "180000 closed heart-rate"])


if __name__ == "__main__":
    unittest.main()
