"""T1, T2, T16: who is refused, and what a refusal tells."""
from itertools import combinations

from scipy.stats import ks_2samp

from group_attacker import FEW, form
from group_shadow import NUMERIC, YOUNGEST

DAY = "day"


def boundary(field):
    """T1: exactly 1000 and exactly 1001 people who really contribute, on a day of its own each, so that the guard sees no pair."""
    shadow, random = field.shadow, field.random
    organisation = field.attacker.organisation()
    heart, oxygen = NUMERIC[0], NUMERIC[1]
    wrong, told = [], []

    def judge(what, number, types, size, is_admitted, allowed=lambda filters: True, minimum=None, counted=None):
        hours = shadow.day(number)
        if counted is None:
            counted = shadow.group({}, types, hours)
        filters = shadow.exactly(size, counted, random, allowed)
        if not filters:
            wrong.append(f"{what}: no such group in this population")
            return
        # One class: nobody is left out of the table for the sake of a small one.
        answer = organisation.ask(form(filters, types, hours, DAY, attributes=[], minimum=minimum))
        told.append(f"{what}: {answer.outcome}")
        if answer.is_admitted != is_admitted or not is_admitted and answer.reason != FEW:
            wrong.append(f"{what}: {answer.outcome}")

    judge("1000", 0, [heart], 1000, False)
    judge("1001", 1, [heart], 1001, True)
    day = shadow.day(2)
    sharing = shadow.shares[heart]
    judge("more profiles, 1000 with data", 2, [heart], 1000, False, lambda one: (shadow.matching(one) & sharing).sum() > 1000)
    judge("1001 but for opt-outs", 3, [oxygen], 1000, False, lambda one: shadow.matching(one).sum() > 1000)
    day = shadow.day(4)
    judge("1001 of one type, 1000 of the other", 4, [heart, oxygen], 1000, False,
          lambda one: (shadow.matching(one) & shadow.contributing(heart, *day)).sum() > 1000, counted=shadow.contributing(oxygen, *day))
    judge("1001 of both types", 5, [heart, oxygen], 1001, True)
    judge("1500 where 1501 are wanted", 6, [heart], 1500, False, minimum=1501)
    field.report("T1", "boundary at 1000 / 1001 people", "; ".join(told), "as said of each", not wrong, wrong)


def refusals(field):
    """T2: one body for whatever a refused group holds, and no difference of times."""
    shadow, random, count = field.shadow, field.random, field.options.latencies
    hours = shadow.day(0)
    counted = shadow.group({}, NUMERIC[:1], hours)
    each = 50
    sizes = {0: [], 1: [], 500: [], 1000: []}
    for size, found in sizes.items():
        for number in range(each):
            if size == 0:
                filters = {"age": {"from": 105 + number % 15, "to": 120}, "weight": {"from": 35 + 5 * (number % 20), "to": 200}}
            else:
                filters = shadow.exactly(size, counted, random, lambda one: one not in found)
            if filters:
                found.append(filters)
    trials = [(size, filters) for size, found in sizes.items() for filters in found]
    rounds = max(1, count // max(1, len(trials)))
    bodies, times, strange = {}, {size: [] for size in sizes}, []
    for organisation in field.attacker.organisations(rounds):
        random.shuffle(trials)

        def ask(trial):
            return trial[0], organisation.ask(form(trial[1], NUMERIC[:1], hours, DAY, attributes=[]))
        for size, answer in field.attacker.together(ask, trials):
            bodies.setdefault(answer.content, set()).add(size)
            times[size].append(answer.took)
            if not answer.is_refused:
                strange.append(f"{size}: {answer.outcome}")
    least = min(ks_2samp(times[one], times[other]).pvalue for one, other in combinations(times, 2))
    field.report(
        "T2", "refusals of 0, 1, 500 and 1000 people", f"{len(bodies)} body, KS p ≥ {least:.2g} over {sum(map(len, times.values()))} times",
        "1 body, p > 1e-6", len(bodies) == 1 and least > 1e-6 and not strange, strange)


def probing(field):
    """T16: two requests on both sides of a target's year, near the threshold: does the answer tell the target's occupation?

    What everybody knows of people of that age is no fault of a release: an attack is measured by what it guesses better than that.
    """
    shadow, random, wanted = field.shadow, field.random, field.options.probes
    hours = shadow.day(1)
    heart = shadow.contributing(NUMERIC[0], *hours)
    places = [code for code, mask in shadow.residence.items() if (mask & heart).sum() > 2500]
    organisations = field.attacker.organisations(max(1, wanted // 100))
    trials = []
    for _ in range(wanted * 20):
        if len(trials) == wanted:
            break
        kind = {"occupation": [random.choice(("employed", "unemployed"))]}
        base = {"residence": [random.choice(places)]} | kind
        members = shadow.matching(base) & heart
        target = random.choice((shadow.matching({"residence": base["residence"]}) & heart & (shadow.age > 30)).nonzero()[0])
        age = int(shadow.age[target])
        # The attacker's own estimate of sizes is good to three in a hundred.
        aim = 1001 * random.uniform(0.97, 1.03)
        sizes = [(members & (shadow.age >= low) & (shadow.age < age)).sum() for low in range(YOUNGEST, age)]
        if not sizes or max(sizes) < 950:
            continue
        low = min(range(len(sizes)), key=lambda index: abs(sizes[index] - aim)) + YOUNGEST
        pair = [base | {"age": {"from": low, "to": last}} for last in (age - 1, age)]
        usual = shadow.matching(kind)[shadow.age == age].mean() > 0.5
        trials.append((organisations[len(trials) % len(organisations)], pair, bool(members[target]), bool(usual)))

    def ask(trial):
        organisation, pair, has, usual = trial
        outcomes = [organisation.ask(form(filters, NUMERIC[:1], hours, DAY, attributes=[])).outcome for filters in pair]
        return outcomes, has, usual
    answers = field.attacker.together(ask, trials)

    def right(guess):
        return sum(guess(before, after, usual) == has for (before, after), has, usual in answers) / max(1, len(answers))
    known = right(lambda before, after, usual: usual)
    crossed = right(lambda before, after, usual: True if before == FEW != after else usual)
    both = right(lambda before, after, usual: True if before == FEW != after else False if before == after == FEW else usual)
    share = max(crossed, both)
    field.report(
        "T16", "probing the threshold for one person's occupation",
        f"{share:.3f} right of {len(answers)}, {known:.3f} by age alone, {sum(before == FEW != after for (before, after), *_ in answers)} crossings",
        "at most 0.05 more than by age alone", len(answers) >= wanted // 2 and share <= known + 0.05,
        [] if answers else ["no group near the threshold"])
