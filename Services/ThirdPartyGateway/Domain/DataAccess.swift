// Whether an organisation may have what it asks for of an accepted request, before anybody is asked for it (SHR-11, INV-04, INV-20).

import Contracts

/// One stretch of one type of data that may leave.
struct DataAccess: Hashable, Sendable {
    let request: RequestID
    let grant: GrantID
    let type: Metric
    let from: Timestamp
    /// Not included.
    let to: Timestamp

    /// Why not; told apart, since each asks for something else (ORG-20).
    enum Refusal: Error, Hashable, Sendable {
        /// The person has not answered.
        case notAnswered
        /// Declined, expired, revoked or ended.
        case over(RequestStatus)
        case paymentOutstanding
        /// It was paid, and that went back or is contested.
        case held(PaymentHold)
        /// Never asked for, or withdrawn.
        case otherType
        case outsidePeriod
        /// Its end is too late, or not behind its beginning.
        case endOutsidePeriod
    }

    /// - Parameters:
    ///   - from: the period's beginning unless told.
    ///   - to: the period's end unless told.
    init(
        _ request: MadeRequest, isPaid: Bool, type: Metric, from: Timestamp?, to: Timestamp?
    ) throws(Refusal) {
        grant = try Self.grant(of: request, isPaid: isPaid)
        guard request.types.contains(type) else { throw .otherType }
        let (from, to) = (from ?? request.from, to ?? request.to)
        guard request.from <= from, from < request.to else { throw .outsidePeriod }
        guard from < to, to <= request.to else { throw .endOutsidePeriod }
        (self.request, self.type, self.from, self.to) = (request.id, type, from, to)
    }

    /// The grant by which something of the request may leave now.
    static func grant(of request: MadeRequest, isPaid: Bool) throws(Refusal) -> GrantID {
        switch request.status {
        case .pending: throw .notAnswered
        case .declined, .expired, .revoked, .ended: throw .over(request.status)
        case .approved: break
        }
        guard let grant = request.grantInForce else { throw .notAnswered }
        guard isPaid else { throw request.hold.map { .held($0) } ?? .paymentOutstanding }
        return grant
    }

    /// Whether nothing more can come after its last page: the period is over.
    func isWhole(_ request: MadeRequest, at now: Timestamp) -> Bool {
        from == request.from && to == request.to && now >= request.to
    }
}

extension DataAccess.Refusal {
    /// Where what is refused was said: parameters of a page unless told.
    struct Pointers: Sendable {
        var type = "query:type"
        var from = "query:from"
        var to = "query:to"
    }

    var problem: Problem { problem(Pointers()) }

    func problem(_ pointers: Pointers) -> Problem {
        switch self {
        case .notAnswered:
            Problem.notEntitled.saying(
                "The person has not answered. You are told when that happens; watch the request.",
                italian: "La persona non ha risposto. Sarà avvisato quando lo farà; segua la richiesta.")
        case .over(let status):
            Problem.notEntitled.saying(
                "The request is \(status.rawValue). Ask again, or somebody else.",
                italian: "La richiesta è nello stato \(status.rawValue). Chieda di nuovo, o ad altri.")
        case .paymentOutstanding:
            Problem.paymentOutstanding.saying(
                "Payment outstanding. Pay the amount due: GET /thirdparty/v1/payments shows it and how.",
                italian: "Il pagamento manca. Paghi l'importo dovuto: GET /thirdparty/v1/payments mostra quale e come.")
        case .held(.givenBack):
            Problem.notEntitled.saying(
                "What was paid went back, so that nothing is owed and nothing leaves. Stop this request to ask anew.",
                italian: "Quanto pagato è stato restituito: nulla è dovuto e nulla esce. Fermi questa richiesta per chiedere di nuovo.")
        case .held(.contested):
            Problem.paymentOutstanding.saying(
                "Payment outstanding: the payer's bank contests what was paid. Nothing leaves until it has decided; have the dispute "
                    + "withdrawn there.")
        case .otherType:
            Problem.notEntitled.saying(
                "The request does not allow this data type, or not any more.",
                italian: "La richiesta non permette questo tipo di dati, o non più.",
                errors: [.init(pointer: pointers.type, .notShared)])
        case .outsidePeriod:
            Problem.notEntitled.saying(
                "The request does not reach over the whole period. Ask within its `from` and `to`.",
                italian: "La richiesta non copre tutto il periodo. Chieda tra il suo `from` e il suo `to`.",
                errors: [.init(pointer: pointers.from, .outsidePeriod)])
        case .endOutsidePeriod:
            Problem.notEntitled.saying(
                "The request does not reach over the whole period. Ask within its `from` and `to`.",
                italian: "La richiesta non copre tutto il periodo. Chieda tra il suo `from` e il suo `to`.",
                errors: [.init(pointer: pointers.to, .outsidePeriodOrReversed)])
        }
    }
}
