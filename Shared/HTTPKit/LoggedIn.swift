// Who is logged in and in which language they read, as handlers ask for it.

package import Contracts

/// Whose account it is.
package enum AccountHolder: Hashable, Sendable {
    case person(PersonID)
    case member(MemberID, OrganisationID)
    case `operator`(OperatorID)

    package var kind: AccountKind {
        switch self {
        case .person: .person
        case .member: .member
        case .operator: .operator
        }
    }
}

extension Exchange {
    /// The person who asks, or whose device does.
    /// - Throws: `not-for-this-account` (ACC-14).
    package var person: PersonID {
        get throws(Problem) {
            switch caller {
            case .person(let person, _), .device(_, let person, _): person
            default: throw .notForThisAccount
            }
        }
    }

    /// Whoever is logged in, and in which session.
    /// - Throws: `not-for-this-account` where the caller is a device, a program or nobody.
    package var account: (holder: AccountHolder, session: SessionID) {
        get throws(Problem) {
            switch caller {
            case .person(let person, let session): (.person(person), session)
            case .member(let member, let organisation, let session): (.member(member, organisation), session)
            case .operator(let `operator`, let session): (.operator(`operator`), session)
            case .anyone, .device, .integrator, .client: throw .notForThisAccount
            }
        }
    }

    /// The language to answer in: `?lang=it`, else what `Accept-Language` likes best, else English.
    package var language: Language {
        Language.asked(by: head)
    }

    /// For routes that anyone may use and that log somebody in or read a cookie: a page of another site must not do it.
    /// - Throws: `wrong-origin` where a browser says that the request comes from elsewhere. Programs send no `Origin`; what cookies
    ///   alone decide must ask for it with `requireOwnOrigin`.
    package func refuseForeignOrigin() throws(Problem) {
        guard head.origin == nil || head.origin == publicOrigin else { throw .wrongOrigin }
    }

    /// As `refuseForeignOrigin`, and refuses where `Origin` is missing as well.
    package func requireOwnOrigin() throws(Problem) {
        guard let origin = head.origin, origin == publicOrigin else { throw .wrongOrigin }
    }
}

extension Language {
    /// `?lang=it`, else what `Accept-Language` likes best, else English.
    static func asked(by head: RequestHead) -> Language {
        let named = head.query?.split(separator: "&").first { $0.hasPrefix("lang=") }
        return named.flatMap { Language(rawValue: String($0.dropFirst(5))) } ?? preferred(head.acceptLanguage)
    }

    /// By quality, RFC 9110 §12.5.4; of equals the first. `it-CH` counts as Italian.
    static func preferred(_ acceptLanguage: String?) -> Language {
        let ranges = (acceptLanguage ?? "").split(separator: ",", maxSplits: 32).prefix(32).compactMap { range -> (Language, Double)? in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            guard let tag = parts.first?.split(separator: "-").first.map(String.init), let language = Language(rawValue: tag) else {
                return nil
            }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            return weight > 0 ? (language, weight) : nil
        }
        guard let best = ranges.map(\.1).max() else { return .english }
        return ranges.first { $0.1 == best }?.0 ?? .english
    }
}
