// The references for group counts: DuckDB and chDB, each in a process of Python with the same columns and questions.

import Foundation

struct ColumnStore: Sendable {
    /// As reference/columns.py knows it.
    let engine: String
    /// 0 for as many as it likes.
    let threads: Int
    let name: String

    static let all = [
        ColumnStore(engine: "duckdb", threads: 1, name: "DuckDB, one thread"),
        ColumnStore(engine: "duckdb", threads: 0, name: "DuckDB, all threads"),
        ColumnStore(engine: "chdb", threads: 1, name: "chDB, one thread"),
        ColumnStore(engine: "chdb", threads: 0, name: "chDB, all threads"),
    ]

    /// What was counted, and how long each question took.
    struct Answers: Decodable, Sendable {
        /// With its version.
        var engine: String
        var counts: [Int]
        var groups: [[Int]]
        var countMilliseconds: [Double]
        var groupMilliseconds: [Double]

        init(_ text: String) throws {
            guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
                throw BenchmarkError("nothing was counted: \(text.suffix(500))")
            }
            self = try JSONDecoder().decode(Answers.self, from: Data(line.utf8))
        }

        /// - Throws: where any question was answered otherwise.
        func requireSame(as other: Answers) throws {
            for number in 0..<max(counts.count, other.counts.count) {
                guard counts.indices.contains(number), other.counts.indices.contains(number), counts[number] == other.counts[number],
                    groups[number] == other.groups[number]
                else { throw BenchmarkError("\(engine) and \(other.engine) answer question \(number) differently") }
            }
        }
    }

    func answers(in folder: URL, python: String) async throws -> Answers {
        try Answers(try await Program.output(python, [Stage.reference("columns.py"), engine, "\(threads)", folder.path]))
    }

    /// Installs what the references need, unless it is there.
    /// - Returns: the Python that has it.
    static func installed() async throws -> String {
        let (environment, list) = (".build/bench-venv", Stage.reference("requirements.txt"))
        let mark = URL(fileURLWithPath: "\(environment)/installed.txt")
        let wanted = try String(contentsOfFile: list, encoding: .utf8)
        if (try? String(contentsOf: mark, encoding: .utf8)) != wanted {
            _ = try await Program.output("python3", ["-m", "venv", environment])
            _ = try await Program.output("\(environment)/bin/pip", ["install", "--quiet", "--disable-pip-version-check", "-r", list])
            try wanted.write(to: mark, atomically: true, encoding: .utf8)
        }
        return "\(environment)/bin/python"
    }
}
