// Reads declared settings from the environment and refuses what it cannot understand.

/// Everything that was wrong with the settings, so that one start shows it all.
package struct SettingsError: Error, Hashable, CustomStringConvertible {
    /// One line each, with up to 100 characters of the value: secrets are files and do not stand here.
    package let faults: [String]

    package init(faults: [String]) {
        self.faults = faults
    }

    package var description: String { faults.joined(separator: "\n") }
}

/// What is wrong with one variable.
package struct SettingFault: Hashable, Sendable, CustomStringConvertible {
    package let variable: String
    /// Up to 100 characters; nil where the value by itself is in order, or nobody reads it.
    let value: String?
    let reason: String
    /// Whether no setting has this name.
    package let isUnknown: Bool

    /// With its value.
    package var description: String { "\(variable)\(value.map { "=\($0)" } ?? ""): \(reason)" }

    /// For logs and readiness, which hold no values.
    package var withoutValue: String { "\(variable): \(reason)" }
}

/// Hands out values and remembers what was asked. `finish` throws if any value was malformed or a key under an owned prefix is
/// declared by nobody: a mistyped `SOS_DISPATCH_AT_S=3O` must not become the default in silence.
package struct SettingsReader: Sendable {
    /// One line of `--check-config`.
    package struct Row: Sendable {
        package let key: String
        /// As it would be written in the environment; empty for none.
        package let value: String
        /// Whether the environment does not name it.
        package let isDefault: Bool
        package let allowed: String
        package let meaning: String
    }

    private let environment: [String: String]
    private var found: [SettingFault] = []
    /// Every declared setting with its effective value, in the order of asking. Secrets are files, so nothing needs hiding.
    package private(set) var rows: [Row] = []

    package init(environment: [String: String]) {
        self.environment = environment
    }

    /// `sos.retry_s` is read from `TRACKME_SOS_RETRY_S`.
    package static func variable(for key: String) -> String {
        "TRACKME_" + key.uppercased().replacing(".", with: "_")
    }

    /// The configured value, or the default. A malformed one is kept as a fault for `finish`.
    package mutating func read<Value>(_ setting: Setting<Value>) -> Value {
        let text = environment[setting.variable]
        let parsed = text.flatMap(setting.parse)
        if let text, parsed == nil {
            found.append(
                SettingFault(
                    variable: setting.variable, value: String(text.prefix(100)), reason: "must be \(setting.allowed)", isUnknown: false))
        }
        let value = parsed ?? setting.fallback
        rows.append(
            Row(
                key: setting.key, value: setting.written(value), isDefault: text == nil, allowed: setting.allowed,
                meaning: setting.meaning))
        return value
    }

    /// For a rule that ties settings together. The caller goes on with what a service that starts all the same can do with, as a default.
    package mutating func refuse(_ key: String, _ reason: String) {
        found.append(SettingFault(variable: SettingsReader.variable(for: key), value: nil, reason: reason, isUnknown: false))
    }

    /// Call after everything was read.
    /// - Throws: all `faults` at once.
    package func finish(prefixes: Set<String>) throws(SettingsError) {
        let all = faults(prefixes: prefixes)
        guard all.isEmpty else { throw SettingsError(faults: all.map(\.description)) }
    }

    /// What is wrong, once everything was read.
    /// - Parameter prefixes: owned by this service: a variable under one of them that nobody read is a fault.
    package func faults(prefixes: Set<String>) -> [SettingFault] {
        let known = Set(rows.map { SettingsReader.variable(for: $0.key) })
        let starts = prefixes.map { SettingsReader.variable(for: $0) + "_" }
        let strangers = environment.keys.filter { name in
            !known.contains(name) && starts.contains { name.hasPrefix($0) }
        }
        return found + strangers.sorted().map { SettingFault(variable: $0, value: nil, reason: "no such setting", isUnknown: true) }
    }
}
