// One offer of a device to be paired, from the number that it shows to the person's confirmation (ACC-22, ACC-23, reliability F2).

import Contracts

/// What a device reports of itself before anybody owns it.
struct OfferedDevice: Hashable, Codable, Sendable {
    static let longestModel = 64

    var model: String
    var kind: DeviceKind
    /// Codes of what it can measure; at least one.
    var measures: [String]
    /// How often it measures, in ms.
    var intervalMs: Int64?
    /// An Ed25519 public key made on the device, 32 bytes as base64url.
    var publicKey: String?
}

/// The course of one offer. Pure: what the person typed is compared by whoever knows the numbers' digests.
struct PairingOffer: Hashable, Sendable {
    static let life = Duration.seconds(300)
    /// Wrong numbers after which an offer is void. Each but the last makes the device show a new number.
    static let wrongNumbers = 5
    static let digits = 6

    enum State: String, CaseIterable, Sendable {
        case waiting
        /// The person typed the number; the device may fetch its token.
        case confirmed
        /// Five wrong numbers.
        case refused
        /// The person or the device left.
        case cancelled
        case expired
    }

    enum Verdict: Hashable, Sendable {
        case confirmed
        /// The device now shows another number.
        case wrong(left: Int)
        /// Not one that can be confirmed any more, or by this number neither.
        case over(State)
    }

    private(set) var state: State
    /// How many wrong numbers were typed: which of the offer's numbers the device shows.
    private(set) var wrong: Int
    let expiresAt: Timestamp

    init(at now: Timestamp) {
        (state, wrong, expiresAt) = (.waiting, 0, now + Self.life)
    }

    /// As a store has it.
    init(state: State, wrong: Int, expiresAt: Timestamp) {
        (self.state, self.wrong, self.expiresAt) = (state, wrong, expiresAt)
    }

    /// What it is at this time.
    func state(at now: Timestamp) -> State {
        state == .waiting && now >= expiresAt ? .expired : state
    }

    /// The person has typed a number.
    mutating func typed(isRight: Bool, at now: Timestamp) -> Verdict {
        let current = state(at: now)
        guard current == .waiting else { return .over(current) }
        if isRight {
            state = .confirmed
            return .confirmed
        }
        wrong += 1
        guard wrong < Self.wrongNumbers else {
            state = .refused
            return .over(.refused)
        }
        return .wrong(left: Self.wrongNumbers - wrong)
    }

    /// Leaving ends what is not confirmed yet; a device that was to be replaced stays.
    mutating func left(at now: Timestamp) {
        if state(at: now) == .waiting { state = .cancelled }
    }
}
