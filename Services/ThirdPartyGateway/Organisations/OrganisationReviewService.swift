// What operators ask about organisations on the bus: seeing them, judging them, setting their tiers.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

struct OrganisationReviewService: Sendable {
    let store: Store
    let table: OrganisationStore
    let members: MemberStore
    let repository: OrganisationRepository
    let consent: ConsentClient
    let directory: OrganisationRegister
    let answers: StoredAnswers
    let logger: Logger
    let now: @Sendable () -> Timestamp

    func register(in methods: inout Methods) {
        methods.on(ListOrganisations.self) { asked, _ in try await list(asked) }
        methods.on(ShowOrganisation.self) { asked, _ in try await show(asked) }
        methods.on(JudgeOrganisation.self) { try await judge($0, $1) }
        methods.on(SetOrganisationTier.self) { try await setTier($0, $1) }
    }

    func list(_ asked: ListOrganisations) async throws -> ListOrganisations.Reply {
        let found = try await store.read { [table] db in
            try table.page(db, in: asked.state, after: asked.after ?? 0, limit: ListOrganisations.page + 1)
        }
        let page = found.prefix(ListOrganisations.page)
        return ListOrganisations.Reply(
            items: page.map { item($0.row) }, next: found.count > ListOrganisations.page ? page.last?.number : nil)
    }

    func show(_ asked: ShowOrganisation) async throws -> ShowOrganisation.Reply {
        let (row, count) = try await store.read { [table, members] db -> (OrganisationRow, Int) in
            guard let row = try table.find(db, asked.organisation) else { throw Self.unknown }
            return (row, try members.count(db, of: row.id))
        }
        let (details, address) = (row.details, row.details.legalAddress)
        return ShowOrganisation.Reply(
            item: item(row), vatNumber: details.vatNumber,
            legalAddress: "\(address.street), \(address.postalCode) \(address.city), \(address.country)", email: details.email.text,
            sector: details.sector, description: details.description, website: details.website,
            representative: details.representative.map { "\($0.name) \($0.surname)" }, phone: details.representative?.phone, members: count)
    }

    func judge(_ asked: JudgeOrganisation, _ context: RequestContext) async throws -> JudgeOrganisation.Reply {
        let at = now()
        if asked.judgement == .confirm { try await claimAddress(of: asked.organisation, trace: context.trace) }
        let reply = try await store.write { [self] db -> JudgeOrganisation.Reply in
            guard let row = try table.find(db, asked.organisation) else { throw Self.unknown }
            var life = OrganisationLife(row.state)
            do {
                switch asked.judgement {
                case .approve: try life.approved()
                case .confirm: try life.vouchedFor()
                case .suspend: try life.suspended()
                case .resume: try life.resumed()
                }
            } catch {
                throw Failure(.conflict, "it is \(row.state.rawValue): it cannot be \(Self.word(asked.judgement)) now")
            }
            if life.state != row.state {
                if row.state == .unconfirmed { try table.claim(db, row.details.email, for: row.id) }
                try table.setState(db, row.id, life.state, at: at)
                try repository.mail(db, to: row.id, life.state == .suspended ? .organisationSuspended : .organisationActive)
            }
            let reply = JudgeOrganisation.Reply(state: life.state)
            try answers.remember(reply, to: context, in: db)
            return reply
        }
        directory.changed(asked.organisation)
        logger.notice(
            "an organisation was reviewed",
            metadata: [
                "organisation": "\(asked.organisation)", "judgement": "\(asked.judgement.rawValue)", "trace": "\(context.trace)",
            ])
        return reply
    }

    func setTier(_ asked: SetOrganisationTier, _ context: RequestContext) async throws -> Nothing {
        let at = now()
        try await store.write { [table, answers] db in
            guard try table.state(db, asked.organisation) != nil else { throw Self.unknown }
            try table.setTier(db, asked.organisation, asked.tier, at: at)
            try answers.remember(Nothing(), to: context, in: db)
        }
        logger.notice(
            "an organisation's tier was set",
            metadata: ["organisation": "\(asked.organisation)", "tier": "\(asked.tier.rawValue)", "trace": "\(context.trace)"])
        return Nothing()
    }

    /// Whoever vouches for an organisation vouches for its address: from then on its first member logs in by it.
    private func claimAddress(of organisation: OrganisationID, trace: String) async throws(Failure) {
        let row: OrganisationRow?
        do {
            row = try await store.read { [table] db in try table.find(db, organisation) }
        } catch {
            throw Failure(.internal, "the store could not be read")
        }
        guard let row, row.state == .unconfirmed, let founder = row.founder else { return }
        do {
            try await consent.changeAddress(of: founder, to: row.details.email, trace: trace)
        } catch  where error.code == .conflict {
            throw Failure(.conflict, "its e-mail address is somebody else's: it must register with another")
        }
    }

    private static func word(_ judgement: JudgeOrganisation.Judgement) -> String {
        switch judgement {
        case .approve: "approved"
        case .confirm: "confirmed"
        case .suspend: "suspended"
        case .resume: "resumed"
        }
    }

    private func item(_ row: OrganisationRow) -> ListOrganisations.Item {
        ListOrganisations.Item(
            organisation: row.id, name: row.details.businessName, state: row.state, registeredAt: row.createdAt,
            tier: row.tier ?? repository.usualTier)
    }

    private static let unknown = Failure(.notFound, "there is no such organisation; `trackme org list` shows them")
}
