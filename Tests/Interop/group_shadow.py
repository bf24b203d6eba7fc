"""Who was made up, with every value: what attacks are scored by, and what finds groups of an exact size. No attacker has it."""
import json
from datetime import date, datetime, timedelta, timezone

import numpy as np

TYPES = {
    "heart-rate": ["heart-rate"], "oxygen-saturation": ["oxygen-saturation"], "blood-pressure": ["blood-pressure-max", "blood-pressure-min"],
    "body-temperature": ["body-temperature"], "glucose": ["glucose"], "position": [],
}
# By metric: least, most, width of a code, rounding of what is released; thousandths of the unit.
SCALES = {
    "heart-rate": (30_000, 220_000, 1000, 1000), "oxygen-saturation": (70_000, 100_000, 1000, 200),
    "blood-pressure-max": (70_000, 220_000, 1000, 1000), "blood-pressure-min": (40_000, 130_000, 1000, 1000),
    "body-temperature": (34_000, 42_000, 100, 50), "glucose": (40_000, 400_000, 5000, 2000),
}
NUMERIC = [name for name, metrics in TYPES.items() if metrics]
GRANULARITIES = {"hour": 1, "six-hours": 6, "day": 24, "week": 168, "thirty-days": 720}
YOUNGEST = 18
SEXES, OCCUPATIONS = ("female", "male", "other"), ("student", "employed", "unemployed")


def rounded(numerator, denominator):
    """To the nearest, halves up."""
    return (2 * numerator + denominator) // (2 * denominator)


class Shadow:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            head = json.loads(next(file))
            self.count, self.first_hour, self.hours, self.seed = head["people"], head["firstHour"], head["hours"], head["seed"]
            people, metrics = self.count, list(SCALES)
            self.means = {metric: np.zeros((people, self.hours), np.int32) for metric in metrics}
            self.cell_of = np.zeros((people, self.hours), np.uint8)
            self.shares = {name: np.zeros(people, bool) for name in TYPES}
            self.weight, self.height = np.zeros(people, np.int16), np.zeros(people, np.int16)
            self.sex, self.occupation = np.zeros(people, np.int8), np.zeros(people, np.int8)
            self.is_large, self.is_outlier = np.zeros(people, bool), np.zeros(people, bool)
            self.people, self.born, self.cells, residence, birth = [], [], [], {}, {}
            for row, line in enumerate(file):
                one = json.loads(line)
                self.people.append(one["person"])
                self.born.append(date.fromisoformat(one["birthDate"]))
                self.cells.append(one.get("cells") or [])
                self.weight[row], self.height[row] = one["weight"], one["height"]
                self.sex[row] = SEXES.index(one["sex"]) if one.get("sex") else -1
                self.occupation[row] = OCCUPATIONS.index(one["occupation"])
                self.is_large[row], self.is_outlier[row] = one["isLarge"], one["isOutlier"]
                for name in one["shares"]:
                    self.shares[name][row] = True
                for metric, values in one["means"].items():
                    self.means[metric][row] = values
                if one.get("presence"):
                    self.cell_of[row] = one["presence"]
                for codes, index in ((one["residence"], residence), (one["birth"], birth)):
                    for code in codes:
                        index.setdefault(code, []).append(row)
        assert len(self.people) == self.count, (len(self.people), self.count)
        self.residence = {code: self.mask(rows) for code, rows in residence.items()}
        self.birth = {code: self.mask(rows) for code, rows in birth.items()}
        self.has = {name: np.logical_and.reduce([self.means[metric] > 0 for metric in metrics_of]) if metrics_of else self.cell_of > 0
                    for name, metrics_of in TYPES.items()}
        self.today = datetime.now(timezone.utc).date()
        self.age = self.ages(self.today)
        near = [self.ages(self.today + timedelta(days=days)) for days in (-1, 1)]
        # Who has a birthday about now: no exact group is made of them.
        self.is_ageing = np.logical_or.reduce([ages != self.age for ages in near])
        self.is_eligible = self.age >= YOUNGEST

    def mask(self, rows):
        made = np.zeros(self.count, bool)
        made[rows] = True
        return made

    def ages(self, day):
        return np.array([day.year - born.year - ((day.month, day.day) < (born.month, born.day)) for born in self.born], np.int16)

    # Days and hours

    def day(self, number):
        """Hours since 1970 of a whole day of the population, from 0; negative ones count from the end."""
        first = self.first_hour + number % (self.hours // 24) * 24
        return first, first + 24

    @property
    def window(self):
        return self.first_hour, self.first_hour + self.hours

    def columns(self, first, last):
        return slice(first - self.first_hour, last - self.first_hour)

    # People

    def matching(self, filters):
        """E ∧ F, of whatever type."""
        found = self.is_eligible.copy()
        for name, column, least, most in (("age", self.age, 0, 120), ("weight", self.weight, 30, 200), ("height", self.height, 100, 220)):
            if interval := filters.get(name):
                clamped = np.clip(column, least, most)
                found &= (clamped >= interval.get("from", least)) & (clamped <= interval.get("to", most))
        for name, column, codes in (("sex", self.sex, SEXES), ("occupation", self.occupation, OCCUPATIONS)):
            if chosen := filters.get(name):
                # Who did not state it is in no group that is chosen by it, unless all are named, which is no predicate.
                if len(chosen) < len(codes):
                    found &= np.isin(column, [codes.index(one) for one in chosen])
        for name, index in (("residence", self.residence), ("birth", self.birth)):
            if chosen := filters.get(name):
                nobody = np.zeros(self.count, bool)
                found &= np.logical_or.reduce([index.get(code, nobody) for code in chosen])
        return found

    def contributing(self, name, first, last):
        """⋃ H within hours since 1970, of those who share the type."""
        return self.has[name][:, self.columns(first, last)].any(1) & self.shares[name]

    def group(self, filters, names, hours):
        """Who is in the group for all of the types."""
        members = self.matching(filters)
        for name in names:
            members = members & self.contributing(name, *hours)
        return members

    def value(self, metric, first, last):
        """By person, the mean of a bucket up to a day in thousandths, clamped and coded; 0 where there is none."""
        part = self.means[metric][:, self.columns(first, last)].astype(np.int64)
        counts, (least, most, step, _) = (part > 0).sum(1), SCALES[metric]
        mean = rounded(part.sum(1), np.maximum(counts, 1))
        return np.where(counts > 0, least + rounded(np.clip(mean, least, most) - least, step) * step, 0)

    # Classes by their labels

    def labelled(self, attribute, label, is_finest=None):
        """Whom a class's label means. `is_finest`: of residence, whether large cities stand for themselves beside their province."""
        if label == "*":
            return np.ones(self.count, bool)
        if attribute in ("age", "weight", "height"):
            column = np.clip({"age": self.age, "weight": self.weight, "height": self.height}[attribute],
                             *{"age": (0, 120), "weight": (30, 200), "height": (100, 220)}[attribute])
            if label.startswith("<"):
                return column < int(label[1:])
            if label.endswith("+"):
                return column >= int(label[:-1])
            low, high = map(int, label.split("-"))
            return (column >= low) & (column <= high)
        if attribute == "sex":
            return self.sex == (SEXES.index(label) if label in SEXES else -1)
        if attribute == "occupation":
            return self.occupation == (OCCUPATIONS.index(label) if label in OCCUPATIONS else -1)
        index = self.residence if attribute == "residence" else self.birth
        if label == "abroad":
            return ~index.get("IT", np.zeros(self.count, bool))
        found = index.get(label, np.zeros(self.count, bool))
        return found & ~self.is_large if attribute == "residence" and is_finest and not self.is_city(label) else found

    def is_city(self, label):
        """Whether nobody of the place lives in a place below it."""
        rows = np.flatnonzero(self.residence.get(label, np.zeros(self.count, bool)))
        return len(rows) > 0 and bool(self.is_large[rows].all())

    def in_class(self, classes):
        """The most and the fewest people that the labels can mean: what a province is depends on whether its cities stand beside it."""
        found = []
        for is_finest in (False, True):
            mask = np.ones(self.count, bool)
            for attribute, label in classes:
                mask &= self.labelled(attribute, label, is_finest)
            found.append(mask)
        return found

    # Groups of an exact size

    def bases(self, random):
        """Predicates to which an interval of ages is added, in a random order: public knowledge chooses them, nobody's data."""
        places = [code for code, mask in self.residence.items() if 0.02 * self.count < mask.sum() < 0.9 * self.count]
        made = [{}]
        made += [{"sex": [sex]} for sex in SEXES[:2]] + [{"occupation": [occupation]} for occupation in OCCUPATIONS]
        made += [{"weight": {"from": least, "to": least + width}} for least in range(40, 95, 5) for width in (10, 20, 30, 50)]
        made += [{"height": {"from": least, "to": least + width}} for least in range(150, 180, 5) for width in (10, 20)]
        made += [{"residence": [place]} for place in places]
        made += [{"residence": sorted(random.sample(places, min(2, len(places))))} for _ in range(40) if places]
        made = [one | further for one in made for further in ({}, {"sex": ["female"]}, {"sex": ["male"]}) if not set(one) & set(further)]
        random.shuffle(made)
        return made

    def intervals(self, base, counted):
        """By first and last age, how many of `counted` are in the base and the interval."""
        members = self.matching(base) & counted
        running = np.concatenate([[0], np.cumsum(np.bincount(np.clip(self.age[members], 0, 120), minlength=121))])
        return running[None, 1:] - running[:-1, None]

    def exactly(self, size, counted, random, allowed=lambda filters: True):
        """Filters whose group is of exactly this size, whatever day it is judged on; nil where none is found."""
        for base in self.bases(random):
            sizes = self.intervals(base, counted)
            found = [(low, high) for low, high in zip(*np.nonzero(sizes == size)) if YOUNGEST <= low <= high]
            random.shuffle(found)
            for low, high in found[:40]:
                filters = base | {"age": {"from": int(low), "to": int(high)}}
                members = self.matching(filters) & counted
                ageing = self.is_ageing & self.matching(base) & counted
                at_edge = ageing & (np.isin(self.age, [low - 1, low, high, high + 1]))
                if members.sum() == size and not at_edge.any() and allowed(filters):
                    return filters
        return None

    def random_filters(self, random):
        """As an honest analyst may choose them."""
        filters = {}
        low = random.randrange(YOUNGEST, 80)
        if random.random() < 0.8:
            filters["age"] = {"from": low, "to": min(100, low + random.choice((5, 10, 15, 20, 30, 40, 60)))}
        if random.random() < 0.4:
            filters["sex"] = [random.choice(SEXES[:2])]
        if random.random() < 0.25:
            filters["occupation"] = random.sample(OCCUPATIONS, random.choice((1, 2)))
        if random.random() < 0.2:
            least = random.randrange(40, 100, 5)
            filters["weight"] = {"from": least, "to": least + random.choice((15, 20, 30, 50))}
        if random.random() < 0.3:
            places = [code for code, mask in self.residence.items() if mask.sum() > 0.03 * self.count]
            filters["residence"] = random.sample(places, min(len(places), random.choice((1, 1, 2, 3))))
        return filters or {"age": {"from": low, "to": 100}}
