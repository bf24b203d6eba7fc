// What an operator can set about sharing; names and bounds as in the requirements, section 5.

import ServiceKit

struct SharingSettings: Sendable {
    /// How long a person has to answer a request (SHR-07).
    let answerTime: Duration
    /// How long after its acceptance, or its end, a request may still be delivered (SHR-10, SHR-15).
    let deliveryTime: Duration
    /// How long an organisation waits after a refusal before it asks the same again (CON-22).
    let retryWait: Duration
    /// Fiscal codes of nobody that one organisation may ask for on one day (CON-15).
    let unknownPerDay: Int
    /// How long counts of accesses by the hour are kept (SHR-24).
    let accessTime: Duration

    init(_ reader: inout SettingsReader) {
        answerTime = reader.read(
            .hours("shr.answer_hours", default: 24, in: 1...168, "After this a request counts as refused."))
        deliveryTime = reader.read(
            .hours("shr.deliver_hours", default: 24, in: 0...24, "So long after its period a subscription ends by itself."))
        retryWait = reader.read(
            .hours("shr.retry_wait_h", default: 0, in: 0...720, "How long the same may not be asked again after a refusal."))
        unknownPerDay = reader.read(
            .integer(
                "shr.unknown_per_day", default: 20, in: 1...1_000_000, "Unknown fiscal codes that an organisation may ask for on one day."))
        let days = reader.read(
            .integer(
                "shr.access_days", default: 730, in: 1...3650,
                "How many days people can see who read which of their data; by the hour after the first."))
        accessTime = .seconds(days * 86_400)
    }
}
