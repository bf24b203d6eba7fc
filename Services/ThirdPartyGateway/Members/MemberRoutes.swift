// The doors of an organisation's members.

import Contracts
import HTTPKit

struct MemberRoutes: Sendable {
    let service: MemberService
    let door: OrganisationDoor

    var all: [Route] { [list, invite, change, remove] }

    private static let member = Parameter.path("member", .identifier(Member.self), "Of the list.")

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/members", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Who works for the organisation",
            description: "All of them can use its account at the same time; requests and results belong to the organisation. Needs "
                + "`organisation:manage`.",
            parameters: [.limit, .after],
            answers: [.json(200, "A page", Page<MemberItem>.self, example: Examples.page(Examples.member)), .noAdmission]
        ) { exchange in
            let standing = try await door.admit(exchange, needing: .organisationManage)
            let (rows, next) = try await service.page(
                of: standing.id, after: try exchange.cursor { Int64($0) } ?? 0, limit: try exchange.pageLimit)
            return try .json(Page(items: rows.map(MemberItem.init), next: next.map(String.init)))
        }
    }

    private var invite: Route {
        Route(
            .post, "/thirdparty/v1/members", as: "inviteMember", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Invites somebody to work for the organisation",
            description: """
                A mail invites them to choose a password; then they log in at `/consent/v1/sessions`. The same address again sends another \
                mail. Only owners make owners. A member's last proof must be less than five minutes old. Needs `organisation:manage`.
                """,
            body: .json(MemberBody.self, examples: [["email": "giulia@example.org", "role": "analyst", "language": "it"]]),
            answers: [
                .json(201, "Invited", MemberItem.self, example: Examples.member), .mayAskForProof, .noAdmission, .beyondOwn,
                .problem(409, Problem.emailInUse.name, Problem.tooManyMembers.name),
            ]
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            let body: MemberBody = try await exchange.json()
            let contact = MemberContact(email: try MailOrder(email: body.email).address, language: body.language ?? .italian)
            let row = try await OrganisationRefusal.answering {
                try await service.invite(contact, as: body.role, by: standing, trace: exchange.trace, at: exchange.receivedAt)
            }
            return try .json(MemberItem(row), status: 201)
        }
    }

    private var change: Route {
        Route(
            .patch, "/thirdparty/v1/members/{member}", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Gives a member another role",
            description: "In force with the next call. A member's last proof must be less than five minutes old. Needs "
                + "`organisation:manage`.",
            parameters: [Self.member],
            body: .json(RoleBody.self, examples: [["role": "billing"]]),
            answers: [
                .json(200, "Changed", MemberItem.self, example: Examples.member), .mayAskForProof, .noAdmission, .beyondOwn,
                .problem(404, "not-found"),
                .problem(409, Problem.memberStays.name),
            ]
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            let member = try exchange.identifier("member", of: Member.self)
            let body: RoleBody = try await exchange.json()
            return try .json(MemberItem(try await service.change(member, to: body.role, by: standing, at: exchange.receivedAt)))
        }
    }

    private var remove: Route {
        Route(
            .delete, "/thirdparty/v1/members/{member}", access: .organisation, scopes: [Right.organisationManage.rawValue],
            summary: "Removes a member",
            description: """
                The member is refused from now on; log-in and sessions end. A member's last proof must be less than five minutes old. Needs \
                `organisation:manage`.
                """,
            parameters: [Self.member],
            answers: [
                Answer(204, "Removed"), .mayAskForProof, .noAdmission, .beyondOwn, .problem(404, "not-found"),
                .problem(409, Problem.memberStays.name),
            ]
        ) { exchange in
            let standing = try await door.admitAnew(exchange, needing: .organisationManage)
            try await service.remove(try exchange.identifier("member", of: Member.self), by: standing, at: exchange.receivedAt)
            return .empty()
        }
    }
}

struct MemberBody: Codable, Sendable, Documented {
    var email: String
    var role: Role
    var language: Language?

    static let schema = JSONSchema.object(
        .required("email", OrganisationSchemas.email), .required("role", .oneOf(Role.allCases.map(\.rawValue))),
        .optional("language", OrganisationSchemas.language, "Of the invitation; it unless told.")
    ).named("MemberInvitation")
}

struct RoleBody: Codable, Sendable, Documented {
    var role: Role

    static let schema = JSONSchema.object(.required("role", .oneOf(Role.allCases.map(\.rawValue)))).named("RoleChange")
}

struct MemberItem: Codable, Sendable, Documented {
    var member: MemberID
    var email: String
    var role: Role
    var rights: [Right]
    var since: String

    init(_ row: MemberRow) {
        (member, email, role, since) = (row.id, row.contact.email.text, row.role, row.since.rfc3339)
        rights = Right.allCases.filter(row.role.rights.contains)
    }

    static let schema = JSONSchema.object(
        .required("member", .identifier(Member.self)), .required("email", .string()),
        .required("role", .oneOf(Role.allCases.map(\.rawValue))),
        .required("rights", .array(of: .oneOf(Right.allCases.map(\.rawValue)))), .required("since", .time)
    ).named("Member")
}
