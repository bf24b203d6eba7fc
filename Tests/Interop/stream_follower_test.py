"""A follower in another language, killed again and again, has every fact once and in order.

    TRACKME_BUILD=.build/debug python3 -m unittest discover -s Tests/Interop -p stream_follower_test.py
"""
import json
import os
import random
import signal
import time
import unittest
from datetime import datetime

from running_suite import SuiteTestCase, await_until, read_lines


def milliseconds(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class StreamFollowerTest(SuiteTestCase):
    def follower(self, name, *arguments, peer="follower"):
        path = os.path.join(self.suite.folder, name)
        return self.suite.python(
            "stream_follower.py", "--keys", f"{self.suite.data}/keys", "--name", peer, "--bus", f"{self.suite.data}/bus",
            "--record", f"{path}.jsonl", "--positions", f"{path}.json", *arguments, name=name)

    def record(self, name):
        """Per stream the facts in the order in which they were recorded."""
        streams = {}
        for fact in read_lines(os.path.join(self.suite.folder, f"{name}.jsonl")):
            streams.setdefault(fact["stream"], []).append(fact)
        return streams

    def positions(self, name):
        path = os.path.join(self.suite.folder, f"{name}.json")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return {stream: position["next"] for stream, position in json.load(file)["streams"].items()}

    def stop(self, name, program):
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(timeout=5), 0, self.suite.output(name))
        return json.loads(self.suite.output(name).splitlines()[-1])

    def test_is_complete_after_kills_losses_and_a_crash_of_the_publisher(self):
        suite, chance = self.suite, random.Random(7)
        suite.trackme("keys", "add-peer", "follower", "--hear", "ingest.samples")

        killed, lossy = self.follower("killed"), self.follower("lossy", "--lose", "3")
        for name in ("killed", "lossy"):
            await_until(f"{name} knows where the streams are", 10, lambda: len(self.positions(name)) == 16)

        simulation = suite.simulate("--people", "6", "--rate", "10", "--duration", "10s", name="people")
        began, kills, is_publisher_killed = time.monotonic(), 0, False
        while simulation.poll() is None:
            time.sleep(chance.uniform(0.1, 0.9))
            killed.kill()
            killed.wait()
            kills += 1
            if not is_publisher_killed and time.monotonic() - began > 4:
                suite.kill_service("ingest")
                is_publisher_killed = True
            time.sleep(chance.uniform(0, 0.3))
            killed = self.follower("killed")
        self.assertEqual(simulation.returncode, 0, suite.output("people"))
        self.assertGreaterEqual(kills, 5)
        self.assertTrue(is_publisher_killed)

        # One that has only the log tells what the others must have.
        replayed = self.follower("replayed", "--from-start")
        await_until("the log is replayed", 10, lambda: self.positions("replayed") and self.are_all_entries_in("replayed"))
        for name in ("killed", "lossy"):
            await_until(f"{name} has caught up", 10, lambda: self.positions(name) == self.positions("replayed"))

        # A newcomer begins behind what there is.
        late = self.follower("late")
        await_until("the newcomer knows where the streams are", 5, lambda: len(self.positions("late")) == 16)
        heads = self.positions("late")
        self.assertEqual(heads, self.positions("replayed"))
        simulation = suite.simulate("--people", "2", "--rate", "5", "--duration", "1s", name="people-later")
        self.assertEqual(simulation.wait(), 0)
        await_until("the newcomer has what came later", 5, lambda: self.are_all_entries_in("late", "people-later"))
        await_until("all have the same", 5, lambda: all(self.positions(n) == self.positions("late") for n in ("killed", "lossy", "replayed")))

        counts = {name: self.stop(name, program) for name, program in (("killed", killed), ("lossy", lossy), ("replayed", replayed), ("late", late))}
        self.assertGreater(counts["lossy"]["gaps"], 0, "no gap was met: nothing was proven")
        self.assertGreater(counts["lossy"]["lost"], 0)
        whole = self.record("replayed")
        for name in ("killed", "lossy", "replayed", "late"):
            for stream, facts in self.record(name).items():
                first = heads[stream] if name == "late" else 1
                self.assertEqual([fact["sequence"] for fact in facts], list(range(first, self.positions(name)[stream])), f"{name}, {stream}")
                self.assertEqual(facts, whole[stream][first - 1:], f"{name}, {stream}: heard and replayed are not the same bytes")
                self.assertEqual(len({fact["epoch"] for fact in facts}), 1)
        self.assertEqual(self.entries("killed"), self.acknowledged("people") | self.acknowledged("people-later"))
        for stream, facts in whole.items():
            for fact in facts:
                number = 0
                for digit in fact["subject"].removeprefix("per_"):
                    number = number * 32 + "0123456789abcdefghjkmnpqrstvwxyz".index(digit)
                self.assertEqual(stream, f"ingest.samples.{number % 16:02}")

    def test_who_may_not_hear_hears_and_gets_nothing(self):
        self.suite.trackme("keys", "add-peer", "outsider", "--hear", "sos.emergencies")
        outsider = self.follower("outsider", "--seconds", "2.5", peer="outsider")
        self.assertEqual(outsider.wait(timeout=10), 0, self.suite.output("outsider"))
        self.assertEqual(self.positions("outsider"), {})
        self.assertIn("no heartbeat for a second", self.suite.output("outsider"))

    def entries(self, name):
        """What is recorded: person, metric, time and value."""
        return {
            (fact["subject"], sample["type"], sample["at"], sample.get("value"))
            for facts in self.record(name).values() for fact in facts for sample in json.loads(fact["payload"])["samples"]}

    def acknowledged(self, name):
        """What ingest has acknowledged, by the ledger of the simulated people."""
        lines = read_lines(os.path.join(self.suite.folder, f"{name}.jsonl"))
        return {
            (line["person"], line["entry"]["type"], milliseconds(line["entry"]["at"]), line["entry"].get("value"))
            for line in lines if line["kind"] == "sample"}

    def are_all_entries_in(self, name, people="people"):
        return self.acknowledged(people) <= self.entries(name)


if __name__ == "__main__":
    unittest.main()
