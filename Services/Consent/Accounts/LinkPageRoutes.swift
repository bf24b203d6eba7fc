// The pages that mailed links open. Looking at one changes nothing, since mail programs look at links by themselves; its button does.

import Contracts
import HTTPKit
import NIOCore

struct LinkPageRoutes: Sendable {
    let addresses: AddressService
    let guardians: GuardianService
    /// Sharing's answer in an adult's name.
    let answerRequest: GuardianAnswersRequest

    var all: [Route] {
        [
            confirmPage(.confirmAddress, "confirm-address"), confirmDone(.confirmAddress, "confirm-address"),
            confirmPage(.changeAddress, "change-address"), confirmDone(.changeAddress, "change-address"),
            confirmPage(.undoAddress, "undo-address"),
            confirmDone(.undoAddress, "undo-address"), guardianPage, guardianDone,
        ]
    }

    private static let token = Parameter.path("token", AccountSchemas.token, "Of the mailed link.")

    // MARK: Addresses

    private func confirmPage(_ purpose: MailLinkPurpose, _ name: String) -> Route {
        Route(
            .get, "/consent/v1/\(name)/{token}", access: .anyone, summary: "Asks whether an address is confirmed", parameters: [Self.token],
            answers: [.page(200, "A page with a button"), .page(404, "The link does not hold any more")]
        ) { exchange in
            let language = exchange.language
            return try await Self.page(language) {
                let shown = try await addresses.shown(exchange.path("token"), purpose, at: exchange.receivedAt)
                return try .page(
                    title: LinkTexts.confirmTitle(purpose, language), template: LinkTexts.confirmTemplate,
                    values: [
                        "address": shown.address.text, "text": LinkTexts.confirmText(purpose, language),
                        "button": LinkTexts.confirmButton(language),
                    ], language: language)
            }
        }
    }

    private func confirmDone(_ purpose: MailLinkPurpose, _ name: String) -> Route {
        Route(
            .post, "/consent/v1/\(name)/{token}", access: .anyone, summary: "Confirms an address", parameters: [Self.token],
            answers: [
                .page(200, "Done"), .page(404, "The link does not hold any more"),
                .problem(409, Problem.emailInUse.name, Problem.alreadyRegistered.name),
            ]
        ) { exchange in
            let language = exchange.language
            return try await Self.page(language) {
                switch purpose {
                case .changeAddress: try await addresses.confirmChange(exchange.path("token"), at: exchange.receivedAt)
                case .undoAddress: try await addresses.undo(exchange.path("token"), at: exchange.receivedAt)
                default: try await addresses.confirm(exchange.path("token"), at: exchange.receivedAt, trace: exchange.shortTrace)
                }
                return Self.notice(LinkTexts.confirmedTitle(purpose, language), LinkTexts.confirmedText(purpose, language), language)
            }
        }
    }

    // MARK: Guardians

    private var guardianPage: Route {
        Route(
            .get, "/consent/v1/guardian/{token}", access: .anyone, summary: "Asks an adult to consent for a child",
            parameters: [Self.token],
            answers: [.page(200, "A form"), .page(404, "The link does not hold any more")]
        ) { exchange in
            let language = exchange.language
            return try await Self.page(language) {
                switch try await guardians.shown(exchange.path("token"), at: exchange.receivedAt) {
                case .registration(let profile): return try Self.guardianForm(profile, language, error: nil)
                case .request(let profile, let matter): return try Self.requestForm(profile, matter, language)
                }
            }
        }
    }

    private static let guardianFields = JSONSchema.object(
        .required("answer", .oneOf(["consent", "refuse"])), .optional("name", .string(), "Of the adult."),
        .optional("adult", .string(), "Ticked: an adult, and the child's parent or guardian."),
        .optional("conditions", .string(), "Ticked: the conditions are accepted."),
        .optional("anonymous", .string(), "Ticked: the child's choices of anonymous sharing stand."))

    private var guardianDone: Route {
        Route(
            .post, "/consent/v1/guardian/{token}", access: .anyone, summary: "Takes an adult's answer", parameters: [Self.token],
            body: .form(Self.guardianFields),
            answers: [
                .page(200, "Done"), .page(422, "The form again, with what is missing"), .page(404, "The link does not hold any more"),
            ]
        ) { exchange in
            let language = exchange.language
            return try await Self.page(language) {
                let form = try await exchange.form()
                let page = try await guardians.shown(exchange.path("token"), at: exchange.receivedAt)
                let isConsent = form["answer"] == "consent"
                guard case .registration(let profile) = page else {
                    try await guardians.answer(
                        exchange.path("token"), accept: isConsent, at: exchange.receivedAt, trace: exchange.shortTrace,
                        through: answerRequest)
                    return Self.notice(LinkTexts.thanks(language), LinkTexts.requestAnswered(isConsent, language), language)
                }
                guard isConsent else {
                    try await guardians.refuse(exchange.path("token"), at: exchange.receivedAt, trace: exchange.shortTrace)
                    return Self.notice(LinkTexts.thanks(language), LinkTexts.guardianRefused(language), language)
                }
                guard let name = form["name"], name.count <= GuardianAnswer.longestName, form.isTicked("adult"),
                    form.isTicked("conditions")
                else { return try Self.guardianForm(profile, language, error: LinkTexts.guardianIncomplete(language)) }
                try await guardians.consent(
                    exchange.path("token"), GuardianAnswer(name: name, allowsAnonymousSharing: form.isTicked("anonymous")),
                    at: exchange.receivedAt, trace: exchange.shortTrace)
                return Self.notice(LinkTexts.thanks(language), LinkTexts.guardianConsented(language), language)
            }
        }
    }

    private static func guardianForm(_ profile: Profile, _ language: Language, error: String?) throws -> HTTPAnswer {
        let types = profile.anonymousTypes.map { language == .italian ? $0.definition.italian : $0.definition.english }
        var values = LinkTexts.guardianWords(language)
        values["child"] = "\(profile.name) \(profile.surname)"
        values["hasTypes"] = !types.isEmpty
        values["types"] = types.joined(separator: ", ")
        values["documents"] = Conditions.Kind.allCases.map { kind in
            [
                "title": Conditions.title(kind, language),
                "paragraphs": Conditions.text(kind, language).split(separator: "\n").filter { !$0.isEmpty }.map(String.init),
            ] as [String: any Sendable]
        }
        values["error"] = error ?? ""
        values["hasError"] = error != nil
        return try .page(
            title: LinkTexts.guardianTitle(language), template: LinkTexts.guardianTemplate, values: values, language: language,
            status: error == nil ? 200 : 422)
    }

    private static func requestForm(_ profile: Profile, _ matter: GuardianMatter, _ language: Language) throws -> HTTPAnswer {
        var values = LinkTexts.requestWords(language)
        values["child"] = "\(profile.name) \(profile.surname)"
        values["organisation"] = matter.organisation
        values["purpose"] = matter.purpose
        return try .page(
            title: LinkTexts.requestTitle(language), template: LinkTexts.requestTemplate, values: values, language: language)
    }

    // MARK: Pages

    /// A link that does not hold is a page too: whoever sees it is a person.
    private static func page(_ language: Language, _ work: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        do {
            return try await AccountRefusal.answering(work)
        } catch let problem as Problem where problem.type == Problem.linkNotValid.type {
            return notice(LinkTexts.staleTitle(language), LinkTexts.staleText(language), language, status: problem.status)
        }
    }

    private static func notice(_ title: String, _ text: String, _ language: Language, status: Int = 200) -> HTTPAnswer {
        .page(title: title, notice: text, language: language, status: status)
    }
}
