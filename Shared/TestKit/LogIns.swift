// How the people of tests log in at consent.

package import Contracts
import Foundation
import Sealing

extension HarnessClient {
    /// Asks for a session; whether there is one, the answer says.
    package func logIn(_ login: String, _ password: String) async throws -> HarnessAnswer {
        try await ask("POST", "/consent/v1/sessions", json: ["login": login, "password": password])
    }
}

extension HarnessClient {
    /// Registers at a consent that asks for no confirmation, and logs in.
    package func join(_ form: [String: any Sendable]) async throws -> (person: PersonID, token: String) {
        try await ask("POST", "/consent/v1/accounts", json: form).expect(status: 201)
        let token = try await logIn(form["email"] as? String ?? "", form["password"] as? String ?? "").accessToken
        return (try PersonID(accessToken: token), token)
    }
}

/// An answer began no session, or a token names no person.
package struct NoSession: Error {
    package let status: Int?
}

extension HarnessAnswer {
    /// That of the session which this answer begins.
    package var accessToken: String {
        get throws {
            guard let token = json["accessToken"] as? String else { throw NoSession(status: status) }
            return token
        }
    }
}

extension PersonID {
    /// Whose session it is.
    package init(accessToken: String) throws {
        guard let payload = accessToken.split(separator: ".").dropFirst().first.flatMap({ Base64URL.decode($0) }),
            let person = PersonID(try JSONDecoder().decode(AccessTokenClaims.self, from: Data(payload)).sub)
        else { throw NoSession(status: nil) }
        self = person
    }
}
