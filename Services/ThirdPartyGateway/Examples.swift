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
        "invoice": "2026-000041", "createdAt": "2026-01-10T00:31:00.000Z", "changedAt": "2026-01-10T08:00:01.000Z",
    ]

    static let dataPage: JSONValue = [
        "items": [
            ["type": "heart-rate", "at": "2026-01-01T00:00:00.000Z", "value": 67, "unit": "/min"],
            ["type": "heart-rate", "at": "2026-01-01T00:01:00.000Z", "value": 66.5, "unit": "/min"],
        ],
        "next": "1767225660000", "reminder": .string(ResponsibilityNotice.text),
    ]

    static let feedPage: JSONValue = [
        "items": [
            ["number": 1, "type": "heart-rate", "at": "2026-01-10T08:00:00.000Z", "value": 67],
            ["number": 2, "type": "heart-rate", "at": "2026-01-10T08:01:00.000Z", "value": 68],
            ["number": 3, "type": "heart-rate", "at": "2026-01-10T08:00:00.000Z", "value": 67.5, "replaces": 1],
        ],
        "next": "3", "head": 41,
    ]

    static let subscription: JSONValue = [
        "id": request, "grant": grant, "state": "running", "types": ["heart-rate"], "from": "2026-01-01T00:00:00.000Z",
        "to": "2026-04-01T00:00:00.000Z", "granularity": "minutes", "head": 41, "oldest": 1, "newestAt": "2026-01-10T08:41:00.000Z",
        "begunAt": "2026-01-10T08:00:01.000Z",
    ]

    static let endpoint: JSONValue = [
        "id": "end_01h2xcejqtf2nbrexx3vqjhp41", "url": "https://example.org/trackme", "description": "production", "state": "unverified",
        "createdAt": "2026-01-10T08:00:00.000Z", "health": ["failuresInARow": 0, "waiting": 0, "deadLetters": 0],
        "secret": "whsec_c2hvd24gdGhpcyBvbmNl",
    ]
}
