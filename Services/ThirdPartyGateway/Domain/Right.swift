// What somebody may do for an organisation, and which roles may do what.

/// One right; its spelling is a scope of API clients too (RFC 6749 §3.3).
enum Right: String, CaseIterable, Codable, Hashable, Sendable {
    case requestsRead = "requests:read"
    case requestsWrite = "requests:write"
    case dataRead = "data:read"
    case paymentsRead = "payments:read"
    case paymentsWrite = "payments:write"
    case subscriptionsManage = "subscriptions:manage"
    /// Profile, members and API clients.
    case organisationManage = "organisation:manage"

    /// What it opens, for people.
    var summary: String {
        switch self {
        case .requestsRead: "See the organisation's requests and what came of them."
        case .requestsWrite: "Ask people for their data, and stop requests."
        case .dataRead: "Take the data of accepted and paid requests."
        case .paymentsRead: "See payments and invoices."
        case .paymentsWrite: "Pay, and call payments off."
        case .subscriptionsManage: "Register endpoints for webhooks and look after them."
        case .organisationManage: "Change the profile, members and API clients."
        }
    }

    /// What a client's token was issued for; scopes that are no right open nothing.
    static func named(by scopes: Set<String>) -> Set<Right> {
        Set(scopes.compactMap(Right.init(rawValue:)))
    }

    /// Space-separated as RFC 6749 §3.3 writes scopes, in the order of this list.
    static func written(_ rights: Set<Right>) -> String {
        allCases.filter(rights.contains).map(\.rawValue).joined(separator: " ")
    }
}

/// What a member is for an organisation (ORG-23). Requests and results belong to the organisation, whoever asked.
enum Role: String, CaseIterable, Codable, Hashable, Sendable {
    /// Everything, also closing the organisation and naming further owners.
    case owner
    case administrator
    /// Asks for data and takes it.
    case analyst
    /// Sees what is due, pays.
    case billing

    var rights: Set<Right> {
        switch self {
        case .owner, .administrator: Set(Right.allCases)
        case .analyst: [.requestsRead, .requestsWrite, .dataRead, .subscriptionsManage]
        case .billing: [.requestsRead, .paymentsRead, .paymentsWrite]
        }
    }

    /// Whether somebody of this role may give that role to somebody, or take it away: only owners make owners.
    func mayGive(_ other: Role) -> Bool {
        switch self {
        case .owner: true
        case .administrator: other != .owner
        case .analyst, .billing: false
        }
    }
}
