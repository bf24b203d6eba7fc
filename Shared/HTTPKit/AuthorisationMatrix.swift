// Which operation admits whom, made from the routes: what reviewers read and what tests walk through.

/// Every route that it is made of has a row; internal ones are marked, not left out.
package struct AuthorisationMatrix: Sendable {
    package struct Row: Hashable, Sendable {
        package let method: String
        package let path: String
        package let access: Access
        package let isInternal: Bool
    }

    /// In the order of the paths.
    package let rows: [Row]

    package init(_ routes: [Route]) {
        rows = routes.map { Row(method: $0.method.rawValue, path: $0.path, access: $0.access, isInternal: $0.isInternal) }
            .sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// A Markdown table.
    package var markdown: String {
        let head = "| Method | Path | Access |\n|---|---|---|\n"
        return head
            + rows.map { "| \($0.method) | `\($0.path)` | \($0.access.rawValue)\($0.isInternal ? " (internal)" : "") |\n" }.joined()
    }
}
