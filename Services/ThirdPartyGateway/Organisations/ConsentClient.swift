// What is asked of consent about log-ins, with the timeout that each request needs.

import Bus
import Contracts
import HTTPKit

struct ConsentClient: Sendable {
    /// A password is hashed on the way, perhaps behind others.
    private static let hashing = Duration.seconds(5)
    /// Consent answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
    private static let writing = Duration.seconds(2)
    /// As many requests as an organisation has are ended.
    private static let closing = Duration.seconds(20)

    let client: BusClient

    func makeFirstMember(_ question: MakeFirstMember, trace: String) async throws(Failure) -> MakeFirstMember.Reply {
        try await client.ask(question, trace: trace, deadline: Self.hashing, attempts: 2)
    }

    func invite(_ question: InviteMember, trace: String) async throws(Failure) -> MemberID {
        try await client.ask(question, trace: trace, deadline: Self.writing).member
    }

    func changeAddress(of member: MemberID, to email: EmailAddress, trace: String) async throws(Failure) {
        _ = try await client.ask(ChangeMemberAddress(member: member, email: email.text), trace: trace, deadline: Self.writing)
    }

    func remove(_ member: MemberID) async throws(Failure) {
        _ = try await client.ask(RemoveMember(member: member), deadline: Self.writing)
    }

    func close(_ organisation: OrganisationID) async throws(Failure) -> CloseOrganisation.Reply {
        try await client.ask(CloseOrganisation(organisation: organisation), deadline: Self.closing, attempts: 2)
    }
}

extension Failure {
    /// What is said to a caller when consent could not be asked: nothing was changed, and later it may work.
    var refusal: Refusal {
        isRetriable ? Refusal(.unavailable, retryAfter: .seconds(5)) : Refusal(.internal)
    }
}
