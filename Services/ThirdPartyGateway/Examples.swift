// Answers as they look, for the OpenAPI document: whoever reads it first reads these.

import HTTPKit

enum Examples {
    private static let request: JSONValue = "req_01h2xcejqtf2nbrexx3vqjhp41"
    private static let grant: JSONValue = "grt_01h2xcejqtf2nbrexx3vqjhp41"
    private static let payment: JSONValue = "pay_01h2xcejqtf2nbrexx3vqjhp41"

    static let registered: JSONValue = [
        "organisation": "org_01h2xcejqtf2nbrexx3vqjhp41", "state": "unconfirmed",
        "notice": "The registration was received. Follow the link in our e-mail to complete it.",
    ]

    static let confirmation: JSONValue = ["token": "9kJ3w0aYkzvVqg0S1m2n3o4p5q6r7s8t9u0v1w2x3y4"]

    static let client: JSONValue = [
        "client": "cli_01h2xcejqtf2nbrexx3vqjhp41", "name": "nightly download", "scopes": ["requests:read", "data:read"],
        "createdAt": "2026-01-10T00:31:00.000Z", "secret": "tmcs_shown-this-once",
    ]

    static let tokenOrder: JSONValue = ["grant_type": "client_credentials", "scope": "requests:read data:read"]

    static let revocation: JSONValue = ["token": "tmat_an-hour-long"]

    static let token: JSONValue = [
        "access_token": "tmat_an-hour-long", "token_type": "Bearer", "expires_in": 3600, "scope": "requests:read data:read",
    ]

    static let quote: JSONValue = [
        "priceListVersion": 3,
        "lines": [
            ["what": "request", "price": 500], ["what": "heart-rate", "perDay": 10, "days": 31, "price": 310],
        ],
        "rebatePercent": 0, "net": 810, "tax": 178, "taxBasisPoints": 2200,
        "perPerson": ["minor": 988, "currency": "EUR", "decimal": "9.88"], "persons": 1,
        "total": ["minor": 988, "currency": "EUR", "decimal": "9.88"],
    ]

    static let madeRequest: JSONValue = [
        "request": request, "fiscalCode": "RSSMRA80A01H501U", "month": "2026-01", "status": "PENDING", "delivery": "waiting",
        "types": ["heart-rate"], "sharedTypes": [], "from": "2026-01-01T00:00:00.000Z", "to": "2026-04-01T00:00:00.000Z",
        "granularity": "minutes", "isSubscription": true, "purpose": "Study of resting heart rate",
        "askedBy": "cli_01h2xcejqtf2nbrexx3vqjhp41", "createdAt": "2026-01-10T00:31:00.000Z", "answerBy": "2026-01-11T00:31:00.000Z",
        "changedAt": "2026-01-10T00:31:00.000Z",
    ]

    static let personList: JSONValue = .string(
        """
        fiscalCode,types,from,to,granularity,purpose\r
        RSSMRA80A01H501U,heart-rate body-temperature,2026-01-01T00:00:00Z,P3M,hours,Study of resting heart rate\r

        """)

    static let paid: JSONValue = [
        "payment": payment, "request": request, "status": "paid", "amount": ["minor": 988, "currency": "EUR", "decimal": "9.88"],
        "priceListVersion": 3, "isFeasible": true,
        "attempt": ["method": "card", "state": "succeeded", "startedAt": "2026-01-10T08:00:00.000Z"], "methods": [],
        "history": [["at": "2026-01-10T08:00:01.000Z", "method": "card", "state": "succeeded"]],
        "invoice": "2026-000041", "createdAt": "2026-01-10T00:31:00.000Z", "changedAt": "2026-01-10T08:00:01.000Z",
    ]

    static let dataPage: JSONValue = [
        "items": [
            ["type": "heart-rate", "at": "2026-01-01T00:00:00.000Z", "value": 67, "unit": "/min"],
            ["type": "heart-rate", "at": "2026-01-01T00:01:00.000Z", "value": 66.5, "unit": "/min"],
        ],
        "next": "1767225660000", "reminder": .string(ResponsibilityNotice.text),
    ]

    static let epoch: JSONValue = "3f9c0a61d2b84e75"

    static let feedPage: JSONValue = [
        "items": [
            ["number": 1, "type": "heart-rate", "at": "2026-01-10T08:00:00.000Z", "value": 67],
            ["number": 2, "type": "heart-rate", "at": "2026-01-10T08:01:00.000Z", "value": 68],
            ["number": 3, "type": "heart-rate", "at": "2026-01-10T08:00:00.000Z", "value": 67.5, "replaces": 1],
        ],
        "next": "3", "head": 41, "epoch": epoch,
    ]

    static let subscription: JSONValue = [
        "id": request, "grant": grant, "state": "running", "types": ["heart-rate"], "from": "2026-01-01T00:00:00.000Z",
        "to": "2026-04-01T00:00:00.000Z", "granularity": "minutes", "head": 41, "oldest": 1, "newestAt": "2026-01-10T08:41:00.000Z",
        "begunAt": "2026-01-10T08:00:01.000Z", "epoch": epoch,
    ]

    static let endpoint: JSONValue = [
        "id": "end_01h2xcejqtf2nbrexx3vqjhp41", "url": "https://example.org/trackme", "description": "production", "state": "unverified",
        "createdAt": "2026-01-10T08:00:00.000Z", "health": ["failuresInARow": 0, "waiting": 0, "deadLetters": 0],
        "secret": "whsec_c2hvd24gdGhpcyBvbmNl",
    ]

    /// One page that is the last.
    static func page(_ item: JSONValue) -> JSONValue {
        ["items": [item], "next": nil]
    }

    // MARK: The account

    static let conditions: JSONValue = [
        "version": .string(OrganisationConditions.version),
        "documents": [
            [
                "kind": "terms", "field": "acceptedTerms", "title": "Terms of service for organisations",
                "text": "TrackMe lets the organisation ask for data of people. …",
            ]
        ],
    ]

    static let confirmed: JSONValue = ["state": "active"]

    static let neutralNotice: JSONValue = [
        "notice": "If an organisation waits for its confirmation at this address, a new link is on its way."
    ]

    private static let address: JSONValue = [
        "street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122", "country": "IT",
    ]

    static let organisation: JSONValue = [
        "organisation": "org_01h2xcejqtf2nbrexx3vqjhp41", "state": "active", "businessName": "Istituto Ricerche Mediche S.p.A.",
        "vatNumber": "IT00743110157", "legalAddress": address, "billingAddress": address, "email": "office@example.org",
        "sector": "medical research", "description": "Studies of the heart rate at rest.",
        "representative": [
            "name": "Mario", "surname": "Rossi", "officeAddress": "Via Festa del Perdono 7, Milano", "phone": "+390250311",
            "email": "mario.rossi@example.org", "fiscalCode": "RSSMRA80A01H501U",
        ],
        "paymentMethod": "card", "language": "en", "acceptedConditions": .string(OrganisationConditions.version),
        "acceptedAt": "2026-01-10T00:31:00.000Z", "registeredAt": "2026-01-10T00:31:00.000Z",
        "links": ["requests": "/thirdparty/v1/requests", "payments": "/thirdparty/v1/payments"],
    ]

    static let closing: JSONValue = [
        "businessName": "Istituto Ricerche Mediche S.p.A.", "pendingRequests": 1, "approvedRequests": 2, "members": 3,
        "debts": [["minor": 988, "currency": "EUR"]],
        "notice": "Deleting ends all requests and subscriptions, of which the people are told, and all log-ins; unpaid amounts remain due.",
    ]

    static let member: JSONValue = [
        "member": "mem_01h2xcejqtf2nbrexx3vqjhp41", "email": "giulia@example.org", "role": "analyst",
        "rights": ["requests:read", "requests:write", "data:read", "subscriptions:manage"], "since": "2026-01-10T00:31:00.000Z",
    ]

    static let listedClient: JSONValue = [
        "client": "cli_01h2xcejqtf2nbrexx3vqjhp41", "name": "nightly download", "scopes": ["requests:read", "data:read"],
        "createdAt": "2026-01-10T00:31:00.000Z", "lastUsedAt": "2026-01-11T02:00:00.000Z",
    ]

    static let clientSecret: JSONValue = [
        "client": "cli_01h2xcejqtf2nbrexx3vqjhp41", "secret": "tmcs_shown-this-once", "oldSecretUntil": "2026-01-12T00:31:00.000Z",
    ]

    static let support: JSONValue = [
        "mail": "support@example.org", "hours": "Monday to Friday, 9 to 17", "documentation": "/thirdparty/openapi.json",
        "notice": "Write or call, and quote the id of the request (X-Request-Id).",
    ]

    // MARK: Asking and fetching

    static let requestList: JSONValue = [
        "list": "job_01h2xcejqtf2nbrexx3vqjhp41", "persons": 2, "sending": 0, "createdAt": "2026-01-10T00:31:00.000Z",
        "items": [
            ["place": 0, "outcome": "opened", "request": request],
            [
                "place": 1, "outcome": "no-such-person",
                "detail": "No such person. Check the fiscal code and send this one again; nobody was notified.",
            ],
        ], "next": nil,
    ]

    static let dataTypes: JSONValue = page(["type": "heart-rate", "name": "Heart rate", "unit": "/min", "loinc": "8867-4"])

    static let file: JSONValue = [
        "file": "job_01h2xcejqtf2nbrexx3vqjhp41", "request": request, "state": "done", "format": "csv", "types": ["heart-rate"],
        "from": "2026-01-01T00:00:00.000Z", "to": "2026-04-01T00:00:00.000Z", "createdAt": "2026-01-10T08:00:00.000Z",
        "expiresAt": "2026-01-11T08:00:01.000Z",
        "parts": [
            [
                "name": "data-0001.csv", "mediaType": "text/csv", "bytes": 1204, "values": 24,
                "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ]
        ], "reminder": .string(ResponsibilityNotice.text),
    ]

    static let jsonFile: JSONValue = ["entries": [["type": "heart-rate", "at": "2026-01-01T00:00:00.000Z", "value": 67, "unit": "/min"]]]

    // MARK: Paying

    private static let rate: JSONValue = ["seconds": 20, "minutes": 10, "hours": 5]

    static let priceList: JSONValue = [
        "version": 3, "from": "2026-01-01T00:00:00.000Z",
        "prices": [
            "currency": "EUR", "perRequest": 500, "usual": rate, "types": ["position": ["seconds": 40, "minutes": 20, "hours": 10]],
            "rebates": [["fromPersons": 100, "percent": 10]], "taxBasisPoints": 2200,
        ],
    ]

    static let due: JSONValue = [
        "payment": payment, "request": request, "status": "due", "amount": ["minor": 988, "currency": "EUR", "decimal": "9.88"],
        "priceListVersion": 3, "isFeasible": true,
        "attempt": ["method": "bank-transfer", "state": "open", "startedAt": "2026-01-10T08:00:00.000Z"],
        "step": ["accountHolder": "TrackMe", "iban": "IT60X0542811101000000123456", "transferReference": "TM-01H2XCEJQTF2"],
        "history": [["at": "2026-01-10T08:00:00.000Z", "method": "bank-transfer", "state": "open"]],
        "methods": ["card", "bank-transfer"], "preset": "bank-transfer", "createdAt": "2026-01-10T00:31:00.000Z",
        "changedAt": "2026-01-10T08:00:00.000Z",
    ]

    static let invoice: JSONValue = [
        "invoice": "2026-000041", "kind": "invoice", "payment": payment, "request": request, "issuedAt": "2026-01-10T08:00:01.000Z",
        "seller": ["name": "TrackMe", "address": "Via Golgi 42, 20133 Milano", "vatNumber": "IT12345678903"],
        "buyer": [
            "name": "Istituto Ricerche Mediche S.p.A.", "vatNumber": "IT00743110157", "address": address, "email": "office@example.org",
            "language": "en",
        ],
        "lines": [["what": "request", "price": 500], ["what": "heart-rate", "perDay": 10, "days": 31, "price": 310]],
        "rebatePercent": 0, "net": 810, "tax": 178, "total": ["minor": 988, "currency": "EUR", "decimal": "9.88"], "method": "card",
    ]

    /// Of Stripe's, as much as is looked at.
    static let stripeEvent: JSONValue = [
        "type": "payment_intent.succeeded", "data": ["object": ["id": "pi_3MtwBwLkdIwHu7ix28a3tqPa", "status": "succeeded"]],
    ]

    /// Of PayPal's, as much as is looked at.
    static let payPalEvent: JSONValue = ["event_type": "CHECKOUT.ORDER.APPROVED", "resource": ["id": "5O190127TN364715T"]]

    // MARK: Webhooks

    static let listedEndpoint: JSONValue = [
        "id": "end_01h2xcejqtf2nbrexx3vqjhp41", "url": "https://example.org/trackme", "description": "production", "state": "active",
        "createdAt": "2026-01-10T08:00:00.000Z",
        "health": [
            "lastSuccessAt": "2026-01-10T08:41:00.000Z", "failuresInARow": 0, "lastOutcome": "status 204", "waiting": 0, "deadLetters": 0,
        ],
    ]

    static let endpointSecret: JSONValue = ["secret": "whsec_c2hvd24gdGhpcyBvbmNl"]

    static let deadLetter: JSONValue = [
        "id": "msg_01h2xcejqtf2nbrexx3vqjhp41", "type": "subscription.items", "createdAt": "2026-01-10T08:00:00.000Z", "attempts": 341,
        "firstAttemptAt": "2026-01-10T08:00:00.000Z", "lastAttemptAt": "2026-01-13T08:00:00.000Z", "lastOutcome": "status 500",
        "parts": [["subscription": request, "after": 41, "through": 43]],
    ]

    static let webhookBatch: JSONValue = [
        "subscription": request, "grant": grant, "after": 41, "through": 43, "head": 43, "epoch": epoch, "noNewDataSince": nil,
        "items": [
            ["number": 42, "type": "heart-rate", "at": "2026-01-10T08:40:00.000Z", "value": 72],
            ["number": 43, "type": "heart-rate", "at": "2026-01-10T08:39:00.000Z", "value": 71, "replaces": 41],
        ],
    ]

    static let emptyWebhookBatch: JSONValue = [
        "subscription": request, "grant": grant, "after": 43, "through": 43, "head": 43, "epoch": epoch,
        "noNewDataSince": "2026-01-10T08:40:00.000Z",
        "items": [],
    ]

    static func webhookNotice(_ type: String, reason: String, _ explanation: String, isWhole: Bool) -> JSONValue {
        [
            "type": .string(type), "subscription": request, "grant": grant, "reason": .string(reason),
            "explanation": .string(explanation), "types": ["heart-rate"], "isWhole": .bool(isWhole), "head": 43,
        ]
    }

    static func webhookWindow(_ status: String) -> JSONValue {
        [
            "groupRequest": "grp_01h2xcejqtf2nbrexx3vqjhp41", "window": 7, "status": .string(status), "from": "2026-01-10T07:00:00.000Z",
            "to": "2026-01-10T08:00:00.000Z",
        ]
    }

    static let webhookKeys: JSONValue = [
        "keys": [
            [
                "webhook": "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
                "jwk": ["kty": "OKP", "crv": "Ed25519", "use": "sig", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
            ]
        ]
    ]
}
