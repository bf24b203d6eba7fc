// `trackme org`: the third parties, and whether they may act.

import ArgumentParser
import Contracts

struct OrganisationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "org", abstract: "Shows organisations; confirms, approves, suspends, resumes and reopens them; sets their tiers.",
        discussion: """
            Organisations register by themselves. With TRACKME_ORG_APPROVAL_REQUIRED=true each waits for `trackme org approve` after it has \
            confirmed its address. A suspended one is refused everywhere and nothing is delivered to it.
            """,
        subcommands: [
            ListOrganisationsCommand.self, ShowOrganisationCommand.self, JudgementCommand<ConfirmWord>.self,
            JudgementCommand<ApproveWord>.self, JudgementCommand<SuspendWord>.self, JudgementCommand<ResumeWord>.self,
            OrganisationTierCommand.self, ReopenCommand.self,
        ])
}

struct ListOrganisationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the organisations in the order of their registration.",
        discussion: "Example: trackme org list --state awaiting-approval\n\n\(ExitStatus.documentation)")

    @Option(help: "Only those: unconfirmed, awaiting-approval, active, suspended or closed.")
    var state: OrganisationState?
    @Flag(help: "Print one JSON object a line.")
    var json = false
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            try await SuiteConnection.with(suite.layout) { connection in
                var after: Int64?
                repeat {
                    let reply = try await connection.ask(ListOrganisations(state: state, after: after))
                    for item in reply.items { try show(item) }
                    after = reply.next
                } while after != nil
            }
        }
    }

    private func show(_ item: ListOrganisations.Item) throws {
        guard !json else { return try Console.shared.json(item) }
        Console.shared.line("\(item.organisation)  \(item.state.rawValue.padded(to: 17))  \(item.name)")
    }
}

struct ShowOrganisationCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows what an organisation says of itself.",
        discussion: "Example: trackme org show org_01h2xcejqtf2nbrexx3vqjhp41\n\n\(ExitStatus.documentation)")

    @Argument(help: "Of the list.")
    var organisation: OrganisationID
    @Flag(help: "Print one JSON object.")
    var json = false
    @OptionGroup var suite: SuiteOptions

    var request: ShowOrganisation { ShowOrganisation(organisation: organisation) }

    func show(_ reply: ShowOrganisation.Reply) throws {
        guard !json else { return try Console.shared.json(reply) }
        let rows: [(String, String?)] = [
            ("name", reply.item.name), ("state", reply.item.state.rawValue), ("tier", reply.item.tier?.rawValue),
            ("VAT number", reply.vatNumber),
            ("address", reply.legalAddress), ("e-mail", reply.email), ("sector", reply.sector), ("description", reply.description),
            ("web site", reply.website), ("represented", reply.representative), ("phone", reply.phone),
            ("members", String(reply.members)), ("registered", reply.item.registeredAt.rfc3339),
        ]
        for (title, value) in rows {
            if let value { Console.shared.line("\(title.padded(to: 12))  \(value)") }
        }
    }
}

/// What the operator may decide of an organisation: the word is the command's name.
protocol JudgementWord {
    static var judgement: JudgeOrganisation.Judgement { get }
    static var abstract: String { get }
    /// More than the abstract has; empty for nothing.
    static var discussion: String { get }
}

extension JudgementWord {
    static var discussion: String { "" }
}

enum ConfirmWord: JudgementWord {
    static let judgement = JudgeOrganisation.Judgement.confirm
    static let abstract = "Completes a registration in place of the mailed link."
    static let discussion = """
        For suites without a mail server, and for an organisation that the operator knows and no mail reaches. An approval is not waited \
        for then.
        """
}

enum ApproveWord: JudgementWord {
    static let judgement = JudgeOrganisation.Judgement.approve
    static let abstract = "Lets an organisation act that has confirmed its address; it is told by mail."
}

enum SuspendWord: JudgementWord {
    static let judgement = JudgeOrganisation.Judgement.suspend
    static let abstract = "Refuses an organisation everywhere until it is resumed; it is told by mail."
}

enum ResumeWord: JudgementWord {
    static let judgement = JudgeOrganisation.Judgement.resume
    static let abstract = "Ends the suspension of an organisation; it is told by mail."
}

struct JudgementCommand<Word: JudgementWord>: RequestCommand {
    static var configuration: CommandConfiguration {
        let name = Word.judgement.rawValue
        let example = "Example: trackme org \(name) org_01h2xcejqtf2nbrexx3vqjhp41"
        return CommandConfiguration(
            commandName: name, abstract: Word.abstract,
            discussion: [Word.discussion, example, ExitStatus.documentation].filter { !$0.isEmpty }.joined(separator: "\n\n"))
    }

    @Argument(help: "Of the list.")
    var organisation: OrganisationID
    @OptionGroup var suite: SuiteOptions

    var request: JudgeOrganisation { JudgeOrganisation(organisation: organisation, judgement: Word.judgement) }

    func show(_ reply: JudgeOrganisation.Reply) throws {
        Console.shared.line("\(organisation)  \(reply.state.rawValue)")
    }
}

struct OrganisationTierCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "tier", abstract: "Says what an organisation may receive of groups: records, or statistics alone.",
        discussion: """
            One in good standing receives records and statistics, an untrusted one statistics alone: its requests for records are refused, \
            and records that were released before are handed out no more until it is in good standing again. What is due stays due, and no \
            mail tells it. Until something is said here, TRACKME_ORG_TIER is the tier. With TRACKME_ORG_UNTRUSTED_RECORDS=true untrusted \
            ones receive records all the same, as long as no combination of their groups isolates few people.

            Example: trackme org tier org_01h2xcejqtf2nbrexx3vqjhp41 untrusted

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Of the list.")
    var organisation: OrganisationID
    @Argument(help: "good-standing or untrusted.")
    var tier: OrganisationTier
    @OptionGroup var suite: SuiteOptions

    var request: SetOrganisationTier { SetOrganisationTier(organisation: organisation, tier: tier) }

    func show(_ reply: Nothing) throws {
        Console.shared.line("\(organisation)  \(tier.rawValue)")
    }
}

struct ReopenCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "reopen", abstract: "Lets third parties in again after the gateway's store was restored from a copy.",
        discussion: """
            From such a restore on every organisation is refused and nothing is delivered, since what was taken away after the copy is \
            there again. Suspend first who was suspended or closed since, and set the tiers that were set since. Name here the API clients and \
            endpoints that were deleted since, or whose secret was replaced because somebody else had it: they are deleted, and \
            organisations make others. The gateway's log has their ids ("was withdrawn", "was removed", "was rotated"); \
            docs/operating.md says more.

            Example: trackme org reopen --client cli_01h2xcejqtf2nbrexx3vqjhp41

            \(ExitStatus.documentation)
            """)

    @Option(name: .customLong("client"), help: ArgumentHelp("An API client that is not to be there; may be repeated.", valueName: "cli_…"))
    var clients: [ClientID] = []
    @Option(name: .customLong("endpoint"), help: ArgumentHelp("Likewise an endpoint for webhooks.", valueName: "end_…"))
    var endpoints: [WebhookEndpointID] = []
    @OptionGroup var suite: SuiteOptions

    var request: ReopenThirdParties { ReopenThirdParties(apiClients: clients, endpoints: endpoints) }

    func show(_ reply: ReopenThirdParties.Reply) throws {
        let rest = clients.count + endpoints.count - reply.deleted
        Console.shared.line(
            (reply.wasHeld ? "third parties are let in again" : "nothing was held") + "; \(reply.deleted) deleted"
                + (rest > 0 ? ", \(rest) were not in the copy" : ""))
    }
}

extension OrganisationState: ExpressibleByArgument {}
extension OrganisationTier: ExpressibleByArgument {}
