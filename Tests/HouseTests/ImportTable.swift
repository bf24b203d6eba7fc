// Who may import whom. Look down, never sideways or up; each outside library has one landlord.

/// The modules that one file may import.
enum ImportTable {
    /// Parts of the toolchain that every floor has.
    private static let toolchain: Set<String> = ["Foundation", "FoundationNetworking", "Glibc", "Dispatch", "Synchronization"]
    /// Interfaces that say nothing about a back end, free above floor 0.
    private static let free: Set<String> = ["Logging", "Metrics", "Tracing", "ServiceLifecycle", "UnixSignals", "Atomics"]
    private static let web: Set<String> = [
        "HTTPTypes", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOFoundationCompat", "Mustache",
    ]

    /// What a module of `Shared/` may import beside the toolchain and, above floor 0, the free interfaces.
    static let shared: [String: Set<String>] = [
        "Contracts": [],
        "Bus": ["Contracts", "CZeroMQ"],
        "Storage": ["Contracts", "GRDB", "GRDBSQLite"],
        "Sealing": ["Contracts", "COpenSSL"],
        "Outbound": ["Contracts", "CCurl"],
        "HTTPKit": web.union(["Contracts", "CZlib"]),
        "Documents": ["Contracts", "FoundationXML"],
        "Telemetry": ["CoreMetrics"],
        "ServiceKit": ["Contracts", "Bus", "Storage", "Sealing", "Outbound", "HTTPKit", "Telemetry", "ArgumentParser"],
        "TestKit": ["Contracts", "Bus", "Storage", "Sealing", "Outbound", "ServiceKit"],
    ]
    private static let services: Set<String> = ["Contracts", "Bus", "Storage", "Sealing", "Outbound", "HTTPKit", "Documents", "ServiceKit"]
    private static let storeKeepers: Set<String> = ["Keys", "Streams", "Messages", "Jobs", "Accounts", "Erasure"]
    /// What a service's domain may know: values and pure functions.
    private static let domain: Set<String> = ["Foundation", "Contracts", "Geo"]

    static func allowed(in file: SwiftSource) -> Set<String> {
        let parts = file.path.split(separator: "/").map(String.init)
        switch parts[0] {
        case "Shared":
            if parts[1] == "Contracts" { return ["Foundation"] }
            // These take part in their service's transactions.
            let storeKeeper: Set<String> = parts[1] == "ServiceKit" && storeKeepers.contains(parts[2]) ? ["GRDB"] : []
            return toolchain.union(free).union(shared[parts[1]] ?? []).union(storeKeeper)
        case "Services":
            return allowedInService(parts)
        case "Benchmarks":
            return toolchain.union(free).union(services).union(["ArgumentParser"]).union(isStore(parts) ? ["GRDB"] : [])
        default:
            return allowedInTests(parts)
        }
    }

    private static func allowedInService(_ parts: [String]) -> Set<String> {
        if parts.contains("Domain") { return domain }
        var allowed = toolchain.union(free).union(services)
        if isStore(parts) { allowed.insert("GRDB") }
        if isHTTPDoor(parts) { allowed.formUnion(web.union(["CZlib"])) }
        if parts[1] == "Operator" { allowed.insert("ArgumentParser") }
        if parts.last == "FreedMemory.swift" { allowed.insert("CMalloc") }
        return allowed
    }

    /// Tests of one module see that module and what it may see; stories see every service.
    private static func allowedInTests(_ parts: [String]) -> Set<String> {
        let tested = String(parts[1].dropLast("Tests".count))
        let everything = toolchain.union(free).union(services).union(["Testing"])
        switch parts[1] {
        // Prints what the services declare.
        case "HouseTests":
            let printed: Set<String> = ["Testing", "Contracts", "ServiceKit", "Storage", "ArgumentParser", "GRDB"]
            return toolchain.union(printed).union(SourceTree.folders(in: "Services"))
        case "SOSDispatcherTests": return everything.union(web).union(["TestKit", "GRDB", "PlayedTime", tested])
        case "Fuzz": return ["Foundation", "Glibc", "Contracts", "NIOCore"]
        case "SuiteTests", "SystemTests": return everything.union(SourceTree.folders(in: "Services")).union(["TestKit", "GRDB"])
        case "BusTests": return everything.union(["TestKit", "CSlowNames", tested])
        case "HTTPKitTests": return everything.union(web).union(["TestKit", "CZlib"])
        case "TelemetryTests": return everything.union(["Telemetry", "TestKit", "CoreMetrics"])
        // Reads its counters as an operator does, from the text of `/metrics`.
        case "ThirdPartyGatewayTests": return everything.union(web).union(["TestKit", "GRDB", "Telemetry", tested])
        case "OperatorTests": return everything.union(web).union(["TestKit", "ArgumentParser", "Operator"])
        default: return everything.union(web).union(["TestKit", "GRDB", tested])
        }
    }

    /// SQL lives in files whose name, up to a `+`, ends in one of these.
    static let storeSuffixes = ["Store", "Repository", "Effects", "Migration", "Migrations"]

    private static func isStore(_ parts: [String]) -> Bool {
        guard let name = parts.last?.prefix(while: { $0 != "." && $0 != "+" }) else { return false }
        return storeSuffixes.contains { name.hasSuffix($0) }
    }

    /// Files whose name ends in `Routes`, but for those of the bus.
    private static func isHTTPDoor(_ parts: [String]) -> Bool {
        guard let name = parts.last else { return false }
        return name.hasSuffix("Routes.swift") && !name.hasSuffix("BusRoutes.swift")
    }
}
