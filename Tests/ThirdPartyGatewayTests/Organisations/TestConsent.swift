// A consent that knows log-ins alone: what the gateway asks of it, and what it says when it is told to be difficult.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit

final class TestConsent: Sendable {
    struct LogIn: Hashable, Sendable {
        var member: MemberID
        var organisation: OrganisationID
        var password: String?
    }

    private struct State {
        var logIns: [String: LogIn] = [:]
        var closed: [OrganisationID] = []
        var removed: [MemberID] = []
        var mailsPasswords = false
        var failure: Failure?
        var refused: [MemberID: Failure] = [:]
    }

    private let state = Mutex(State())

    var methods: Methods {
        var methods = Methods()
        methods.on(MakeFirstMember.self) { [self] asked, _ in try makeFirst(asked) }
        methods.on(InviteMember.self) { [self] asked, _ in
            .init(member: try add(asked.email, asked.organisation, password: nil, isFirst: false).member)
        }
        methods.on(ChangeMemberAddress.self) { [self] asked, _ in try change(asked) }
        methods.on(RemoveMember.self) { [self] asked, _ in
            try refuseIfAsked()
            if let failure = state.withLock({ $0.refused[asked.member] }) { throw failure }
            state.withLock { state in
                state.removed.append(asked.member)
                state.logIns = state.logIns.filter { $0.value.member != asked.member }
            }
            return Nothing()
        }
        methods.on(CloseOrganisation.self) { [self] asked, _ in
            try refuseIfAsked()
            return state.withLock { state in
                let gone = state.logIns.filter { $0.value.organisation == asked.organisation }
                state.closed.append(asked.organisation)
                for address in gone.keys { state.logIns[address] = nil }
                return .init(members: gone.count, requests: 0)
            }
        }
        return methods
    }

    // MARK: What a test sees and decides

    /// By address; those of registrations that nobody has confirmed stand under no address.
    var logIns: [String: LogIn] { state.withLock { $0.logIns } }

    /// The first of that organisation.
    func logIn(of organisation: OrganisationID) -> LogIn? {
        state.withLock { $0.logIns.values.first { $0.organisation == organisation } }
    }

    var closed: [OrganisationID] { state.withLock { $0.closed } }
    var removed: [MemberID] { state.withLock { $0.removed } }

    func mailPasswords() {
        state.withLock { $0.mailsPasswords = true }
    }

    /// Somebody else's account, of whatever kind.
    func occupy(_ address: String) {
        state.withLock { $0.logIns[address] = LogIn(member: .random(), organisation: .random(), password: nil) }
    }

    /// As if it had another address all along.
    func move(_ address: String, to another: String) {
        state.withLock { state in
            state.logIns[another] = state.logIns[address]
            state.logIns[address] = nil
        }
    }

    /// Every question is refused so until it is nil again.
    func fail(_ failure: Failure?) {
        state.withLock { $0.failure = failure }
    }

    /// Removing this one alone is refused so until it is nil again.
    func refuse(_ member: MemberID, _ failure: Failure?) {
        state.withLock { $0.refused[member] = failure }
    }

    // MARK: Answers

    private func refuseIfAsked() throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    private func makeFirst(_ asked: MakeFirstMember) throws -> MakeFirstMember.Reply {
        let isMailed = state.withLock { $0.mailsPasswords }
        if !isMailed {
            guard let password = asked.password else { throw Failure(.invalid, "is missing; fill it in") }
            guard password.count >= 8 else { throw Failure(.invalid, "is too short") }
        }
        let unclaimed = "unconfirmed \(asked.organisation)"
        let made = try add(unclaimed, asked.organisation, password: isMailed ? "k3xv-9qrt" : asked.password, isFirst: true)
        return .init(member: made.member, temporaryPassword: isMailed ? "k3xv-9qrt" : nil)
    }

    private func add(_ email: String, _ organisation: OrganisationID, password: String?, isFirst: Bool) throws -> LogIn {
        try refuseIfAsked()
        return try state.withLock { state in
            let address = email.lowercased()
            if let known = state.logIns[address] {
                guard known.organisation == organisation else { throw Failure(.conflict, "the e-mail address is in use already") }
                return known
            }
            let made = LogIn(member: .random(), organisation: organisation, password: password)
            state.logIns[address] = made
            return made
        }
    }

    private func change(_ asked: ChangeMemberAddress) throws -> Nothing {
        try refuseIfAsked()
        return try state.withLock { state in
            let address = asked.email.lowercased()
            if let other = state.logIns[address] {
                guard other.member == asked.member else { throw Failure(.conflict, "the e-mail address is in use already") }
                return Nothing()
            }
            guard let old = state.logIns.first(where: { $0.value.member == asked.member }) else {
                throw Failure(.notFound, "there is no such member")
            }
            state.logIns[old.key] = nil
            state.logIns[address] = old.value
            return Nothing()
        }
    }
}
