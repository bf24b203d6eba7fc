// Groups counted and classed in memory by the anonymiser's own domain, each timed.

import Contracts

/// What was counted and how long it took, as reference/columns.py prints it too.
struct CohortAnswers: Encodable {
    var engine = "anonymiser"
    /// By question.
    var counts: [Int] = []
    /// By question: cells with people, the people, and two sums that differ where any cell does.
    var groups: [[Int]] = []
    var countMilliseconds: [Double] = []
    var groupMilliseconds: [Double] = []
}

struct CohortCounts {
    /// Asked twice, so that caches are warm.
    private static let warmUp = 20
    /// More than any code.
    private static let codes = 256

    let people: MadeUpPeople
    let columns: PopulationColumns
    /// By day.
    let presences: [Presence]
    /// Of one hour's heart rate: codes plus 1.
    let values: [UInt16]
    let questions: [MadeUpQuestion]
    private let path = RecodingPath([.age, .sex])

    init(_ people: MadeUpPeople) {
        self.people = people
        columns = PopulationColumns((0..<people.count).lazy.map { people.row($0) })
        let size = columns.bitmapSize
        var words = [[UInt64]](repeating: [UInt64](repeating: 0, count: Bitmap.wordCount(size)), count: MadeUpPeople.days)
        for row in 0..<people.count {
            var days = people.daysWithData(row)
            while days != 0 {
                words[days.trailingZeroBitCount][row >> 6] |= 1 << UInt64(row & 63)
                days &= days - 1
            }
        }
        presences = words.map { Presence(hasData: Bitmap(size: size, words: $0)) }
        values = (0..<size).map { $0 < people.count ? people.code($0, 0, .heartRate) : 0 }
        questions = (0..<MadeUpQuestion.count).map { MadeUpQuestion($0, people.catalogue) }
    }

    func answers() -> CohortAnswers {
        var answers = CohortAnswers()
        for question in questions.prefix(Self.warmUp) { _ = contributors(question).count }
        for question in questions {
            let begun = ContinuousClock.now
            let count = contributors(question).count
            answers.countMilliseconds.append((ContinuousClock.now - begun) / .milliseconds(1))
            answers.counts.append(count)
        }
        for question in questions.prefix(Self.warmUp) { _ = classed(question) }
        for question in questions {
            let begun = ContinuousClock.now
            let (classes, histogram) = classed(question)
            answers.groupMilliseconds.append((ContinuousClock.now - begun) / .milliseconds(1))
            answers.groups.append(summed(classes, histogram))
        }
        return answers
    }

    private func contributors(_ question: MadeUpQuestion) -> Contributors {
        Contributors(cohort: columns.cohort(question.filters, for: .heartRate), presences: Array(presences.suffix(question.days)))
    }

    /// What records are made of: people by class and code.
    private func classed(_ question: MadeUpQuestion) -> (RecodedClasses, ClassHistogram) {
        let members = contributors(question).members
        let column = ClassColumn(path, cohort: members, columns: path.hierarchies.map { columns.codes(of: $0.attribute) })
        let classes = column.classes(at: 0)
        let histogram = ClassHistogram(
            members, ids: column.ids, classes, values, codes: GroupDataType.heartRate.scales(.hour)[0].codes)
        return (classes, histogram)
    }

    /// Bands of age, sexes and codes plus 1 as one number each, as the reference counts them.
    private func summed(_ classes: RecodedClasses, _ histogram: ClassHistogram) -> [Int] {
        var (cells, people, byKey, squares) = (0, 0, 0, 0)
        for (number, labels) in classes.labels.enumerated() {
            let band = Hierarchy.age.labels[0].firstIndex(of: labels[0]) ?? 0
            let sex = Hierarchy.sex.labels[0].firstIndex(of: labels[1]) ?? 0
            histogram.withRow(number) { row in
                for (code, count) in row.enumerated() where count > 0 {
                    cells += 1
                    people += Int(count)
                    byKey += Int(count) * ((band * 4 + sex) * Self.codes + code + 1)
                    squares += Int(count) * Int(count)
                }
            }
        }
        return [cells, people, byKey, squares]
    }
}
