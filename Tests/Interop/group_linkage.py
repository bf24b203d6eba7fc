"""T7 to T10: whether anybody can be singled out or followed, from bucket to bucket and from release to release."""
import numpy as np

from group_attacker import by_class, by_table, form
from group_shadow import NUMERIC, SCALES

HEART = NUMERIC[0]
GUESSES = 20_000


def half_of_the_country(field):
    """A place, or some, in which about two of five live: residence has nothing to do with hearts, so that the others are a control."""
    shadow, random = field.shadow, field.random
    codes = [code for code, mask in shadow.residence.items() if 0.02 < mask.mean() < 0.3]
    for _ in range(2000):
        chosen = random.sample(codes, min(len(codes), random.randrange(1, 6)))
        if 0.3 < np.logical_or.reduce([shadow.residence[code] for code in chosen]).mean() < 0.5:
            return {"residence": sorted(chosen)}
    return {"residence": sorted(codes)[:1]}


class Followed:
    """One release by the hour, asked for by two organisations, and what the shadow knows of it."""

    def __init__(self, field):
        shadow = field.shadow
        self.filters, (first, last) = half_of_the_country(field), shadow.day(2)
        self.body = form(self.filters, [HEART], (first, last), "hour", product="records")
        self.answers = [organisation.ask(self.body) for organisation in field.attacker.organisations(2)]
        self.entries = [answer.entries() if answer.is_admitted else [] for answer in self.answers]
        self.tables = by_table(self.entries[0])
        self.buckets = sorted(table[1:] for table in self.tables)
        self.members = shadow.matching(self.filters)
        self.values = {bucket: shadow.value(HEART, *bucket) for bucket in self.buckets}
        self.masks = {}
        for entry in self.entries[0]:
            if entry.classes not in self.masks:
                self.masks[entry.classes] = shadow.in_class(entry.classes)[0] & shadow.is_eligible
        others = np.flatnonzero(shadow.is_eligible & ~self.members & shadow.shares[HEART])
        field.generator.shuffle(others)
        self.control = shadow.mask(others[:int(self.members.sum())])

    def table(self, bucket):
        return by_class(self.tables[(HEART, *bucket)])


def singling_out(field, followed):
    """T7: predicates made of a release that fit exactly one person, less those that fit exactly one of a control group."""
    random, step = field.random, SCALES[HEART][3] / 2
    successes, controls, made = 0, 0, 0
    classes_of = {bucket: followed.table(bucket) for bucket in followed.buckets}
    for _ in range(GUESSES):
        first = random.choice(followed.buckets)
        classes = random.choice(list(classes_of[first]))
        fits = followed.masks[classes].copy()
        for bucket in random.sample(followed.buckets, min(len(followed.buckets), random.randrange(1, 6))):
            entries = classes_of[bucket].get(classes)
            if entries:
                fits &= np.abs(followed.values[bucket] - random.choice(entries).values[0]) <= step
        made += 1
        successes += (fits & followed.members).sum() == 1
        controls += (fits & followed.control).sum() == 1
    excess = (successes - controls) / max(1, made)
    field.report(
        "T7", f"predicates that single one person out, of {made}", f"{successes / made:.3f} less control {controls / made:.3f}: {excess:.4f}",
        "≤ 0.01", excess <= 0.01)


def trajectories(field, followed):
    """T8: who knows 4 or 8 hours of a target's heart finds entries of ten people each, and nothing that joins them."""
    random, shadow, smallest = field.random, field.shadow, []
    candidates = np.flatnonzero(followed.members & shadow.contributing(HEART, *followed.buckets[0]))
    repeated = len(followed.entries[0]) - len({entry.id for entry in followed.entries[0]})
    for _ in range(1000):
        target = random.choice(candidates)
        for points in (4, 8):
            for bucket in random.sample(followed.buckets, min(points, len(followed.buckets))):
                value = followed.values[bucket][target]
                found = [entries for classes, entries in followed.table(bucket).items() if followed.masks[classes][target]]
                if value and found:
                    nearest = min(abs(entry.values[0] - value) for entry in found[0])
                    smallest.append(10 * sum(abs(entry.values[0] - value) <= nearest for entry in found[0]))
    cells = [entry.individuals for _, entries in field.releases for entry in entries if entry.type == "position"]
    least = min(smallest + cells, default=0)
    field.report(
        "T8", f"known hours of 1000 targets, and {len(cells)} cells of positions", f"smallest set {least} people, {repeated} entries joined",
        "≥ 10, 0 joined", least >= 10 and repeated == 0 and bool(smallest))


def held(values, members, count):
    """By rank of entry, the people in it, as a release cuts them."""
    rows = members[np.argsort(values[members], kind="stable")]
    return [rows[10 * rank:10 * (rank + 1) if rank < count - 1 else len(rows)] for rank in range(count)]


def following(field, followed):
    """T9: entries of an hour assigned to those of the next by value, by the order in which they came, and by their handles."""
    scores = {"value": [], "order": [], "handle": [], "control": []}
    chances = []
    for before, after in zip(followed.buckets, followed.buckets[1:]):
        first, second = followed.table(before), followed.table(after)
        for classes in set(first) & set(second):
            sides = [(first[classes], before), (second[classes], after)]
            if min(len(entries) for entries, _ in sides) < 8:
                continue
            mask = followed.masks[classes]
            has_both = [followed.values[bucket] > 0 for _, bucket in sides]
            for name, people in (("value", followed.members), ("control", followed.control)):
                cut = [held(followed.values[bucket], np.flatnonzero(mask & people & has), max(1, int((mask & people & has).sum()) // 10))
                       for (_, bucket), has in zip(sides, has_both)]
                scores[name].append(relinked(cut, list(range(len(cut[0]))), list(range(len(cut[1])))))
                if name == "value":
                    own = cut
            chances.append(1 / len(own[1]))
            for name, key in (("order", lambda index, entries: index), ("handle", lambda index, entries: entries[index].id or "")):
                ranks = []
                for (entries, _), people in zip(sides, own):
                    by_value = {index: rank for rank, index in enumerate(sorted(range(len(entries)), key=lambda at: entries[at].values))}
                    order = sorted(range(len(entries)), key=lambda at: key(at, entries))
                    ranks.append([min(by_value[index], len(people) - 1) for index in order])
                scores[name].append(relinked(own, *ranks))
    mean = {name: float(np.mean(found)) if found else 0 for name, found in scores.items()}
    chance = float(np.mean(chances)) if chances else 1
    plain = max(mean["order"], mean["handle"]) / chance
    by_value = mean["value"] / max(mean["control"], 1e-9)
    field.report(
        "T9", f"entries followed to the next hour, {len(chances)} classes",
        f"by order or handle {plain:.2f} × chance; by value {by_value:.2f} × the same guess about people in no release "
        f"({mean['value'] / chance:.1f} × chance: hearts stay what they are)", "≤ 1.5 each", plain <= 1.5 and by_value <= 1.5 and bool(chances))


def relinked(cut, first, second):
    """The share of people whom an assignment follows rightly; entries are matched by their place in the two lists."""
    total = right = 0
    for place, rank in enumerate(first):
        people = cut[0][rank]
        total += len(people)
        other = cut[1][second[min(len(second) - 1, place * len(second) // len(first))]]
        right += len(np.intersect1d(people, other, assume_unique=True))
    return right / max(1, total)


def releases_apart(field, followed):
    """T10: handles and order of the same release at two organisations."""
    handles = [{entry.id for entry in entries} for entries in followed.entries]
    for answer, entries in field.releases:
        if answer.release["product"] == "records":
            handles.append({entry.id for entry in entries})
    shared = sum(map(len, handles)) - len(set().union(*handles))
    pairs, between = [], []
    for classes_of in (by_table(followed.entries[0]), by_table(followed.entries[1])):
        for table in classes_of.values():
            for entries in by_class(table).values():
                if len(entries) > 3:
                    ranks = np.argsort(np.argsort([entry.values[0] for entry in entries], kind="stable"))
                    pairs += [(place / len(entries), rank / len(entries)) for place, rank in enumerate(ranks)]
    for table, entries in followed.tables.items():
        others = by_class(by_table(followed.entries[1]).get(table, []))
        for classes, one in by_class(entries).items():
            places = {}
            for place, entry in enumerate(others.get(classes, [])):
                places.setdefault(entry.values, []).append(place)
            single = [(place, places[entry.values][0]) for place, entry in enumerate(one) if len(places.get(entry.values, [])) == 1]
            between += [(place / len(one), other / len(one)) for place, other in single]
    found = [abs(np.corrcoef(np.array(one).T)[0, 1]) if len(one) > 10 else 1.0 for one in (pairs, between)]
    is_same = sorted(entry.content for entry in followed.entries[0]) == sorted(entry.content for entry in followed.entries[1])
    # By chance alone a correlation of so few pairs would be greater than 0.05; five deviations are allowed then.
    bounds = [max(0.05, 5 / len(one) ** 0.5) if one else 0 for one in (pairs, between)]
    field.report(
        "T10", f"{len(handles)} releases set beside each other", f"{shared} handles shared, order with values r {found[0]:.3f}, "
        f"between organisations r {found[1]:.3f}, the same content: {is_same}", "0, |r| < 0.05 (or 5 deviations)",
        shared == 0 and is_same and all(one < bound for one, bound in zip(found, bounds)))


def linkage(field):
    followed = Followed(field)
    if not all(answer.is_admitted for answer in followed.answers):
        for name in ("T7", "T8", "T9", "T10"):
            field.report(name, "linkage", f"the group was refused: {followed.answers[0].outcome}", "a release", False)
        return
    singling_out(field, followed)
    trajectories(field, followed)
    following(field, followed)
    releases_apart(field, followed)
