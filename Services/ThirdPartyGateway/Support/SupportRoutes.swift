// Where organisations get help (ORG-22), as the operator has set it.

import Contracts
import HTTPKit

struct SupportRoutes: Sendable {
    let settings: OrganisationSettings

    var all: [Route] { [show] }

    private var show: Route {
        Route(
            .get, "/thirdparty/v1/support", access: .anyone, summary: "Where to get help with this service",
            description: "Quote the `requestId` of an answer, or its `X-Request-Id`, when you write.",
            answers: [.json(200, "The operator's contact", SupportItem.self, example: Examples.support)]
        ) { exchange in
            try .json(SupportItem(settings, exchange.language))
        }
    }
}

struct SupportItem: Codable, Sendable, Documented {
    var mail: String?
    var phone: String?
    var page: String?
    var hours: String?
    var documentation: String
    var notice: String

    init(_ settings: OrganisationSettings, _ language: Language) {
        func said(_ text: String) -> String? { text.isEmpty ? nil : text }
        (mail, phone) = (said(settings.supportMail), said(settings.supportPhone))
        (page, hours) = (said(settings.supportPage), said(settings.supportHours))
        documentation = "/thirdparty/openapi.json"
        let isThere = mail != nil || phone != nil || page != nil
        notice =
            switch (language, isThere) {
            case (.italian, true): "Scriva o chiami indicando il codice della richiesta (X-Request-Id)."
            case (.italian, false): "Il gestore non ha indicato un contatto."
            case (.english, true): "Write or call, and quote the id of the request (X-Request-Id)."
            case (.english, false): "The operator has not named a contact."
            }
    }

    static let schema = JSONSchema.object(
        .optional("mail", .string()), .optional("phone", .string()), .optional("page", .string()), .optional("hours", .string()),
        .required("documentation", .string(), "This interface as OpenAPI 3.1."), .required("notice", .string())
    ).named("Support")
}
