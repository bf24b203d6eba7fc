// The routes of pairing: a device offers itself, a person confirms the number that it shows.

import Contracts
import HTTPKit
import ServiceKit

struct PairingRoutes: Sendable {
    let pairings: Pairings
    /// Per address: how often devices may offer themselves.
    let offers: RateLimiter<String>
    /// Per address and per person: how often wrong numbers may be typed.
    let tries: RateLimiter<String>
    /// Of everybody: expected guesses stay few however many addresses somebody has.
    let allTries: RateLimiter<Int>
    let polls: RateLimiter<PairingID>
    /// Per person: how often the phone may search for offers.
    let searches: RateLimiter<PersonID>

    static let triesPerMinute = 100.0
    static let pollsPerSecond = 2.0

    init(pairings: Pairings, settings: IngestSettings) {
        self.pairings = pairings
        func hourly(_ most: Int) -> RateLimiter<String> { RateLimiter(rate: Double(most) / 3600, burst: Double(most)) }
        (offers, tries) = (hourly(settings.pairingOffersPerHour), hourly(settings.pairingTriesPerHour))
        allTries = RateLimiter(rate: Self.triesPerMinute / 60, burst: Self.triesPerMinute)
        polls = RateLimiter(rate: Self.pollsPerSecond, burst: Self.pollsPerSecond * 5)
        searches = RateLimiter(rate: Self.pollsPerSecond, burst: Self.pollsPerSecond * 5)
    }

    var all: [Route] { [offer, poll, withdraw, nearby, confirm, leave] }

    private static let pairing = Parameter.path("pairing", .identifier(Pairing.self), "The offer.")

    // MARK: Devices

    private var offer: Route {
        Route(
            .post, "/ingest/v1/pairings", access: .anyone, summary: "Offers a device to be paired",
            description: """
                The device shows the number on its display and makes the offer's id known nearby, by Bluetooth or as a code to scan. \
                The offer lasts \(PairingOffer.life.components.seconds) seconds and bears \(PairingOffer.wrongNumbers) wrong numbers.
                """,
            body: .json(OfferedDevice.self, limit: 1 << 14, inflatedLimit: 1 << 14),
            answers: [.json(201, "The offer", PairingOffered.self)], isRateLimited: true
        ) { exchange in
            try offers.admit(exchange.remoteAddress)
            let device = try await exchange.json(OfferedDevice.self)
            try Devices.requireOneLine(device.model, at: "/model")
            return try await IngestDoor.answering {
                try .json(try await pairings.offer(device, at: exchange.receivedAt), status: 201)
            }
        }
    }

    private var poll: Route {
        Route(
            .post, "/ingest/v1/pairings/{pairing}/poll", as: "pollPairing", access: .anyone, summary: "How the device's own offer stands",
            description: """
                To be asked each second or two. After a wrong number the device shows the new one; once confirmed it gets its token. \
                What is not there or already used is 404.
                """,
            parameters: [Self.pairing], body: .json(PairingPoll.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [
                .json(200, "State and number, or the token", PairingProgress.self),
                .problem(422, Problem.wrongSignature.name),
            ], isRateLimited: true
        ) { exchange in
            let pairing = try exchange.identifier("pairing", of: Pairing.self)
            try polls.admit(pairing)
            let poll = try await exchange.json(PairingPoll.self)
            return try await IngestDoor.answering { try .json(try await pairings.poll(pairing, poll, at: exchange.receivedAt)) }
        }
    }

    private var withdraw: Route {
        Route(
            .post, "/ingest/v1/pairings/{pairing}/withdrawal", as: "withdrawPairing", access: .anyone,
            summary: "The device offers itself no more",
            parameters: [Self.pairing], body: .json(PairingPoll.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [Answer(204, "The offer is over")], isRateLimited: true
        ) { exchange in
            let pairing = try exchange.identifier("pairing", of: Pairing.self)
            try polls.admit(pairing)
            let poll = try await exchange.json(PairingPoll.self)
            return try await IngestDoor.answering {
                try await pairings.withdraw(pairing, poll, at: exchange.receivedAt)
                return .empty()
            }
        }
    }

    // MARK: People

    private var nearby: Route {
        Route(
            .get, "/ingest/v1/pairings", access: .person, summary: "Devices nearby that offer themselves",
            description: "Of the ids that the phone has heard or scanned, those that wait to be paired. None: search again.",
            parameters: [
                .query("pairing", .identifier(Pairing.self), required: true, "May be repeated, up to \(Pairings.mostNearby) times.")
            ],
            answers: [.json(200, "Offers that wait", Page<PairingItem>.self)], isRateLimited: true
        ) { exchange in
            try searches.admit(exchange.person)
            let named = try exchange.queryValues("pairing")
            let ids = named.compactMap { PairingID($0) }
            guard ids.count == named.count, (1...Pairings.mostNearby).contains(ids.count) else {
                throw OwnDataDoor.invalid("pairing", .notAnIdentifier(prefix: Pairing.prefix))
            }
            return try await IngestDoor.answering {
                try .json(Page(items: try await pairings.nearby(ids, at: exchange.receivedAt), next: nil))
            }
        }
    }

    private var confirm: Route {
        Route(
            .post, "/ingest/v1/pairings/{pairing}/confirmation", as: "confirmPairing", access: .personAnew,
            summary: "Pairs the device whose number was typed",
            description: """
                A wrong number makes the device show a new one; after \(PairingOffer.wrongNumbers) the offer is over. What the device \
                measures is tracked from it at once, unless another device delivers it: that stays until the person says otherwise.
                """,
            parameters: [Self.pairing], body: .json(PairingConfirmation.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [
                .json(200, "The device is the person's", PairingSuccess.self),
                .problem(409, Problem.tooManyDevices.name), .problem(410, Problem.pairingOver.name),
                .problem(422, Problem.wrongNumber.name, Problem.noSuchDevice.name),
            ], isRateLimited: true
        ) { exchange in
            let person = try exchange.person
            let pairing = try exchange.identifier("pairing", of: Pairing.self)
            let typed = try await exchange.json(PairingConfirmation.self)
            try Devices.requireOneLine(typed.name, at: "/name")
            let triers = ["person \(person)", "address \(exchange.remoteAddress)"]
            for trier in triers { try tries.admit(trier) }
            try allTries.admit(0)
            return try await IngestDoor.answering {
                let outcome = try await pairings.confirm(
                    pairing, typed, by: person, at: exchange.receivedAt, trace: String(exchange.requestID.prefix(32)))
                if case .paired = outcome {
                    // Only guesses count.
                    for trier in triers { tries.giveBack(trier) }
                    allTries.giveBack(0)
                }
                return try Self.answer(outcome)
            }
        }
    }

    private static func answer(_ outcome: PairingOutcome) throws -> HTTPAnswer {
        switch outcome {
        case .paired(let success): return try .json(success)
        case .wrong(let left):
            throw Problem.wrongNumber.saying(
                "The device now shows a new number; type that one. \(left == 1 ? "One try is" : "\(left) tries are") left. Nothing was changed.",
                italian: """
                    Il dispositivo mostra ora un nuovo numero: scriva quello. \(left == 1 ? "Resta un tentativo" : "Restano \(left) tentativi"). \
                    Nulla è stato cambiato.
                    """,
                errors: [.init(pointer: "/number", .otherNumber)])
        case .over(let state):
            let why =
                switch state {
                case .refused: "Too many wrong numbers were typed."
                case .expired: "The number was shown for too long."
                case .cancelled: "Pairing was left."
                case .confirmed: "The device is paired already."
                case .waiting: "The offer is over."
                }
            throw Problem.pairingOver.saying("\(why) Nothing was changed; start pairing on the device again.")
        }
    }

    private var leave: Route {
        Route(
            .delete, "/ingest/v1/pairings/{pairing}", access: .person, summary: "Leaves pairing",
            description: "The device offers itself no more. A device that was to be replaced stays as it is.",
            parameters: [Self.pairing], answers: [Answer(204, "Nothing was paired")]
        ) { exchange in
            _ = try exchange.person
            let pairing = try exchange.identifier("pairing", of: Pairing.self)
            return try await IngestDoor.answering {
                try await pairings.leave(pairing, at: exchange.receivedAt)
                return .empty()
            }
        }
    }
}
