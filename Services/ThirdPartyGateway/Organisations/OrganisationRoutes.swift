// The doors of an organisation's own profile: seeing it, changing it, deleting it.

import Contracts
import HTTPKit

struct OrganisationRoutes: Sendable {
    let service: OrganisationService
    let door: OrganisationDoor

    var all: [Route] { [show, change, changeAddress, closing, close] }

    private static let path = "/thirdparty/v1/organisation"

    private var show: Route {
        Route(
            .get, Self.path, access: .organisation, summary: "The organisation's profile",
            description: "Everybody of the organisation can see it at any time, also before the confirmation and while it is suspended.",
            answers: [
                .json(200, "The profile", OrganisationItem.self, example: Examples.organisation), .problem(403, "not-for-this-account"),
            ]
        ) { exchange in
            let (standing, _) = try await door.recognise(exchange)
            return try .json(OrganisationItem(try await service.find(standing.id)))
        }
    }

    private var change: Route {
        Route(
            .patch, Self.path, access: .organisation, scopes: [Right.organisationManage.rawValue], summary: "Changes the profile",
            description: """
                Send what changes; nothing else does. Business name and VAT number are fixed. Another payment method counts for payments made \
                from now on. Needs `organisation:manage`.
                """,
            body: BodyShape(
                [.init(MediaType.json, OrganisationSchemas.change, examples: [["paymentMethod": "card"]])], limit: 1 << 16,
                inflatedLimit: 1 << 16, isChecked: true),
            answers: [
                .json(200, "The profile as it is now", OrganisationItem.self, example: Examples.organisation), .noAdmission,
                .problem(422, Problem.invalidOrganisation.name, Problem.fixedField.name, "invalid-body"),
            ]
        ) { exchange in
            let standing = try await door.admit(exchange, needing: .organisationManage)
            let (form, _) = try await exchange.jsonTree()
            let row = try await OrganisationRefusal.answering {
                try await service.change(standing.id, form, at: exchange.receivedAt)
            }
            return try .json(OrganisationItem(row))
        }
    }

    private var changeAddress: Route {
        Route(
            .put, Self.path + "/email", as: "requestOrganisationEmailChange", access: .member,
            summary: "Asks for another corporate e-mail address",
            description: """
                A link goes to the new address; until it is followed the old one stays. The first member then logs in with the new one, \
                and whoever reads mail there can set that log-in's password: for owners, whose last proof must be less than five minutes old.
                """,
            body: .json(MailOrder.self, examples: [["email": "new-office@example.org"]]),
            answers: [Answer(202, "The mail is on its way"), .mayAskForProof, .noAdmission, .problem(409, Problem.emailInUse.name)]
        ) { exchange in
            let standing = try await door.admit(exchange, needing: .organisationManage)
            guard standing.role == .owner else {
                throw Problem.missingRight.saying(
                    "Only an owner of the organisation can change its e-mail address.",
                    italian: "Solo un proprietario dell'organizzazione può cambiarne l'indirizzo e-mail.")
            }
            try await exchange.requireFreshProof(as: .accountAnew)
            let body: MailOrder = try await exchange.json()
            let address = try body.address
            try await OrganisationRefusal.answering {
                try await service.changeAddress(standing.id, to: address, at: exchange.receivedAt)
            }
            return .empty(status: 202)
        }
    }

    // MARK: The end

    private var closing: Route {
        Route(
            .get, Self.path + "/closing", as: "previewClosing", access: .member,
            summary: "What deleting the organisation would end, and what stays due",
            description: "For the dialogue before `POST`. For owners.",
            answers: [
                .json(200, "What would happen", ClosingItem.self, example: Examples.closing),
                .problem(403, Problem.missingRight.name, "not-for-this-account"),
            ]
        ) { exchange in
            let standing = try await owner(exchange)
            return try .json(ClosingItem(try await service.closing(standing.id), exchange.language))
        }
    }

    private var close: Route {
        Route(
            .post, Self.path + "/closing", as: "closeOrganisation", access: .member, summary: "Deletes the organisation",
            description: """
                For good: its members' log-ins and programs' tokens end at once, its requests and subscriptions end and the people concerned \
                are told. Unpaid amounts, which `GET` shows, remain due. For owners, whose last proof must be less than five minutes old.
                """,
            body: .json(ClosingBody.self, examples: [["confirmation": "Istituto Ricerche Mediche S.p.A."]]),
            answers: [
                .json(200, "It is deleted", ClosingItem.self, example: Examples.closing), .mayAskForProof,
                .problem(403, Problem.missingRight.name, "not-for-this-account"),
                .problem(422, Problem.notConfirmed.name, "invalid-body"),
            ]
        ) { exchange in
            let standing = try await owner(exchange)
            try await exchange.requireFreshProof(as: .accountAnew)
            let body: ClosingBody = try await exchange.json()
            let preview = try await service.close(standing.id, confirmation: body.confirmation, at: exchange.receivedAt)
            return try .json(ClosingItem(preview, exchange.language))
        }
    }

    /// Also of an organisation that is not confirmed or suspended: whoever came can leave.
    private func owner(_ exchange: Exchange) async throws -> Standing {
        let (standing, _) = try await door.recognise(exchange)
        guard standing.role == .owner else {
            throw Problem.missingRight.saying(
                "Only an owner of the organisation can delete it.", italian: "Solo un proprietario dell'organizzazione può eliminarla.")
        }
        return standing
    }
}
