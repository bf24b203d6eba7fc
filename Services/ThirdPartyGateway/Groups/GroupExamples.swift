// Answers about groups as they look, for the OpenAPI document.

import HTTPKit

extension Examples {
    static let groupRequest: JSONValue = [
        "id": "grp_01h2xcejqtf2nbrexx3vqjhp41", "status": "accepted", "delivery": "payment-outstanding", "form": TypedGroupForm.example,
        "release": [
            "product": "records", "types": ["heart-rate"], "from": "2026-01-01T00:00:00.000Z", "to": "2026-01-08T00:00:00.000Z",
            "granularity": "hour", "attributes": ["age", "sex"], "individuals": 4150, "tables": 168, "entries": 61_320,
        ],
        "price": ["minor": 13_664, "currency": "EUR", "decimal": "136.64"], "payment": "pay_01h2xcejqtf2nbrexx3vqjhp41",
        "askedBy": "cli_01h2xcejqtf2nbrexx3vqjhp41", "createdAt": "2026-02-01T08:00:00.000Z", "answeredAt": "2026-02-01T08:00:01.000Z",
    ]

    static let groupSubscription: JSONValue = [
        "id": "grp_01h2xcejqtf2nbrexx3vqjhp41", "status": "accepted", "delivery": "ready", "form": TypedGroupForm.example,
        "subscription": [
            "state": "running", "product": "records", "types": ["heart-rate"], "from": "2026-02-01T09:00:00.000Z",
            "to": "2026-03-01T00:00:00.000Z", "granularity": "hour", "attributes": ["age", "sex"],
        ],
        "price": ["minor": 6100, "currency": "EUR", "decimal": "61.00"], "payment": "pay_01h2xcejqtf2nbrexx3vqjhp41",
        "askedBy": "cli_01h2xcejqtf2nbrexx3vqjhp41", "createdAt": "2026-02-01T08:00:00.000Z", "answeredAt": "2026-02-01T08:00:01.000Z",
    ]

    static let groupWindow: JSONValue = [
        "window": 1, "status": "released", "from": "2026-02-01T09:00:00.000Z", "to": "2026-02-01T10:00:00.000Z",
        "toldAt": "2026-02-01T10:10:31.000Z",
    ]

    static let groupEntries: JSONValue = [
        "items": [
            [
                "id": "5f3c1e0a9b7d42c688e1f0a2b3c4d5e6", "type": "heart-rate", "from": "2026-01-01T00:00:00.000Z",
                "to": "2026-01-01T01:00:00.000Z", "classes": ["age": "30-39", "sex": "female"], "values": [61.5], "individuals": 10,
            ]
        ],
        "next": "2000", "reminder": .string(ResponsibilityNotice.text),
    ]

    static let groupCatalogue: JSONValue = [
        "types": [["type": "heart-rate", "unit": "/min", "components": 1], ["type": "position", "unit": "", "components": 0]],
        "granularities": ["hour", "day"], "products": ["records", "statistics"], "attributes": ["age", "sex", "residence"],
        "domains": [
            ["attribute": "age", "least": 0, "most": 120, "step": 1], ["attribute": "weight", "least": 30, "most": 200, "step": 5],
        ],
        "sexes": ["female", "male"], "occupations": ["student", "employed", "unemployed"], "minIndividuals": 1000,
        "closedThrough": "2026-02-01T06:00:00.000Z",
    ]

    static let groupPlaces: JSONValue = ["items": [["code": "IT-25", "name": "Lombardia", "level": "region"]]]
}
