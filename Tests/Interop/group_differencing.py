"""T11, T12, T14, T15: what can be learnt by setting several answers beside each other."""
import json

import numpy as np

from group_attacker import EXHAUSTED, MOST_REFUSED, SIMILAR, form
from group_shadow import NUMERIC, OCCUPATIONS, YOUNGEST

HEART = NUMERIC[0]
APART = 1052  # 1001 and the most of the keyed jitter


def variants(field, filters, people):
    """Other filters that differ from these by fewer than 1001 people, each with that number."""
    shadow, random, found, seen = field.shadow, field.random, [], {json.dumps(filters, sort_keys=True)}
    members = shadow.matching(filters)
    age = filters.get("age", {"from": YOUNGEST, "to": 100})
    tried = [filters | {"age": {"from": age["from"] + low, "to": age["to"] + high}} for low in (-2, -1, 0, 1, 2) for high in (-2, -1, 0, 1, 2)]
    tried += [filters | {"height": {"to": most}} for most in range(180, 220, 5)] + [filters | {"height": {"from": least}} for least in range(105, 155, 5)]
    tried += [filters | {"weight": {"to": most}} for most in range(85, 200, 5)] + [filters | {"weight": {"from": least}} for least in range(35, 60, 5)]
    tried += [filters | {"sex": ["female", "male"]}, filters | {"occupation": list(random.sample(OCCUPATIONS, 2))}]
    if "residence" in filters:
        chosen = np.logical_or.reduce([shadow.residence[code] for code in filters["residence"]])
        # A place within a chosen one says nothing: these are the same filters.
        small = [code for code, mask in shadow.residence.items() if 0 < mask.sum() < 50 and (mask & ~chosen).any()]
        tried += [filters | {"residence": filters["residence"] + [code]} for code in random.sample(small, min(10, len(small)))]
    tried += [one | {"height": {"to": most}} for one in tried[:25] if "height" not in one for most in (195, 200, 205, 210)]
    random.shuffle(tried)
    for one in tried:
        key = json.dumps(one, sort_keys=True)
        if key in seen or one.get("age", age)["from"] > one.get("age", age)["to"]:
            continue
        other = shadow.matching(one)
        different = int((other != members).sum())
        if other.sum() >= people and different < 1001:
            seen.add(key)
            found.append((one, different))
    return found


def large_base(field, least, extra=lambda filters: True):
    """Filters of at least so many people who have heart rates on every day."""
    shadow, random = field.shadow, field.random
    for _ in range(5000):
        filters = shadow.random_filters(random)
        if "age" in filters and (shadow.matching(filters) & shadow.shares[HEART]).sum() > least and extra(filters):
            return filters
    return {"age": {"from": 30, "to": 60}}


def differencing(field):
    """T11: pairs of groups that differ by one target, some, or nobody."""
    shadow, wanted = field.shadow, field.options.targets
    days = shadow.hours // 24
    jobs, each = [], max(1, min(30, MOST_REFUSED // days - 4))
    for organisation in field.attacker.organisations(max(1, -(-wanted // (each * days)))):
        for day in range(days):
            jobs.append((organisation, day, large_base(field, 1400)))

    def pair_up(job):
        organisation, day, base = job
        ask = lambda filters: organisation.ask(form(filters, [HEART], shadow.day(day), "day", attributes=[]))
        told = [(base, ask(base))]
        return told + [(filters, ask(filters)) for filters, _ in variants(field, base, 1200)[:each]]
    broken, pairs, reasons, bases = [], 0, {}, 0
    for told in field.attacker.together(pair_up, jobs):
        bases += told[0][1].is_admitted
        admitted = [(filters, shadow.matching(filters)) for filters, answer in told if answer.is_admitted]
        for filters, answer in told[1:]:
            pairs += 1
            reasons[answer.outcome] = reasons.get(answer.outcome, 0) + 1
        for index, (one, members) in enumerate(admitted):
            broken += [f"{one} and {other} differ by {int((members != others).sum())}" for other, others in admitted[:index]
                       if (members != others).sum() < 1001]
    informative = reasons.get(SIMILAR, 0) >= 0.8 * max(1, pairs) and bases >= 0.9 * len(jobs)
    field.report(
        "T11", f"{pairs} groups beside {bases} that differ by fewer than 1001", f"{len(broken)} pairs admitted; {reasons}", "0",
        not broken and informative, broken if broken else [] if informative else ["too few were refused for their difference"])


def recovered(answers, shadow, gap, hours, is_noisy):
    """By target of the gap: the errors of the attacker's guess and of a guess from the population."""
    totals = []
    for answer in answers:
        entries = answer.entries()
        if not entries:
            return []
        counts = [entry.individuals if is_noisy else 10 for entry in entries]
        totals.append((sum(counts), sum(count * entry.values[0] for count, entry in zip(counts, entries))))
    (small, of_small), (large, of_large) = totals
    guess = (of_large - of_small) / max(1, large - small)
    truth = shadow.value(HEART, *hours)[gap]
    truth = truth[truth > 0]
    return list(zip(np.abs(truth - guess), np.abs(truth - of_large / max(1, large))))


def allowed_difference(field):
    """T12: the smallest differences that are admitted tell nothing of those who are in them."""
    shadow, random, errors = field.shadow, field.random, {"records": [], "statistics": []}
    organisation = field.attacker.organisation()
    for day in range(min(3, shadow.hours // 24)):
        hours = shadow.day(day)
        found = None
        for base in shadow.bases(random):
            sizes = shadow.intervals(base, shadow.contributing(HEART, *hours))
            for low in range(YOUNGEST, 70):
                widths = [(high, wider) for high in range(low, 100) for wider in range(high + 1, 101)
                          if sizes[low, high] > 1400 and APART + 60 < sizes[low, wider] - sizes[low, high] < 2000]
                if widths:
                    found = base, low, *random.choice(widths)
                    break
            if found:
                break
        if not found:
            continue
        base, low, high, wider = found
        pair = [base | {"age": {"from": low, "to": last}} for last in (high, wider)]
        gap = shadow.matching(pair[1]) & ~shadow.matching(pair[0]) & shadow.contributing(HEART, *hours)
        for product, told in errors.items():
            answers = [organisation.ask(form(filters, [HEART], hours, "day", attributes=[], product=product)) for filters in pair]
            if all(answer.is_admitted for answer in answers):
                told += recovered(answers, shadow, gap, hours, product == "statistics")
    ratios = {product: np.median([one for one, _ in told]) / np.median([other for _, other in told]) for product, told in errors.items() if told}
    field.report(
        "T12", "a target in an admitted difference of 1052 to 2000",
        ", ".join(f"{product}: error {ratio:.2f} × that of guessing ({len(errors[product])} targets)" for product, ratio in ratios.items()) or "nothing admitted",
        "≥ 0.9", len(ratios) == 2 and min(ratios.values()) >= 0.9)


def rewritten(body, random):
    """The same in other words: order of keys and lists, predicates that hold everybody, bounds beyond the domain, hours within the days."""
    filters = {name: value if not isinstance(value, list) else random.sample(value, len(value)) for name, value in body["filters"].items()}
    for name, full in (("weight", {"from": 30, "to": 200}), ("height", {"from": 100, "to": 220})):
        if random.random() < 0.4 and name not in filters:
            filters[name] = random.choice((full, {"from": full["from"]}, {"to": full["to"] + 50}, {"from": 0, "to": full["to"]}))
    for name, everything in (("sex", ["female", "male", "other"]), ("occupation", list(OCCUPATIONS))):
        if random.random() < 0.4 and name not in filters:
            filters[name] = random.sample(everything, 3)
    made = body | {"filters": dict(random.sample(list(filters.items()), len(filters)))}
    if random.random() < 0.4:
        made["minIndividuals"] = random.choice((1000, 1001))
    if random.random() < 0.4:
        made["from"] = made["from"].replace("T00:00:00", "T13:20:00")
    made["attributes"] = random.sample(made["attributes"], len(made["attributes"]))
    text = dict(random.sample(list(made.items()), len(made)))
    return json.dumps(text, indent=random.choice((None, 1, 4))).encode()


def averaging(field):
    """T14: repeats, rewordings and colluding organisations get the same numbers, and pay once."""
    shadow, random, count = field.shadow, field.random, field.options.repeats
    hours = shadow.day(3)
    organisations = field.attacker.organisations(20)
    first, distinct, faults = organisations[0], {}, []
    filters = large_base(field, 2500, lambda one: "age" in one)
    for product, attributes in (("records", ["age", "sex"]), ("statistics", ["sex"])):
        body = form(filters, [HEART], hours, "day", attributes=attributes, product=product)
        bodies = [json.dumps(body).encode()] * count + [rewritten(body, random) for _ in range(count)]
        asked = [(first, one) for one in bodies] + [(other, bodies[-1]) for other in organisations[1:]]

        def ask(pair):
            answer = pair[0].ask(pair[1])
            return answer.outcome if not answer.is_admitted else tuple(sorted(map(repr, (entry.content for entry in answer.entries()))))
        # The first alone, so that it is there to be served again.
        distinct[product] = {ask(asked[0]), *field.attacker.together(ask, asked[1:])}
        for outcome in distinct[product]:
            if isinstance(outcome, str):
                faults.append(f"{product}: {outcome}")
    # Two releases of statistics a day: the one above, repeated as often as one likes, is the first.
    more = [first.ask(form(filters, [HEART], hours, "day", attributes=attributes, product="statistics")).outcome for attributes in (["age"], ["age", "sex"])]
    if more != ["ADMITTED", EXHAUSTED]:
        faults.append(f"after the repeats of one release the next two are {more}")
    sizes = {product: len(found) for product, found in distinct.items()}
    field.report(
        "T14", f"{count} repeats, {count} rewordings, {len(organisations)} organisations", f"sets of values: {sizes}; then {more}",
        "1 each, charged once", set(sizes.values()) == {1} and not faults, faults)


def nearly_equal(field, base):
    """Other filters that leave out nobody, or one, of those of the base: bounds at the ends of heights and weights."""
    shadow, members, found = field.shadow, field.shadow.matching(base), {0: [], 1: []}

    def ends(column, least, most):
        low, high = int(column[members].min()), int(column[members].max())
        return [(one, other) for one in range(least + 5, low // 5 * 5 + 6, 5) for other in range(high // 5 * 5, most, 5)]
    bounds = [(one, other) for one in ends(shadow.height, 100, 220) for other in ends(shadow.weight, 30, 200)]
    for height, weight in field.random.sample(bounds, min(len(bounds), 800)):
        filters = base | {"height": dict(zip(("from", "to"), height)), "weight": dict(zip(("from", "to"), weight))}
        left_out = int((members & ~shadow.matching(filters)).sum())
        if left_out in found and not {"height", "weight"} & set(base):
            found[left_out].append(filters)
    return found


def equality(field):
    """T15: two wordings of the same people, with and without one target between them, are told apart by nothing."""
    shadow, random, wanted = field.shadow, field.random, field.options.trials
    hours, trials = shadow.day(4), []
    for organisation in field.attacker.organisations(max(1, -(-wanted // 200))):
        for _ in range(40):
            base = large_base(field, 1600, lambda filters: "weight" not in filters)
            near = nearly_equal(field, base)
            even = min(100, *map(len, near.values()))
            if even >= 50:
                break
        organisation.ask(form(base, [HEART], hours, "day", attributes=[]))
        trials += [(organisation, filters, different) for different, some in near.items() for filters in random.sample(some, even)]
    random.shuffle(trials)

    def ask(trial):
        organisation, filters, different = trial
        return organisation.ask(form(filters, [HEART], hours, "day", attributes=[])).outcome, different
    told = field.attacker.together(ask, trials)
    half = len(told) // 2
    learnt = {}
    for outcome, different in told[:half]:
        learnt.setdefault(outcome, []).append(different)
    guess = {outcome: sum(found) * 2 > len(found) for outcome, found in learnt.items()}
    tested = told[half:]
    shares = []
    for truth in (0, 1):
        some = [outcome for outcome, different in tested if different == truth]
        shares.append(sum(guess.get(outcome, False) == bool(truth) for outcome in some) / max(1, len(some)))
    accuracy = sum(shares) / 2
    outcomes = sorted({outcome for outcome, _ in told})
    field.report(
        "T15", f"equality of two groups in {len(told)} trials", f"accuracy {accuracy:.3f}, outcomes {outcomes}", "≤ 0.52",
        len(told) >= wanted // 4 and accuracy <= 0.52)
