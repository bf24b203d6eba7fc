// How fast groups are counted and classed in memory, beside column stores.

import Foundation

/// The same two hundred groups, in all processes the same answers.
struct CountsBenchmark {
    let stage: Stage
    let people: Int

    /// Of one process: medians of all questions.
    private struct Medians {
        var count: [Double] = []
        var group: [Double] = []

        mutating func add(_ answers: ColumnStore.Answers) {
            count.append(answers.countMilliseconds.sorted().percentile(50))
            group.append(answers.groupMilliseconds.sorted().percentile(50))
        }
    }

    func rows() async throws -> [Row] {
        let python = try await ColumnStore.installed()
        let folder = try stage.emptyFolder("cohorts")
        var (own, tails) = (Medians(), [Double]())
        var others = ColumnStore.all.map { _ in Medians() }
        var names = ColumnStore.all.map(\.name)
        // Filling each of the processes with many millions takes minutes.
        for round in 0..<(people > AnonymiserBenchmark.million ? 1 : stage.rounds) {
            let export = round == 0 ? ["--export", folder.path] : []
            let ours = try ColumnStore.Answers(try await AnonymiserBenchmark.ask(["count", "--people", "\(people)"] + export))
            own.add(ours)
            tails.append(ours.countMilliseconds.sorted().percentile(99))
            for (place, store) in ColumnStore.all.enumerated() {
                let theirs = try await store.answers(in: folder, python: python)
                try ours.requireSame(as: theirs)
                others[place].add(theirs)
                names[place] = "\(theirs.engine), \(store.threads == 1 ? "one thread" : "all threads")"
            }
        }
        let isAsked = people == AnonymiserBenchmark.million
        var rows = [
            Row("cohort count, \(people) people, median", "ms", own.count, isAsked ? .below(1) : .none),
            Row("cohort count, \(people) people, p99", "ms", tails, isAsked ? .below(5) : .none),
        ]
        for (place, store) in ColumnStore.all.enumerated() {
            let name = "\(people) people, beside \(store.name)"
            rows.append(
                Row(
                    "cohort count, \(name)", "ms", own.count, reference: others[place].count, beside: names[place], .ratioBelow(1),
                    isJudged: true))
            rows.append(
                Row(
                    "cohort by class and value, \(name)", "ms", own.group, reference: others[place].group, beside: names[place],
                    .ratioBelow(1), isJudged: true))
        }
        return rows
    }
}
