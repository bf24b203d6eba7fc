// The floors of the house, and the landlords of its libraries.

import Testing

@Suite("Imports")
struct ImportTests {
    @Test("NFR-16: a file imports only what its place in the house allows")
    func table() {
        for file in SourceTree.swift {
            let allowed = ImportTable.allowed(in: file)
            for (module, line) in file.imports where !allowed.contains(module) {
                Issue.record("\(file.path):\(line) may not import \(module) (ImportTable.swift says what may)")
            }
        }
    }

    @Test("the table has a row for each module of Shared")
    func rows() {
        for module in SourceTree.folders(in: "Shared") where !module.hasPrefix("C") || module == "Contracts" {
            let probe = SwiftSource(path: "Shared/\(module)/Probe.swift", text: "")
            #expect(
                module == "Telemetry" || module == "Contracts" || ImportTable.allowed(in: probe).contains("Contracts"),
                "\(module) has no row")
        }
    }

    @Test("the check bites: a sideways, an upward and a landlord's import are each refused")
    func bites() {
        let planted = [
            ("Services/Ingest/Service.swift", "import SOSDispatcher"), ("Shared/Bus/BusNode.swift", "package import Storage"),
            ("Shared/Contracts/Sample.swift", "import Logging"), ("Services/Ingest/Service.swift", "private import GRDB"),
            ("Services/SOSDispatcher/Domain/Machine.swift", "import Bus"), ("Shared/Storage/Store.swift", "@testable import CZeroMQ"),
        ]
        for (path, text) in planted {
            let file = SwiftSource(path: path, text: "// Planted.\n\n\(text)\n")
            #expect(file.imports.contains { !ImportTable.allowed(in: file).contains($0.module) }, "\(path): \(text)")
        }
    }
}
