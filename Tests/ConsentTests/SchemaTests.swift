// The schema of consent.db as a whole.

import Storage
import Testing

@testable import Consent

@Suite("Consent's schema")
struct SchemaTests {
    @Test("Migrations are numbered from one without gaps")
    func numbers() {
        #expect(ConsentSchema.migrations.map(\.number) == Array(1...ConsentSchema.migrations.count))
    }
}
