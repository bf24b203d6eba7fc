// The doors of registration: the form, the conditions, and the pages that mailed links open.

import Contracts
import Foundation
import HTTPKit
import NIOCore
import ServiceKit

struct RegistrationRoutes: Sendable {
    let service: OrganisationService

    var all: [Route] {
        [conditions, register, confirm, mailAgain] + OrganisationLinkPurpose.allCases.flatMap { [page($0), done($0)] }
    }

    /// The page of a mailed link.
    static func path(_ purpose: OrganisationLinkPurpose, _ token: String) -> String {
        pages(purpose) + "/" + token
    }

    private static func pages(_ purpose: OrganisationLinkPurpose) -> String {
        purpose == .confirm ? "/thirdparty/v1/organisations/confirm" : "/thirdparty/v1/organisations/confirm-address"
    }

    // MARK: The form

    private var conditions: Route {
        Route(
            .get, "/thirdparty/v1/conditions", as: "getConditions", access: .anyone,
            summary: "What an organisation accepts before it is registered",
            description: "In Italian or English, as `Accept-Language` or `lang` says.",
            parameters: [.query("lang", OrganisationSchemas.language, "In place of `Accept-Language`.")],
            answers: [.json(200, "The texts in force", ConditionsItem.self, example: Examples.conditions)]
        ) { exchange in
            try .json(ConditionsItem(exchange.language))
        }
    }

    private var register: Route {
        Route(
            .post, "/thirdparty/v1/organisations", as: "registerOrganisation", access: .anyone, summary: "Registers an organisation",
            description: """
                Either everything is there, or nothing was stored and every missing or wrong field is named. A mail with a link goes to the \
                corporate address at once; the organisation can be used once the link was followed. From then on the first member logs in \
                at `/consent/v1/sessions` with the corporate address and the chosen password, and is an owner. The answer is the same \
                where that address is in use already: only whoever follows the link is told.
                """,
            body: BodyShape(
                [.init(MediaType.json, OrganisationSchemas.registration, examples: [OrganisationSchemas.registrationExample])],
                limit: 1 << 16, inflatedLimit: 1 << 16, isChecked: true),
            answers: [
                .json(201, "Registered; the mail is on its way", RegistrationItem.self, example: Examples.registered),
                .problem(409, Problem.businessNameInUse.name, Problem.vatNumberInUse.name),
                .problem(
                    422, Problem.invalidOrganisation.name, Problem.conditionsNotAccepted.name, "invalid-body"),
            ], isRateLimited: true, takesIdempotencyKey: true
        ) { exchange in
            let (form, bytes) = try await exchange.jsonTree()
            let origin = CallOrigin(
                request: RepeatableRequest(key: try exchange.idempotencyKey, body: bytes, scope: "anyone register-organisation"),
                remote: exchange.remoteAddress, trace: exchange.trace, at: exchange.receivedAt)
            let (receipt, isRepeated) = try await OrganisationRefusal.answering { try await service.register(form, origin) }
            let answer = try HTTPAnswer.json(RegistrationItem(receipt, exchange.language), status: 201)
            return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    // MARK: Confirming

    private var confirm: Route {
        Route(
            .post, "/thirdparty/v1/organisations/confirmations", as: "confirmOrganisation", access: .anyone,
            summary: "Completes a registration by its mailed link",
            description: "What the link's own page does, for a client that shows a page of its own.",
            body: .json(ConfirmationBody.self, examples: [Examples.confirmation]),
            answers: [
                .json(200, "Confirmed", ConfirmedItem.self, example: Examples.confirmed),
                .problem(404, Problem.linkNotValid.name), .problem(409, Problem.emailInUse.name),
            ], isRateLimited: true
        ) { exchange in
            try service.admit(remote: exchange.remoteAddress)
            let body: ConfirmationBody = try await exchange.json()
            let state = try await OrganisationRefusal.answering {
                try await service.confirm(body.token, trace: exchange.trace, at: exchange.receivedAt)
            }
            return try .json(ConfirmedItem(state: state))
        }
    }

    private var mailAgain: Route {
        Route(
            .post, "/thirdparty/v1/organisations/confirmation-mails", as: "resendConfirmationMail", access: .anyone,
            summary: "Mails the link of a registration again",
            description: "The link before it ends. The answer is the same whether or not a registration waits at this address.",
            body: .json(MailOrder.self, examples: [["email": "office@example.org"]]),
            answers: [.json(202, "If one waits, a mail is on its way", NeutralNotice.self, example: Examples.neutralNotice)],
            isRateLimited: true
        ) { exchange in
            let body: MailOrder = try await exchange.json()
            try await service.mailAgain(to: body.address, remote: exchange.remoteAddress, at: exchange.receivedAt)
            return try .json(NeutralNotice(exchange.language), status: 202)
        }
    }

    // MARK: Pages

    private static let token = Parameter.path("token", .string(), "The end of the mailed link.")

    private func page(_ purpose: OrganisationLinkPurpose) -> Route {
        Route(
            .get, "\(Self.pages(purpose))/{token}", as: purpose == .confirm ? "getConfirmationPage" : "getAddressPage",
            access: .anyone, summary: "The page of a mailed link: asks whether to go on",
            description: "Looking uses nothing up, so that whatever reads mail before its owner does no harm.", parameters: [Self.token],
            answers: [.page(200, "A page with a button"), .page(404, "The link does not hold any more")]
        ) { exchange in
            let texts = OrganisationPages(language: exchange.language)
            return try await Self.page(texts) {
                let (name, address) = try await service.shown(exchange.path("token"), purpose, at: exchange.receivedAt)
                return try texts.asking(purpose, name: name, address: address)
            }
        }
    }

    private func done(_ purpose: OrganisationLinkPurpose) -> Route {
        Route(
            .post, "\(Self.pages(purpose))/{token}", as: purpose == .confirm ? "submitConfirmationPage" : "submitAddressPage",
            access: .anyone, summary: "The button of that page", parameters: [Self.token],
            answers: [
                .page(200, "Done"), .page(404, "The link does not hold any more"), .problem(409, Problem.emailInUse.name),
                .problem(403, "wrong-origin"),
            ], isRateLimited: true
        ) { exchange in
            try exchange.refuseForeignOrigin()
            try service.admit(remote: exchange.remoteAddress)
            let texts = OrganisationPages(language: exchange.language)
            return try await Self.page(texts) {
                switch purpose {
                case .confirm:
                    let state = try await OrganisationRefusal.answering {
                        try await service.confirm(exchange.path("token"), trace: exchange.trace, at: exchange.receivedAt)
                    }
                    return texts.confirmed(state)
                case .changeAddress:
                    try await OrganisationRefusal.answering {
                        try await service.confirmAddress(exchange.path("token"), trace: exchange.trace, at: exchange.receivedAt)
                    }
                    return texts.addressChanged()
                }
            }
        }
    }

    /// A link that does not hold is a page too: whoever sees it is a person.
    private static func page(_ texts: OrganisationPages, _ work: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        do {
            return try await work()
        } catch let problem as Problem where problem.type == OrganisationService.staleLink.type {
            return texts.stale()
        }
    }
}

/// The words of the pages, in Italian and English.
struct OrganisationPages: Sendable {
    let language: Language

    private func say(_ italian: String, _ english: String) -> String {
        language == .italian ? italian : english
    }

    private static let askingTemplate = """
        <p>{{text}}</p>
        <p><strong>{{name}}</strong><br>{{address}}</p>
        <form method="post"><button type="submit">{{button}}</button></form>
        """

    func asking(_ purpose: OrganisationLinkPurpose, name: String, address: String) throws -> HTTPAnswer {
        let title =
            purpose == .confirm
            ? say("Completare la registrazione", "Complete the registration") : say("Nuovo indirizzo e-mail", "New e-mail address")
        let text =
            purpose == .confirm
            ? say(
                "Confermi la registrazione di questa organizzazione. Se non l'ha registrata lei, chiuda questa pagina.",
                "Confirm the registration of this organisation. If you did not register it, close this page.")
            : say(
                """
                Confermando, l'organizzazione riceve la posta e accede con questo indirizzo. Se non l'ha chiesto lei, chiuda questa \
                pagina.
                """,
                "By confirming, the organisation is written to, and logs in, at this address. If you did not ask for it, close this page.")
        return try .page(
            title: title, template: Self.askingTemplate,
            values: ["text": text, "name": name, "address": address, "button": say("Confermo", "Confirm")], language: language)
    }

    func confirmed(_ state: OrganisationState) -> HTTPAnswer {
        state == .awaitingApproval
            ? notice(
                say("Indirizzo confermato", "Address confirmed"),
                say(
                    "Il gestore esamina ora la registrazione; lo saprà per e-mail.",
                    "The operator now looks at the registration; you are told by mail."))
            : notice(
                say("Registrazione completata", "Registration complete"),
                say("Ora può accedere con l'indirizzo dell'organizzazione.", "You can now log in with the organisation's address."))
    }

    func addressChanged() -> HTTPAnswer {
        notice(
            say("Indirizzo cambiato", "Address changed"),
            say(
                "Da ora acceda con questo indirizzo. Lo abbiamo comunicato anche a quello precedente.",
                "From now on log in with this address. We have told the earlier one, too."))
    }

    func stale() -> HTTPAnswer {
        notice(
            say("Il collegamento non vale più", "The link does not hold any more"),
            say(
                "È già stato usato, è scaduto o non viene da noi. Ne chieda uno nuovo.",
                "It was used already, is too old, or did not come from us. Ask for a new one."),
            status: 404)
    }

    private func notice(_ title: String, _ text: String, status: Int = 200) -> HTTPAnswer {
        .page(title: title, notice: text, language: language, status: status)
    }
}
