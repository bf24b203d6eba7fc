// What a group request is answered, and when: nothing of a refusal may tell anything of people (ANO-08).

import Contracts

/// Where a group request stands.
enum GroupRequestStatus: String, Codable, CaseIterable, Hashable, Sendable {
    /// Kept, and not judged yet.
    case sending
    /// Its data are released, or a subscription to them is open.
    case accepted
    /// The group cannot be anonymised.
    case refused
    /// Something is wrong with the form, which was not judged.
    case invalid
}

/// Refusals leave on the next step after the request came, whatever was looked at meanwhile.
enum RefusalStep {
    static let length = Duration.milliseconds(50)

    /// How long to wait yet: never nothing but on a step, and never longer than one.
    static func wait(since arrival: Timestamp, at now: Timestamp) -> Duration {
        let (elapsed, step) = (max(.zero, now - arrival).wholeMilliseconds, length.wholeMilliseconds)
        let rest = elapsed % step
        return rest == 0 && elapsed > 0 ? .zero : .milliseconds(step - rest)
    }
}

extension GroupFormFault {
    /// For whoever filled in the form; a code that is not known here is told without its numbers.
    var fieldError: Problem.FieldError { .init(pointer: pointer, fault) }

    private var fault: FieldFault {
        switch (code, numbers.count) {
        case ("nothing-chosen", _): .nothingChosen
        case ("named-twice", _): .namedTwice
        case ("unknown", _): .notInCatalogue
        case ("too-many", 1...) where numbers[0] >= 1: .wrongCount(1...numbers[0])
        case ("reversed", _): .reversedInterval
        case ("outside", 2...) where numbers[0] <= numbers[1]: .outOfRange(numbers[0]...numbers[1])
        case ("not-a-multiple", 3...): .notAMultiple(of: numbers[0], numbers[1], numbers[2])
        case ("not-after", _): .notAfter("from")
        case ("outside-period", _): .outsidePeriod
        case ("nothing-closed", _): .nothingClosed
        case ("too-long", 1...): .periodTooLong(days: numbers[0], from: "from")
        case ("at-least", 1...): .atLeast(numbers[0])
        case ("at-most", 1...): .atMost(numbers[0])
        case ("not-offered", _): .notOffered
        case ("closed-days-only", _): .closedDaysOnly
        default: .wrongFormat
        }
    }
}
