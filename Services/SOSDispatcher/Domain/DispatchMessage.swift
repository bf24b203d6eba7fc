// What an emergency service is told: schema `dispatch/1`, the same bytes at every attempt.

import Contracts
import Foundation

/// One message to an integrator, as JSON of at most 16 KiB. Fields are only ever added; receivers ignore unknown ones.
/// Personal: values and places are in it, and of the profile what a rescuer needs; the suite's internal ids are not.
struct DispatchMessage: Codable, Hashable, Sendable {
    static let schema = "dispatch/1"
    static let contentType = "application/vnd.suite.dispatch+json"
    /// The severity of a message about a person who is worse than those before say.
    static let worse = "worse"

    enum Kind: String, Codable, Sendable {
        case alert
        case update
        case cancel
    }

    /// Whether help is to be sent in earnest; integrators roll out on `actual` only.
    enum Status: String, Codable, Sendable, CaseIterable {
        case actual
        case exercise
        case system
        case test
    }

    struct Sender: Codable, Hashable, Sendable {
        var organisation: String
        var system: String
        /// Who answers for the suite, by telephone.
        var contact: String?
    }

    struct Value: Codable, Hashable, Sendable {
        var at: String
        var value: Double
    }

    /// A parameter that passed its threshold, and the values before (SOS-16).
    struct PassedThreshold: Codable, Hashable, Sendable {
        var metric: String
        var loinc: String?
        var side: String
        var limit: Double
        var value: Double
        var unit: String
        var at: String
        var samples: [Value]
    }

    /// A parameter and a direction (SOS-31), or `fall`.
    struct Worsening: Codable, Hashable, Sendable {
        var parameter: String
        var side: String?
    }

    struct Trigger: Codable, Hashable, Sendable {
        /// `threshold`, `shaking`, `silence`, `fall` or `manual`.
        var kind: String
        var automatic: Bool
        /// Of `threshold` and `shaking`.
        var threshold: PassedThreshold?
        /// Of `silence`: when the last vital sign was measured.
        var silentSince: String?
    }

    struct Subject: Codable, Hashable, Sendable {
        /// The person's name for integrators alone; the same in all their messages.
        var pid: String
        var basis: String
        var name: String?
        /// E.164: where the person is rung back.
        var telephone: String?
        /// What the person speaks: `it` or `en`.
        var language: String?
        var birthYear: Int?
        var sex: String?
        /// Only as far as the person consented.
        var medicalNotes: String?
    }

    /// Where the person may be if nothing better is known. Never a measured place.
    struct Address: Codable, Hashable, Sendable {
        var text: String
        /// `profile`: where the person lives.
        var source: String
    }

    struct Place: Codable, Hashable, Sendable {
        var lat: Double
        var lon: Double
        var measuredAt: String
    }

    /// `method` is `none` where no place was ever known (SOS-20).
    struct Location: Codable, Hashable, Sendable {
        var method: String
        var lat: Double?
        var lon: Double?
        var accuracyM: Double?
        var altitudeM: Double?
        var measuredAt: String?
        /// Age when the message was made.
        var ageS: Int64?
        /// Measured within the last minute, and not known to be worse than 150 m.
        var trusted: Bool
        var previous: [Place]
        /// Only where no place was ever known.
        var address: Address?
    }

    struct Vital: Codable, Hashable, Sendable {
        var code: String
        var value: Double
        var unit: String
        var at: String
    }

    struct AcknowledgeAt: Codable, Hashable, Sendable {
        var url: String
        var deadline: String
        /// Acknowledges by text or telephone.
        var code: String?
    }

    /// Who called it off, and in which words.
    struct Reason: Codable, Hashable, Sendable {
        var by: String
        var answer: String
    }

    struct Trace: Codable, Hashable, Sendable {
        var traceId: String
        /// From ingest's receipt of the first critical entry to the decision that this message carries out.
        var decidedAfterMs: Int64
    }

    var schema = DispatchMessage.schema
    var messageId: String
    var emergencyId: String
    var seq: Int
    var msgType: Kind
    var status: Status
    var sent: String
    var firstBreachAt: String
    /// When the device first tried to send the first critical reading, where it says so (SOS-41).
    var firstTriedAt: String?
    var decidedAt: String
    var expires: String
    var references: [String]
    var sender: Sender
    var headline: String
    var trigger: Trigger
    var parameters: [PassedThreshold]
    /// What became worse since the last message, where that is what the message is about.
    var worse: [Worsening]?
    var urgency: String
    var severity: String
    var certainty: String
    var subject: Subject
    var location: Location
    var vitals: [Vital]
    var ack: AcknowledgeAt
    var reason: Reason?
    var trace: Trace
    /// Of a release: the integrator that has taken the call.
    var takenBy: String?

    /// Where the person was last known to be, out of a message's bytes; nil where it names no place.
    static func place(in bytes: [UInt8]) -> ServiceArea.Corner? {
        struct Located: Decodable {
            var location: Location
        }
        guard let location = try? JSONDecoder().decode(Located.self, from: Data(bytes)).location, let latitude = location.lat,
            let longitude = location.lon
        else { return nil }
        return ServiceArea.Corner(latitude: latitude, longitude: longitude)
    }

    /// Whether a message's bytes say that the person is worse; not where they are no message.
    static func saysWorse(_ bytes: [UInt8]) -> Bool {
        struct Said: Decodable {
            var severity: String
        }
        return (try? JSONDecoder().decode(Said.self, from: Data(bytes)))?.severity == worse
    }

    /// The canonical bytes: keys sorted, slashes as they are. Stored once and signed as stored.
    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }
}
