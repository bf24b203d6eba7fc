// The doors of second factors: enrolled with an authenticator, taken away, with recovery codes.

import Contracts
import HTTPKit

struct SecondFactorRoutes: Sendable {
    let factors: SecondFactors

    var all: [Route] { [state, begin, confirm, codes, remove] }

    private var state: Route {
        Route(
            .get, "/consent/v1/second-factor", access: .account, summary: "Whether a second factor is enrolled",
            answers: [.json(200, "How one stands", SecondFactorItem.self)]
        ) { exchange in
            try .json(SecondFactorItem(try await factors.state(in: try exchange.account.session)))
        }
    }

    private var begin: Route {
        Route(
            .post, "/consent/v1/second-factor", as: "enrolSecondFactor", access: .enrolment, summary: "Begins to enrol an authenticator",
            description: """
                The secret is shown this once, also as a link that authenticators read (RFC 6238: SHA-1, six digits, 30 s). Nothing is asked \
                for until a code has confirmed it.
                """,
            answers: [.json(200, "To be put into an authenticator", OfferedFactorItem.self), .problem(409, "second-factor-enrolled")],
            isRateLimited: true
        ) { exchange in
            let offered = try await factors.begin(in: try exchange.account.session)
            return try .json(OfferedFactorItem(secret: offered.secret, link: offered.link))
        }
    }

    private var confirm: Route {
        Route(
            .post, "/consent/v1/second-factor/confirmation", as: "confirmSecondFactor", access: .enrolment,
            summary: "Confirms the authenticator with a code",
            description: """
                From now on each log-in asks for a code. The recovery codes are shown this once; each is good once in place of a code. The \
                access token of the answer is good for everything; all other sessions end.
                """,
            body: .json(SecondFactorCodeBody.self, examples: [["code": "492039"]]),
            answers: [
                .json(200, "Enrolled", EnrolledItem.self).sending(.setCookie), .problem(409, "second-factor-enrolled"),
                .problem(422, "second-factor-wrong"),
            ], isRateLimited: true
        ) { exchange in
            let session = try exchange.account.session
            let body: SecondFactorCodeBody = try await exchange.json()
            let (codes, token) = try await factors.confirm(body.code, in: session)
            guard exchange.isByCookie else { return try .json(EnrolledItem(recoveryCodes: codes, accessToken: token)) }
            return try HTTPAnswer.json(EnrolledItem(recoveryCodes: codes, accessToken: nil))
                .with(cookie: .session(token, lasting: SessionLife.accessToken))
        }
    }

    private var codes: Route {
        Route(
            .post, "/consent/v1/second-factor/recovery-codes", as: "replaceRecoveryCodes", access: .accountAnew,
            summary: "Makes new recovery codes",
            answers: [
                .json(200, "Shown this once; the earlier ones are worth nothing", RecoveryCodesItem.self),
                .problem(409, "second-factor-missing"),
            ], isRateLimited: true
        ) { exchange in
            try .json(RecoveryCodesItem(recoveryCodes: try await factors.renewCodes(in: try exchange.account.session)))
        }
    }

    private var remove: Route {
        Route(
            .delete, "/consent/v1/second-factor", access: .accountAnew, summary: "Takes the second factor away",
            description: "Operators and members of organisations enrol another at their next log-in.", answers: [Answer(204, "It is gone")]
        ) { exchange in
            try await factors.remove(in: try exchange.account.session)
            return .empty()
        }
    }
}

struct SecondFactorItem: Codable, Sendable, Documented {
    var enrolledAt: String?
    var recoveryCodesLeft: Int
    var required: Bool

    init(_ state: SecondFactorState) {
        (enrolledAt, recoveryCodesLeft, required) = (state.since?.rfc3339, state.codesLeft, state.isRequired)
    }

    static let schema = JSONSchema.object(
        .optional("enrolledAt", .time, "Absent where none is enrolled."),
        .required("recoveryCodesLeft", .integer(in: 0...RecoveryCode.count)),
        .required("required", .boolean, "Whether accounts of this kind must have one.")
    ).named("SecondFactor")
}

struct OfferedFactorItem: Codable, Sendable, Documented {
    var secret: String
    var link: String

    static let schema = JSONSchema.object(
        .required("secret", .string(pattern: "^[A-Z2-7]{32}$"), "Base32 of 160 bits, for typing."),
        .required("link", .string(), "`otpauth://totp/…`, for a picture.")
    ).named("OfferedSecondFactor")
}

struct SecondFactorCodeBody: Codable, Sendable, Documented {
    var code: String

    static let longest = 40

    static let schema = JSONSchema.object(.required("code", .string(length: 1...longest), "Six digits.")).named("SecondFactorCode")
}

struct EnrolledItem: Codable, Sendable, Documented {
    var recoveryCodes: [String]
    var accessToken: String?

    static let schema = JSONSchema.object(
        .required("recoveryCodes", .array(of: .string())), .optional("accessToken", .string(), "Absent where a cookie holds it.")
    ).named("EnrolledSecondFactor")
}

struct RecoveryCodesItem: Codable, Sendable, Documented {
    var recoveryCodes: [String]

    static let schema = JSONSchema.object(.required("recoveryCodes", .array(of: .string()))).named("RecoveryCodes")
}
