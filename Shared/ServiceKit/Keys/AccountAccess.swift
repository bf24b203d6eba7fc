// Which doors a token opens: pure, so that consent, which checks its own tokens, and everybody else judge alike.

package import Contracts
package import HTTPKit

package enum AccountAccess {
    /// Who asks, for a route that admits accounts.
    /// - Parameter claims: proved already.
    /// - Throws: `not-for-this-account` (ACC-14); `password-change-required` or `second-factor-required` for a token that is good for
    ///   that alone; `insufficient-user-authentication` where the route asks for a proof that is fresher than the token's.
    package static func caller(for claims: AccessTokenClaims, access: Access, now: Timestamp) throws(Problem) -> Caller {
        guard try kinds(admittedTo: access).contains(claims.kind) else { throw .notForThisAccount }
        switch claims.scope {
        case nil: break
        case AccessTokenClaims.passwordChangeOnly: guard access == .passwordChange else { throw .passwordChangeRequired }
        case AccessTokenClaims.enrolmentOnly:
            guard access == .passwordChange || access == .enrolment else { throw .secondFactorRequired }
        default: throw .forbidden
        }
        if access.asksForFreshness, !isFresh(claims, at: now) { throw .insufficientUserAuthentication }
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

    /// What a token says may be any number: compared without a difference that could overflow.
    private static func isFresh(_ claims: AccessTokenClaims, at now: Timestamp) -> Bool {
        guard let authTime = claims.authTime else { return false }
        let second = now.milliseconds / 1000
        return authTime > second - Access.freshness.components.seconds && authTime <= second + TokenRules.clockSkew.components.seconds
    }

    private static func kinds(admittedTo access: Access) throws(Problem) -> Set<AccountKind> {
        switch access {
        case .person, .personAnew, .owner: [.person]
        case .member, .organisation: [.member]
        case .operator: [.operator]
        case .account, .accountAnew, .passwordChange, .enrolment: Set(AccountKind.allCases)
        case .anyone, .device, .integrator: throw .forbidden
        }
    }
}
