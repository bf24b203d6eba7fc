// What no SQL statement of the suite may say: what a trigger once refused while the service ran.

import Testing

@Suite("SQL statements")
struct StatementTests {
    private static let change =
        "(?:UPDATE(?:\\s+OR\\s+\\w+)?|DELETE\\s+FROM|(?:REPLACE|INSERT\\s+OR\\s+\\w+)\\s+INTO"
        + "|DROP\\s+TABLE(?:\\s+IF\\s+EXISTS)?|ALTER\\s+TABLE)"

    /// Statements that change or delete rows of the table, however they are broken into lines.
    private static func changes(of table: String, in text: String) -> Int {
        text.matches(of: "(?i)\\b\(change)\\s+[\"'`\\[]*(?:main\\.)?\(table)\\b").count
    }

    private static func deletions(from table: String, in text: String) -> Int {
        text.matches(of: "(?i)\\bDELETE\\s+FROM\\s+[\"'`\\[]*(?:main\\.)?\(table)\\b").count
    }

    private static func text(of file: SwiftSource) -> String {
        file.lines.joined(separator: "\n")
    }

    @Test("SOS-29: the audit log is only added to: no statement changes or deletes a row, and one file adds them")
    func audit() {
        var adding: [String] = []
        for file in SourceTree.production {
            let text = Self.text(of: file)
            if Self.changes(of: "audit", in: text) > 0 { Issue.record("\(file.path) changes or deletes what is in the audit log") }
            let insertions = text.matches(of: "(?i)\\bINTO\\s+[\"'`\\[]*(?:main\\.)?audit\\b[^\"]*").map { $0[0] }
            adding += insertions.map { _ in file.path }
            let isReplacing = insertions.contains { $0.uppercased().contains("ON CONFLICT") }
            if isReplacing { Issue.record("\(file.path) replaces what is in the audit log") }
        }
        #expect(adding == ["Services/SOSDispatcher/Audit/AuditStore.swift"])
    }

    /// Where a table's name is put into a statement it could be this one.
    @Test("SOS-29: the audit log's name is handed to no statement that is put together")
    func auditName() {
        let files = SourceTree.production.filter { $0.isUnder("Services/SOSDispatcher") || $0.isUnder("Shared") }
        for file in files where file.name != "TableNotes.swift" {
            for (index, line) in file.lines.enumerated() where line.contains("\"audit\"") && !line.contains("derived(for: \"audit\")") {
                Issue.record("\(file.path):\(index + 1) names the table of the audit log")
            }
        }
    }

    @Test("ING-11: chunks are deleted in one place, which takes them out of the index of times")
    func chunks() {
        let deleting = SourceTree.production.flatMap { file in
            Array(repeating: file.path, count: Self.deletions(from: "chunks", in: Self.text(of: file)))
        }
        #expect(deleting == ["Services/Ingest/Chunks/ChunkStore.swift"])
    }

    @Test(
        "the check bites",
        arguments: [
            ("UPDATE audit SET entry = ''", 1), ("DELETE FROM audit", 1), ("delete\n    from \"audit\" WHERE 1", 1),
            ("REPLACE INTO audit VALUES (1)", 1), ("INSERT OR REPLACE INTO audit VALUES (1)", 1),
            ("UPDATE OR IGNORE main.audit SET hash = x''", 1), ("DROP TABLE IF EXISTS audit", 1),
            ("ALTER TABLE audit RENAME TO former", 1), ("INSERT INTO audit VALUES (1)", 0), ("SELECT * FROM audit", 0),
            ("UPDATE audit_anchors SET number = 1", 0), ("DELETE FROM audits", 0),
        ])
    func bites(statement: String, count: Int) {
        #expect(Self.changes(of: "audit", in: statement) == count)
        #expect(Self.deletions(from: "chunks", in: "DELETE FROM chunks; DELETE FROM chunk_times; DELETE FROM chunks_alone") == 1)
    }
}
