"""The rules by which `make test` and `.ci/run` forgive, tried on made-up runs: a checker is shown to bite."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO
from unittest import mock

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def runner(*path):
    loader = importlib.machinery.SourceFileLoader("runner", os.path.join(ROOT, "Tests", *(path or ("run",))))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
    loader.exec_module(module)
    return module


class UnsteadyTests(unittest.TestCase):
    def setUp(self):
        self.runner = runner()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.runner.UNSTEADY = os.path.join(folder.name, "unsteady.txt")

    def run_of(self, names, is_whole=True, module="Module"):
        """One in which tests of these names failed."""
        ids = {f"{module}.Suite/test{number}()/File.swift:{number}:2": name for number, name in enumerate(names)}
        events = [
            {"kind": "test", "payload": {"kind": "function", "id": one, "name": "test()", "displayName": name}}
            for one, name in ids.items()]
        for one in ids:
            events.append({"kind": "event", "payload": {"kind": "testStarted", "testID": one}})
            events.append({"kind": "event", "payload": {"kind": "issueRecorded", "testID": one, "issue": {"isKnown": False}}})
            events.append({"kind": "event", "payload": {"kind": "testEnded", "testID": one}})
        if is_whole:
            events.append({"kind": "event", "payload": {"kind": "runEnded"}})
        run = object.__new__(self.runner.Run)
        run.code = 1
        run.read(events)
        return run

    def judge(self, names, passes_alone=True, is_whole=True):
        """The verdict on such a run, and what was said."""
        said = StringIO()
        with redirect_stdout(said):
            return self.runner.verdict(self.run_of(names, is_whole), lambda _: passes_alone), said.getvalue()

    def test_once_is_forgiven_and_written_down_and_twice_is_not(self):
        self.assertEqual(0, self.judge(["MYD-05: a chart"])[0])
        with open(self.runner.UNSTEADY, encoding="utf-8") as file:
            self.assertEqual("Module.Suite/test0()\n", file.read())
        code, said = self.judge(["MYD-05: a chart"])
        self.assertEqual(1, code)
        self.assertIn("for the second time", said)

    def test_rescue_is_never_forgiven(self):
        for name in ("SOS-28: a kill", "NFR-08, INV-04: once", "F07: stands still", "A story, SOS-15"):
            self.assertEqual(1, self.judge([name])[0], name)
        self.assertFalse(os.path.exists(self.runner.UNSTEADY))
        self.assertEqual(0, self.judge(["of FHIR and F-numbers"])[0])

    def test_what_fails_alone_too_what_are_many_and_what_crashed_is_not_forgiven(self):
        self.assertEqual(1, self.judge(["a"], passes_alone=False)[0])
        self.assertEqual(1, self.judge(["a", "b", "c", "d"])[0])
        self.assertEqual(1, self.judge(["a"], is_whole=False)[0])

    def test_processes_are_judged_as_one_run(self):
        def code(*runs):
            if os.path.exists(self.runner.UNSTEADY):
                os.remove(self.runner.UNSTEADY)
            with redirect_stdout(StringIO()):
                return self.runner.verdict(self.runner.Together(runs), lambda _: True)

        one, other = self.run_of(["a", "b"]), self.run_of(["c"], module="Other")
        self.assertEqual("✘ Test run with 3 tests in 0 suites failed after 2.000 seconds with 3 issues.",
                         self.runner.Together([one, other]).summary(2))
        self.assertEqual(0, code(one, other))
        self.assertEqual(1, code(one, self.run_of(["c", "d"], module="Other")), "more than three of all")
        self.assertEqual(1, code(one, self.run_of([], is_whole=False)), "one crashed")
        nothing = self.run_of([])
        nothing.code = self.runner.NOTHING_TO_RUN
        self.assertEqual(0, code(one, nothing), "all of one was skipped")
        self.assertEqual(nothing.code, code(nothing, nothing), "there is no test at all")
        silent = self.run_of([])
        silent.ended = {"Other.Suite/passed()"}
        self.assertEqual(1, code(one, silent), "one failed, and no test says why")

    def test_the_processes_run_each_test_once(self):
        def runs(arguments, test):
            words = list(zip(arguments[::2], arguments[1::2]))
            wanted = [pattern for option, pattern in words if option == "--filter"]
            return any(re.search(one, test) for one in wanted or [""]) and not any(
                re.search(pattern, test) for option, pattern in words if option == "--skip")

        longest, parts = self.runner.LONGEST_FIRST, self.runner.parts(["--skip", "^HouseTests\\."])
        for module in (*longest, "BusTests", "SomethingNewTests", "HouseTests"):
            expected = [module] if module in longest else ["the others"] if module != "HouseTests" else []
            self.assertEqual(expected, [name for name, arguments in parts if runs(arguments, f"{module}.A/b()")])

    def test_a_part_that_had_nothing_to_run_passed_in_silence(self):
        def judge(gone, arguments=(), failing=()):
            """The verdict on a run of all parts, and what was said."""
            runs = {}
            for name, _ in self.runner.parts([]):
                runs[name] = self.run_of(["a"] if name in failing else [], module=name)
                runs[name].ended = runs[name].ended or {f"{name}.Suite/passed()"}
                runs[name].code = self.runner.NOTHING_TO_RUN if name in gone else int(name in failing)
            said = StringIO()
            with redirect_stdout(said), mock.patch.object(self.runner, "Run", lambda arguments, width, name: runs[name]):
                run = self.runner.run_all(list(arguments))
                return (run.code and self.runner.verdict(run, lambda _: True)), said.getvalue()

        house = ("--skip", "^HouseTests\\.")
        self.assertEqual(0, judge([])[0])
        code, said = judge(["SuiteTests"])
        self.assertEqual(self.runner.NOTHING_TO_RUN, code)
        self.assertIn("nothing to run in SuiteTests:", said)
        self.assertNotEqual(0, judge(["SuiteTests"], house)[0], "what is left out is another part")
        self.assertNotEqual(0, judge(["the others"])[0])
        self.assertNotEqual(0, judge(["SuiteTests"], failing=["BusTests"])[0], "nor forgiven beside what is unsteady")
        self.assertEqual(0, judge(["SuiteTests"], (*house, "--skip", "^SuiteTests\\."))[0], "the user's own wish")
        self.assertEqual(0, judge(["SuiteTests"], ("--skip", "Suite"))[0])

    def test_skips_are_kept_with_their_reason(self):
        run = object.__new__(self.runner.Run)
        run.code = 0
        run.read([
            {"kind": "event", "payload": {"kind": "testSkipped", "testID": "M.S/t()/F.swift:1:2", "messages": [
                {"symbol": "skip", "text": "Test t() skipped"}, {"symbol": "details", "text": "needs root"}]}}])
        self.assertEqual({"M.S/t()/F.swift:1:2": "Test t() skipped needs root"}, run.skipped)


    def test_a_whole_run_was_green_though_a_test_had_not_run(self):
        def judge(skipped):
            run = self.run_of([])
            run.code, run.skipped = 0, skipped
            with mock.patch.object(self.runner, "run_all", lambda _: run), mock.patch.object(self.runner, "BUNDLE", sys.executable):
                return self.runner.main([])

        self.assertEqual(0, judge({}))
        self.assertEqual(0, judge({"SystemTests.PlantedService/serve()/F.swift:1:2": "runs only as a child"}))
        self.assertEqual(1, judge({"SystemTests.SystemTests/EdgeTests/t()/F.swift:1:2": "caddy is not installed"}))


class PeerTests(unittest.TestCase):
    """`make interop` and `make attack-http` where what they need is missing."""

    def interop(self, pip, pytest):
        """Exit code and words of .ci/interop in a tree of its own, with these programs in place of pip and Python."""
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, "Tests", "Interop"))
            for name in ("requirements.txt", "requirements-alone.txt"):
                shutil.copy(os.path.join(ROOT, "Tests", "Interop", name), os.path.join(tree, "Tests", "Interop"))
            os.mkdir(os.path.join(tree, ".ci"))
            for name in ("interop", "skips", "allowed-skips"):
                shutil.copy(os.path.join(ROOT, ".ci", name), os.path.join(tree, ".ci"))
            programs = os.path.join(tree, ".build", "venv", "bin")
            os.makedirs(programs)
            for folder, name, script in ((programs, "pip", pip), (programs, "python", pytest), (tree, "python3", "exit 0")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{script}\n")
                os.chmod(os.path.join(folder, name), 0o755)
            done = subprocess.run(
                [os.path.join(tree, ".ci", "interop")], env=os.environ | {"PATH": f"{tree}:{os.environ['PATH']}"}, capture_output=True,
                text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_peers_that_could_not_run_passed(self):
        self.assertEqual(0, self.interop("exit 0", "echo 3 passed")[0])
        code, said = self.interop("exit 1", "echo 3 passed")
        self.assertEqual(1, code)
        self.assertIn("PIP_INDEX_URL", said)
        code, said = self.interop("exit 0", "echo 'SKIPPED [1] Tests/Interop/test_pages.py:34: no chromium'")
        self.assertEqual(1, code)
        self.assertIn("NOT ALLOWED TO BE SKIPPED", said)
        self.assertEqual(2, self.interop("exit 0", "exit 2")[0], "pytest's own verdict")

    def test_an_attack_passed_without_its_edge(self):
        program = os.path.join(ROOT, "Tests", "Interop", "attack_http.py")
        done = subprocess.run(
            [sys.executable, program, "--seconds", "1"], env=os.environ | {"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
        self.assertEqual(1, done.returncode)
        self.assertIn("apt-get install caddy", done.stderr)


class MutationTests(unittest.TestCase):
    """`make mutations`, without a build."""

    def setUp(self):
        self.mutations = runner("Mutations", "run")

    def test_a_changed_line_left_its_mutation_behind(self):
        for module, mutations in self.mutations.tables().items():
            self.assertEqual([], self.mutations.faults(module, mutations))
            planted = dict(mutations[0])
            for field, wrong in (("old", "let "), ("old", "nowhere"), ("file", "nowhere"), ("new", planted["old"]), ("tests", ["No"])):
                self.assertEqual(1, len(self.mutations.faults(module, [planted | {field: wrong}])), field)
            self.assertEqual(1, len(self.mutations.faults(module, [planted, planted])))

    def test_a_mutation_that_no_test_noticed_was_caught(self):
        def judge(code, *failed):
            return self.mutations.verdict(None, mock.Mock(code=code, failures=list(failed)))

        self.assertEqual((True, "a guard (and 1 more)"), judge(1, "a guard", "another"))
        self.assertEqual((True, "a guard"), judge(None, "a guard"))
        self.assertEqual((False, "SURVIVED"), judge(0))
        for code in (None, 1, -5, 69):
            self.assertFalse(judge(code)[0], code)
        self.assertEqual((False, "DOES NOT COMPILE"), self.mutations.verdict("DOES NOT COMPILE", None))

    def test_the_copy_kept_a_mutation(self):
        with tempfile.TemporaryDirectory() as folder:
            root, self.mutations.COPY = os.path.join(folder, "root"), os.path.join(folder, "copy")
            self.mutations.ROOT = root
            here, there = (os.path.join(base, "Services", "Planted", "Planted.swift") for base in (root, self.mutations.COPY))
            self.mutations.write(here, b"right")
            self.mutations.write(os.path.join(root, "Package.swift"), b"// A package.")
            self.mutations.bring_up_to_date()
            os.utime(there, (1, 1))
            self.mutations.bring_up_to_date()
            self.assertEqual(1, os.stat(there).st_mtime, "what has not changed is not compiled again")

            for build in (mock.Mock(return_value="DOES NOT COMPILE"), mock.Mock(side_effect=KeyboardInterrupt)):
                with mock.patch.object(self.mutations, "build", build):
                    mutation = {"file": "Services/Planted/Planted.swift", "old": "right", "new": "wrong", "tests": []}
                    try:
                        self.assertFalse(self.mutations.judge("PlantedTests", mutation)[0])
                    except KeyboardInterrupt:
                        pass
                self.assertEqual(b"right", self.mutations.read(there))
            self.mutations.write(there, b"wrong")
            self.mutations.write(os.path.join(os.path.dirname(there), "Gone.swift"), b"")
            self.mutations.bring_up_to_date()
            self.assertEqual(b"right", self.mutations.read(there))
            self.assertEqual(["Planted.swift"], os.listdir(os.path.dirname(there)))


class SkipTests(unittest.TestCase):
    def skips(self, *lines):
        with tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8") as log:
            log.write("".join(f"{line}\n" for line in ("passed", *lines)))
            log.flush()
            done = subprocess.run([os.path.join(ROOT, ".ci", "skips"), log.name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_a_skip_that_nobody_allowed_fails(self):
        self.assertEqual((0, ""), self.skips())
        allowed = "SKIPPED: SystemTests.PlantedService/serve(): runs only as a child of the tests of planted faults"
        self.assertEqual((0, allowed + "\n"), self.skips(allowed))
        code, said = self.skips(allowed, "SKIPPED [1] Tests/Interop/test_pages.py:34: no chromium")
        self.assertEqual(1, code)
        self.assertIn("NOT ALLOWED TO BE SKIPPED: SKIPPED [1] Tests/Interop/test_pages.py", said)


if __name__ == "__main__":
    unittest.main()
