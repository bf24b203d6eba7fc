// One parameter of one service: its key, its default, what it may be.

import Contracts
package import Foundation

/// A parameter that is read once at the start from `TRACKME_<KEY>`: `sos.dispatch_at_s` from `TRACKME_SOS_DISPATCH_AT_S`.
package struct Setting<Value: Sendable>: Sendable {
    /// A prefix and a name in lower case: `sos.retry_s`. The end of a quantity's says its unit.
    package let key: String
    /// Taken as it is: whether it is allowed is not checked.
    package let fallback: Value
    /// The kind and range of allowed values, in words, for errors and tables.
    package let allowed: String
    /// One sentence for tables.
    package let meaning: String
    let written: @Sendable (Value) -> String
    let parse: @Sendable (String) -> Value?

    /// `parse` gives nil for what is not allowed; `written` gives what `parse` reads.
    package init(
        _ key: String, default fallback: Value, allowed: String, _ meaning: String,
        written: @escaping @Sendable (Value) -> String, parse: @escaping @Sendable (String) -> Value?
    ) {
        (self.key, self.fallback, self.allowed, self.meaning) = (key, fallback, allowed, meaning)
        (self.written, self.parse) = (written, parse)
    }

    package var variable: String { SettingsReader.variable(for: key) }
}

extension Setting where Value == Int {
    /// Both ends belong to the range.
    package static func integer(_ key: String, default fallback: Int, in range: ClosedRange<Int>, _ meaning: String) -> Setting {
        Setting(key, default: fallback, allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)", meaning) {
            String($0)
        } parse: { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == Double {
    /// Both ends belong to the range.
    package static func decimal(_ key: String, default fallback: Double, in range: ClosedRange<Double>, _ meaning: String) -> Setting {
        Setting(key, default: fallback, allowed: "a number from \(range.lowerBound) to \(range.upperBound)", meaning) {
            String($0)
        } parse: { text in
            Double(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == Duration {
    /// A key that ends in `_s`.
    package static func seconds(_ key: String, default fallback: Double, in range: ClosedRange<Double>, _ meaning: String) -> Setting {
        duration(key, fallback, range, "seconds", perSecond: 1, meaning)
    }

    /// A key that ends in `_ms`.
    package static func milliseconds(_ key: String, default fallback: Double, in range: ClosedRange<Double>, _ meaning: String) -> Setting {
        duration(key, fallback, range, "milliseconds", perSecond: 1000, meaning)
    }

    /// A key that ends in `_hours` or `_h`.
    package static func hours(_ key: String, default fallback: Double, in range: ClosedRange<Double>, _ meaning: String) -> Setting {
        duration(key, fallback, range, "hours", perSecond: 1 / 3600, meaning)
    }

    private static func duration(
        _ key: String, _ fallback: Double, _ range: ClosedRange<Double>, _ unit: String, perSecond: Double, _ meaning: String
    ) -> Setting {
        Setting(
            key, default: .seconds(fallback / perSecond), allowed: "\(unit) from \(range.lowerBound) to \(range.upperBound)", meaning
        ) { value in
            String(value / .seconds(1) * perSecond)
        } parse: { text in
            Double(text).flatMap { range.contains($0) ? .seconds($0 / perSecond) : nil }
        }
    }
}

extension Setting where Value == Bool {
    /// Exactly `true` or `false`.
    package static func flag(_ key: String, default fallback: Bool, _ meaning: String) -> Setting {
        Setting(key, default: fallback, allowed: "true or false", meaning) {
            String($0)
        } parse: { text in
            Bool(text)
        }
    }
}

extension Setting where Value == String {
    /// Free text of at most 1000 characters.
    package static func text(_ key: String, default fallback: String, _ meaning: String) -> Setting {
        Setting(key, default: fallback, allowed: "text of at most 1000 characters", meaning) {
            $0
        } parse: { text in
            text.count <= 1000 ? text : nil
        }
    }
}

extension Setting {
    /// A file or folder; a relative path starts at the working directory. Secrets are given this way and only this way.
    package static func path(_ key: String, default fallback: String, _ meaning: String) -> Setting<URL>
    where Value == URL {
        Setting(key, default: URL(fileURLWithPath: fallback), allowed: "a path", meaning) {
            $0.path
        } parse: { text in
            text.isEmpty ? nil : URL(fileURLWithPath: text)
        }
    }
}

extension Setting {
    /// An http or https address, or nothing.
    package static func address(_ key: String, _ meaning: String) -> Setting<URL?> where Value == URL? {
        Setting(key, default: nil, allowed: "an http:// or https:// address", meaning) {
            $0?.absoluteString ?? ""
        } parse: { text in
            if text.isEmpty { return .some(nil) }
            guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme), url.host() != nil
            else { return nil }
            return .some(url)
        }
    }

    /// A file that need not be named.
    package static func optionalPath(_ key: String, _ meaning: String) -> Setting<URL?> where Value == URL? {
        Setting(key, default: nil, allowed: "a path", meaning) {
            $0?.path ?? ""
        } parse: { text in
            .some(text.isEmpty ? nil : URL(fileURLWithPath: text))
        }
    }
}

extension Setting where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the raw values, exactly.
    package static func choice(_ key: String, default fallback: Value, _ meaning: String) -> Setting {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return Setting(key, default: fallback, allowed: "one of \(names)", meaning) {
            $0.rawValue
        } parse: { text in
            Value(rawValue: text)
        }
    }
}
