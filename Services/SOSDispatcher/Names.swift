// Names that are derived from internal ids, one key for each purpose, so that none of them leads to another.

import Contracts
import Sealing

struct Names: Sendable {
    private let emergencyKey: SymmetricKey
    private let integratorKey: SymmetricKey
    private let auditKey: SymmetricKey
    private let messageKey: SymmetricKey
    private let codeKey: SymmetricKey
    /// Whose emergencies are tests.
    let synthetic: SyntheticPeople

    /// - Parameter identity: the service's identity key; it must never change, or the same entries would open new emergencies.
    init(identity: SymmetricKey) {
        emergencyKey = identity.derived(for: "emergency")
        integratorKey = identity.derived(for: "integrator")
        auditKey = identity.derived(for: "audit")
        messageKey = identity.derived(for: "message")
        codeKey = identity.derived(for: "code")
        let syntheticKey = identity.derived(for: "synthetic")
        let person = { (role: PairRole) in
            PersonID(bits: Names.bits(Digest.hmacSHA256(Array(role.rawValue.utf8), key: syntheticKey)))
        }
        synthetic = SyntheticPeople(first: person(.first), second: person(.second))
    }

    /// The emergency that this trigger makes, now and whenever it is judged again.
    func emergency(of person: PersonID, _ trigger: Trigger) -> EmergencyID {
        if let known = trigger.emergency { return known }
        let code = Digest.hmacSHA256(EmergencyName.text(person: person, trigger: trigger), key: emergencyKey)
        guard let id = EmergencyName.emergency(named: code) else { preconditionFailure("a digest has 32 bytes") }
        return id
    }

    /// What integrators call the person.
    func pid(of person: PersonID) -> String {
        "sub_" + Crockford.encode(number(person, integratorKey))
    }

    /// What the audit log calls the person; it stays when the person is erased.
    func auditName(of person: PersonID) -> String {
        "subscriber:" + Crockford.encode(number(person, auditKey))
    }

    /// The id of a message to people: the same from both dispatchers and at every repetition, so that it arrives once.
    /// - Parameter name: what it is about, and to whom.
    func message(_ name: String) -> Identifier<Message> {
        guard let id = Identifier<Message>(bytes: Digest.hmacSHA256(Array(name.utf8), key: messageKey).prefix(16)) else {
            preconditionFailure("a digest has 32 bytes")
        }
        return id
    }

    /// What acknowledges the message by text or telephone: six characters of Crockford's alphabet, in capitals.
    func code(of message: MessageID) -> String {
        let bits = Names.bits(Digest.hmacSHA256(Array("\(message)".utf8), key: codeKey))
        return String(Crockford.encode(bits).suffix(6)).uppercased()
    }

    /// One text of a message to an integrator.
    func text(of message: MessageID, to integrator: String, number: Int) -> Identifier<Contracts.Message> {
        let code = Digest.hmacSHA256(Array("\(message)|\(integrator)|\(number)".utf8), key: codeKey)
        return Identifier(bits: Names.bits(code))
    }

    private func number(_ person: PersonID, _ key: SymmetricKey) -> UInt128 {
        Names.bits(Digest.hmacSHA256(person.bytes, key: key))
    }

    private static func bits(_ digest: [UInt8]) -> UInt128 {
        digest.prefix(16).reduce(0) { $0 << 8 | UInt128($1) }
    }
}
