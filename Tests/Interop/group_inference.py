"""T17 to T22: membership, reconstruction, the law of the noise, and what is charged for it."""
import math

import numpy as np
import opendp.prelude as opendp
from scipy.stats import chi2, ks_2samp, rankdata

from group_attacker import EXHAUSTED, by_table, form
from group_differencing import large_base
from group_shadow import NUMERIC

HEART, OXYGEN = NUMERIC[0], NUMERIC[1]
ALPHA = 1e-6
DELTA = 1e-8


def area(inside, outside):
    """Under the curve: how often somebody inside scores higher than somebody outside."""
    ranks = rankdata(np.concatenate([inside, outside]))
    return (ranks[:len(inside)].sum() - len(inside) * (len(inside) + 1) / 2) / (len(inside) * len(outside))


def membership(shadow, filters, entries):
    """The curve of the score Σ (x − μ)(m − μ) over hours, of members and of others; the attacker knows the target's own hours, and the
    population's means."""
    members = shadow.matching(filters) & shadow.shares[HEART]
    others = shadow.is_eligible & ~members & shadow.shares[HEART]
    score = np.zeros(shadow.count)
    for (_, first, last), table in by_table([entry for entry in entries if entry.values]).items():
        values = shadow.value(HEART, first, last).astype(float)
        known = values > 0
        usual = values[others & known].mean()
        if table[0].count_error is None:
            shown = np.mean([entry.values[0] for entry in table])
        else:
            shown = sum(entry.individuals * entry.values[0] for entry in table) / max(1, sum(entry.individuals for entry in table))
        score += np.where(known, (values - usual) * (shown - usual), 0)
    return area(score[members], score[others])


def apart(field, least):
    """Places of which none lies in another, with so many people each."""
    shadow, taken, found = field.shadow, np.zeros(field.shadow.count, bool), []
    counted = shadow.is_eligible & shadow.shares[HEART]
    for code, mask in sorted(shadow.residence.items(), key=lambda pair: pair[1].sum()):
        if (mask & counted).sum() >= least and not (mask & taken).any():
            taken |= mask
            found.append({"residence": [code]})
    return found


def statistics_membership(field):
    """T17: on single releases of statistics by the hour."""
    shadow, areas, trials = field.shadow, [], 0
    places = apart(field, 1200)[:6]
    for number in (-2, -1):
        hours = shadow.day(number)
        for filters, organisation in zip(places, field.attacker.organisations(len(places))):
            answer = organisation.ask(form(filters, [HEART], hours, "hour", attributes=[], product="statistics"))
            if answer.is_admitted:
                areas.append(membership(shadow, filters, answer.entries()))
                trials += int(shadow.is_eligible.sum())
    worst = max(areas, default=1)
    field.report(
        "T17", f"membership in {len(areas)} releases of statistics, {trials} trials", f"AUC {worst:.3f} at worst", "≤ 0.599 each", worst <= 0.599)


def neighbours(field, counted):
    """Two small groups of nearly the same people, one of them with a heart that races all day; nil where chance finds none."""
    shadow, random = field.shadow, field.random
    outliers = counted & shadow.is_outlier & shadow.is_eligible
    if not outliers.any():
        return None
    target = random.choice(np.flatnonzero(outliers).tolist())
    age = int(shadow.age[target])

    def fits(filters, number):
        members = shadow.matching(filters) & counted
        return 1010 <= members.sum() <= 1500 and (members & outliers).sum() == number
    for base in shadow.bases(random)[:60]:
        if not shadow.matching(base)[target]:
            continue
        # The target is at the upper end, or at the lower, of those years.
        for is_upper in (True, False):
            spans = [width for width in range(1, 60)]
            ends = [({"from": age - width, "to": age}, {"from": age - width - more, "to": age - 1}) if is_upper else
                    ({"from": age, "to": age + width}, {"from": age + 1, "to": age + width + more}) for width in spans for more in (0, 1, 2)]
            for one, other in ends:
                if one["from"] >= 18 and other["from"] >= 18 and fits(base | {"age": one}, 1) and fits(base | {"age": other}, 0):
                    return base | {"age": one}, base | {"age": other}
    return None


def records_membership(field):
    """T18: of typical people in small groups over many hours, and of planted hearts that race all day."""
    shadow, typical = field.shadow, []
    days = min(5, shadow.hours // 24)
    window = shadow.day(0)[0], shadow.day(days - 1)[1]
    counted = shadow.contributing(HEART, *window)
    organisations = field.attacker.organisations(10)
    outcomes = {True: [], False: []}
    asked = 0
    wanted = field.options.neighbours
    while asked < 10 * wanted and len(outcomes[True]) < wanted:
        asked += 1
        pair = neighbours(field, counted)
        answers = [organisations[(asked + side * 5) % 10].ask(form(filters, [HEART], window, "hour", attributes=[]))
                   for side, filters in enumerate(pair or ())]
        if not pair or not all(answer.is_admitted for answer in answers):
            continue
        for has, filters, answer in zip((True, False), pair, answers):
            entries = answer.entries()
            if len(typical) < 12:
                typical.append(membership(shadow, filters, entries))
            by_day = {}
            for (_, first, _), table in by_table(entries).items():
                by_day.setdefault(first // 24, []).append(max(entry.values[0] for entry in table))
            outcomes[has] += [float(np.mean(tops)) for tops in by_day.values()]
    of_outliers = area(np.array(outcomes[True]), np.array(outcomes[False])) if all(outcomes.values()) else 1
    mean = float(np.mean(typical)) if typical else 1
    field.report(
        "T18", f"membership in records of {24 * days} hours: {len(typical)} small groups; {len(outcomes[True])} days with an outlier",
        f"typical AUC {mean:.3f}, outlier {of_outliers:.3f}", "≤ 0.60, ≤ 0.70", mean <= 0.60 and of_outliers <= 0.70)


def reconstruction(field):
    """T19: least squares on one bit of 2000 people, from all that one organisation can have admitted."""
    shadow, hours = field.shadow, field.shadow.day(1)
    organisation = field.attacker.organisation()
    values = shadow.value(HEART, *hours)
    known = np.flatnonzero((values > 0) & shadow.is_eligible)
    middle = int(np.median(values[known]))
    targets = field.generator.choice(known, min(2000, len(known)), replace=False)
    rows, counts = [], []
    for _ in range(240):
        if len(rows) == 64:
            break
        filters = shadow.random_filters(field.random)
        answer = organisation.ask(form(filters, [HEART], hours, "day", attributes=[]))
        if not answer.is_admitted:
            continue
        entries = answer.entries()
        members = shadow.matching(filters)[targets]
        above, people = 10 * sum(entry.values[0] > middle for entry in entries), 10 * len(entries)
        rows.append(members.astype(float))
        # Of those who are no targets half have the bit, as everybody knows.
        counts.append(above - (people - members.sum()) * 0.5)
    if not rows:
        field.report("T19", "linear reconstruction", "nothing was admitted", "≤ majority + 0.03", False)
        return
    matrix = np.array(rows)
    rest = np.array(counts) - matrix.sum(1) * 0.5
    solved = 0.5 + matrix.T @ np.linalg.solve(matrix @ matrix.T + 50 * np.eye(len(rows)), rest)
    truth = values[targets] > middle
    accuracy, majority = (np.greater(solved, 0.5) == truth).mean(), max(truth.mean(), 1 - truth.mean())
    field.report(
        "T19", f"linear reconstruction of {len(targets)} people from {len(rows)} groups", f"{accuracy:.3f}, majority {majority:.3f}",
        "≤ majority + 0.03", accuracy <= majority + 0.03)


def draws_of(field):
    """What statistics show of counts less what they are, by the σ that they tell, in the order of time."""
    shadow, found, seen = field.shadow, {}, set()
    for types in ([HEART], [HEART, OXYGEN]):
        for sex in ("female", "male"):
            filters = {"sex": [sex]}
            answer = field.attacker.organisation().ask(form(filters, types, shadow.window, "hour", attributes=[], product="statistics"))
            if not answer.is_admitted:
                continue
            for (name, first, last), entries in sorted(by_table(answer.entries()).items()):
                # A table that was released before is served again, with the noise that it had.
                if (sex, name, first) in seen:
                    continue
                seen.add((sex, name, first))
                people = int((shadow.matching(filters) & shadow.contributing(name, first, last)).sum())
                sigma = entries[0].count_error
                # Far above the threshold, so that whether a cell is shown has nothing to do with its noise.
                if len(entries) == 1 and sigma and people > 50 + 13 * sigma:
                    found.setdefault((len(types), sigma), []).append(entries[0].individuals - people)
    return found


def noise(field):
    """T20: chi-square against the exact law, two samples against OpenDP's sampler, correlation of one draw with the next. What is told is
    σ rounded up; its square is a multiple of ten."""
    opendp.enable_features("contrib")
    figures, is_right, total = [], True, 0
    for (types, told), draws in draws_of(field).items():
        if len(draws) < 100:
            continue
        total += len(draws)
        # Of hours: a count and a sum for each type, 24 times a day, at 1/(2ρ) = 10.
        variance = 2 * types * 24 * 10
        sigma = math.sqrt(variance)
        draws = np.array(draws)
        span = np.arange(-int(8 * sigma), int(8 * sigma) + 1)
        law = np.exp(-span.astype(float)**2 / (2 * variance))
        law /= law.sum()
        bins = max(4, min(40, len(draws) // 20))
        edges = [span[min(len(span) - 1, np.searchsorted(np.cumsum(law), number / bins))] for number in range(1, bins)]
        places = np.searchsorted(edges, span)
        expected = np.bincount(places, law, minlength=bins) * len(draws)
        seen = np.bincount(np.searchsorted(edges, draws), minlength=bins)
        law_p = chi2.sf(((seen - expected)**2 / expected).sum(), bins - 1)
        other = opendp.m.make_gaussian(opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l2_distance(T=int), scale=sigma)
        two_p = ks_2samp(draws, other([0] * 20_000)).pvalue
        lag = abs(np.corrcoef(draws[:-1], draws[1:])[0, 1])
        bound = max(0.02, 4.9 / math.sqrt(len(draws)))
        is_right &= law_p > ALPHA and two_p > ALPHA and lag < bound and sigma - 0.01 <= told <= math.ceil(sigma)
        figures.append(f"σ {sigma:.1f}: χ² p {law_p:.2g}, OpenDP p {two_p:.2g}, lag r {lag:.3f} (< {bound:.3f})")
    field.report(
        "T20", f"the law of {total} draws that HTTP shows", "; ".join(figures) or "none", "p > 1e-6, r; 60,000 draws by ExactChanceTests",
        is_right and total >= 500, [])


def accounting(field):
    """T21: the documented ε beside OpenDP's, and a day's budget under parallel requests and a killed service."""
    opendp.enable_features("contrib")
    ratios = []
    for rho in (0.05, 0.10, 0.40):
        ours = rho + 2 * math.sqrt(rho * math.log(1 / DELTA))
        exact = opendp.m.make_gaussian(opendp.atom_domain(T=int), opendp.absolute_distance(T=int), scale=math.sqrt(1 / (2 * rho)))
        ratios.append(ours / opendp.c.make_zCDP_to_approxDP(exact).map(1).epsilon(delta=DELTA))
    shadow = field.shadow
    organisation, hours = field.attacker.organisation(), shadow.day(4)
    filters = large_base(field, 2500)
    bodies = [form(filters, [name], hours, granularity, attributes=attributes, product="statistics")
              for name in (HEART,) for granularity in ("hour", "six-hours", "day", "window") for attributes in ([], ["sex"], ["age"], ["age", "sex"])]
    outcomes = [answer.outcome for answer in field.attacker.together(organisation.ask, bodies)]
    field.suite.kill_service("anonymiser")
    field.await_catalogue()
    again = [organisation.ask(body).outcome for body in bodies]
    before, after = outcomes.count("ADMITTED"), again.count("ADMITTED")
    strange = sorted(set(outcomes + again) - {"ADMITTED", EXHAUSTED})
    field.report(
        "T21", "ε of ρ 0.05, 0.1 and 0.4 beside OpenDP; a day's budget of an organisation",
        f"{', '.join(f'{ratio:.3f}' for ratio in ratios)} ×; {before} of 16 at once, {after} after kill -9", "1 to 1.2 ×; 1 to 2 admitted, the same again",
        all(1 <= ratio <= 1.2 for ratio in ratios) and 1 <= before <= 2 and after == before and not strange, strange)
