// Which doors a token opens: pure, so that consent, which checks its own tokens, and everybody else judge alike.

package import Contracts
package import HTTPKit

package enum AccountAccess {
    /// Who asks, for a route that admits accounts.
    /// - Parameter claims: proved already.
    /// - Throws: `not-for-this-account` (ACC-14); `password-change-required` for a token that is good for that alone.
    package static func caller(for claims: AccessTokenClaims, access: Access) throws(Problem) -> Caller {
        guard try kinds(admittedTo: access).contains(claims.kind) else { throw .notForThisAccount }
        switch claims.scope {
        case nil: break
        case AccessTokenClaims.passwordChangeOnly: guard access == .passwordChange else { throw .passwordChangeRequired }
        default: throw .forbidden
        }
        switch claims.kind {
        case .person:
            if let person = PersonID(claims.sub) { return .person(person, claims.sid) }
        case .member:
            if let member = MemberID(claims.sub), let organisation = claims.org { return .member(member, organisation, claims.sid) }
        case .operator:
            if let found = OperatorID(claims.sub) { return .operator(found, claims.sid) }
        }
        throw .unauthorised
    }

    private static func kinds(admittedTo access: Access) throws(Problem) -> Set<AccountKind> {
        switch access {
        case .person, .owner: [.person]
        case .member, .organisation: [.member]
        case .operator: [.operator]
        case .account, .passwordChange: Set(AccountKind.allCases)
        case .anyone, .device, .integrator: throw .forbidden
        }
    }
}
