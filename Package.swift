// swift-tools-version:6.2
// The map of the house: what each part is, what it may look down upon, and which outside library it is the landlord of.

import PackageDescription

// MARK: How our own code is compiled

let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// MARK: Outside libraries

extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let grdb = product(name: "GRDB", package: "GRDB.swift")
    static let sqlite = product(name: "GRDBSQLite", package: "GRDB.swift")
    static let httpTypes = product(name: "HTTPTypes", package: "swift-http-types")
    static let unixSignals = product(name: "UnixSignals", package: "swift-service-lifecycle")
    static let lifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics")
    static let coreMetrics = product(name: "CoreMetrics", package: "swift-metrics")
    static let mustache = product(name: "Mustache", package: "swift-mustache")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
}

// MARK: Kinds of target

/// A module of `Shared/`; neighbours use what it marks `package`.
func shared(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Shared/\(name)", exclude: [], swiftSettings: house)
}

/// A C library that Debian installs; its module map names what to link.
func systemLibrary(_ name: String, apt packages: [String]) -> Target {
    .systemLibrary(name: name, path: "Shared/\(name)", providers: [.apt(packages)])
}

/// One process: a folder of `Services/`.
/// - Parameter resources: files that travel beside the executable.
func service(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Services/\(name)", exclude: ["README.md"], resources: resources,
        swiftSettings: house)
}

func tests(of name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)Tests", exclude: exclude, swiftSettings: house)
}

let package = Package(
    name: "TrackMe",
    products: [
        .executable(name: "ingest", targets: ["Ingest"]),
        .executable(name: "consent", targets: ["Consent"]),
        .executable(name: "sos-dispatcher", targets: ["SOSDispatcher"]),
        .executable(name: "notifier", targets: ["Notifier"]),
        .executable(name: "thirdparty-gateway", targets: ["ThirdPartyGateway"]),
        .executable(name: "anonymiser", targets: ["Anonymiser"]),
        .executable(name: "trackme", targets: ["Operator"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // MARK: Shared, floor 0: values and pure functions
        shared("Contracts"),

        // MARK: Shared: C libraries
        systemLibrary("CZeroMQ", apt: ["libzmq3-dev"]),
        systemLibrary("COpenSSL", apt: ["libssl-dev"]),
        systemLibrary("CCurl", apt: ["libcurl4-openssl-dev"]),
        systemLibrary("CZlib", apt: ["zlib1g-dev"]),
        systemLibrary("CMalloc", apt: ["libc6-dev"]),

        // MARK: Shared, floor 1: one outside library each
        shared("Bus", ["Contracts", "CZeroMQ", .logging, .metrics]),
        shared("Storage", ["Contracts", .grdb, .sqlite, .logging, .metrics]),
        shared("Sealing", ["Contracts", "COpenSSL"]),
        shared("Outbound", ["Contracts", "CCurl", .logging]),
        shared(
            "HTTPKit",
            [
                "Contracts", "CZlib", .httpTypes, .mustache, .nioCore, .nioHTTP1, .nioPosix, .logging,
                .metrics,
                .lifecycle,
            ]),
        shared("Documents", ["Contracts"]),
        shared("Telemetry", [.logging, .metrics, .coreMetrics]),

        // MARK: Shared, floor 2: where floor 1 is joined
        shared(
            "ServiceKit",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Outbound", "Telemetry", .argumentParser, .grdb, .lifecycle,
                .unixSignals, .logging, .metrics,
            ]),
        shared("TestKit", ["Contracts", "Bus", "Storage", "Sealing", "Outbound", "ServiceKit", .lifecycle, .logging]),

        // MARK: Services
        service(
            "Ingest",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Documents", "ServiceKit", .grdb, .httpTypes, .nioCore,
                .logging, .metrics, .lifecycle,
            ]),
        service(
            "Consent",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "ServiceKit", .grdb, .httpTypes, .nioCore, .logging,
                .metrics, .lifecycle,
            ], resources: [.copy("Resources/places.tsv"), .copy("Resources/published-passwords.bin")]),
        service(
            "Notifier",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Outbound", "ServiceKit", .grdb, .httpTypes, .nioCore,
                .logging, .metrics, .lifecycle,
            ]),
        service(
            "SOSDispatcher",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Outbound", "Documents", "ServiceKit", .grdb, .httpTypes, .nioCore,
                .logging, .metrics, .lifecycle,
            ]),
        service(
            "ThirdPartyGateway",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Outbound", "Documents", "ServiceKit", .grdb, .httpTypes, .nioCore,
                .logging, .metrics, .lifecycle,
            ]),
        service(
            "Anonymiser",
            ["Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "ServiceKit", "CMalloc", .grdb, .logging, .metrics, .lifecycle],
            resources: [.copy("Resources/group-places.tsv")]),
        service(
            "Operator",
            [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "Outbound", "Documents", "ServiceKit", .argumentParser, .grdb,
                .httpTypes, .nioCore, .logging, .lifecycle,
            ]),

        // MARK: Benchmarks
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["Contracts", "Bus", "Storage", "Sealing", "Outbound", "ServiceKit", .argumentParser, .grdb, .logging],
            path: "Benchmarks", exclude: ["README.md", "Cohorts", "reference", "thresholds.json"], swiftSettings: house),
        // The anonymiser's sources, through the link `Service`, in a process that a benchmark asks.
        .executableTarget(
            name: "CohortBenchmark",
            dependencies: [
                "Contracts", "Bus", "Storage", "Sealing", "HTTPKit", "ServiceKit", "CMalloc", .argumentParser, .grdb, .logging, .metrics,
                .lifecycle,
            ],
            path: "Benchmarks/Cohorts", exclude: ["Service/App.swift", "Service/README.md"],
            resources: [.copy("Service/Resources/group-places.tsv")], swiftSettings: house),

        // MARK: Tests
        tests(of: "Contracts", ["Contracts", "TestKit"], exclude: ["Golden"]),
        .target(name: "CSlowNames", path: "Tests/CSlowNames"),
        tests(of: "Bus", ["Bus", "CSlowNames", "Contracts", "TestKit"]),
        tests(of: "Storage", ["Storage", "Contracts", "TestKit", .grdb, .logging]),
        tests(of: "Sealing", ["Sealing", "Contracts", "TestKit"]),
        tests(of: "Outbound", ["Outbound", "Contracts", "TestKit", .logging]),
        tests(of: "HTTPKit", ["HTTPKit", "Contracts", "TestKit", .httpTypes, .lifecycle, .logging, .nioCore]),
        tests(of: "Documents", ["Documents", "Contracts", "TestKit"]),
        tests(of: "Telemetry", ["Telemetry", "TestKit", .logging, .metrics]),
        tests(
            of: "ServiceKit", ["ServiceKit", "Bus", "Storage", "Sealing", "HTTPKit", "Contracts", "TestKit", .grdb, .lifecycle, .logging]),
        tests(
            of: "Ingest",
            [
                "Ingest", "Bus", "Contracts", "Documents", "HTTPKit", "Sealing", "ServiceKit", "Storage", "TestKit", .grdb, .httpTypes,
                .lifecycle, .logging, .nioCore,
            ]),
        tests(
            of: "Consent",
            [
                "Consent", "Bus", "Contracts", "HTTPKit", "Sealing", "ServiceKit", "Storage", "TestKit", .grdb, .httpTypes, .lifecycle,
                .logging, .nioCore,
            ]),
        tests(
            of: "Notifier",
            [
                "Notifier", "Bus", "Contracts", "HTTPKit", "Outbound", "Sealing", "ServiceKit", "Storage", "TestKit", .grdb, .httpTypes,
                .lifecycle, .logging, .nioCore,
            ]),
        // Stands in for the system's clock and queues where the simulation asks for it.
        .target(name: "PlayedTime", path: "Tests/PlayedTime"),
        tests(
            of: "SOSDispatcher",
            [
                "SOSDispatcher", "PlayedTime", "Bus", "Contracts", "HTTPKit", "Outbound", "Sealing", "ServiceKit", "Storage", "TestKit",
                .grdb,
                .httpTypes,
                .lifecycle, .logging, .nioCore,
            ], exclude: ["Golden"]),
        tests(
            of: "ThirdPartyGateway",
            [
                "ThirdPartyGateway", "Bus", "Contracts", "Documents", "HTTPKit", "Outbound", "Sealing", "ServiceKit", "Storage",
                "Telemetry", "TestKit", .grdb, .httpTypes, .lifecycle, .logging, .nioCore,
            ]),
        tests(
            of: "Anonymiser",
            ["Anonymiser", "Bus", "Contracts", "HTTPKit", "Sealing", "ServiceKit", "Storage", "TestKit", .grdb, .lifecycle, .logging]),
        tests(of: "Operator", ["Operator", "Contracts", "Sealing", "ServiceKit", "TestKit", .argumentParser]),
        tests(
            of: "House",
            [
                "Ingest", "Consent", "SOSDispatcher", "Notifier", "ThirdPartyGateway", "Anonymiser", "Operator", "Contracts", "ServiceKit",
                "Storage", .argumentParser, .grdb,
            ]),
        tests(
            of: "Suite",
            [
                "Ingest", "Consent", "SOSDispatcher", "Notifier", "ThirdPartyGateway", "Anonymiser", "Operator", "Bus", "Contracts",
                "HTTPKit", "Outbound", "Sealing",
                "ServiceKit", "Storage",
                "TestKit", .grdb,
                .lifecycle, .logging,
            ]),
        tests(
            of: "System",
            [
                "Ingest", "Consent", "SOSDispatcher", "Notifier", "ThirdPartyGateway", "Anonymiser", "Operator", "Bus", "Contracts",
                "Outbound", "Sealing", "ServiceKit",
                "Storage", "TestKit", .grdb, .lifecycle, .logging,
            ], exclude: ["Chaos/fault.c"]),
    ]
)

// `make test FILTER=ConsentTests…` builds what the tests of this module need, and links no other.
if let module = Context.environment["TRACKME_TEST_MODULE"] {
    package.targets.removeAll { $0.type == .test && $0.name != module || ["Benchmarks", "CohortBenchmark"].contains($0.name) }
}
