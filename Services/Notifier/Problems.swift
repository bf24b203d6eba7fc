// Everything that the notifier can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

extension Problem {
    static let tooManyEndpoints = Problem(
        "too-many-endpoints", status: 409, title: "There are as many push endpoints as there may be",
        detail: "Remove one that is no longer used, then register the new one.")

    static let unusableEndpoint = Problem(
        "unusable-endpoint", status: 422, title: "The address cannot take push messages",
        detail: "Give the https address that your push app shows, for example https://ntfy.sh/my-topic.",
        errors: [.init(pointer: "/address", detail: "must be an https address without a user name")])

    static let unknownReceipt = Problem(
        "unknown-receipt", status: 422, title: "The receipt cannot be understood",
        detail: "Send {\"message\",\"channel\",\"receipt\"} with a receipt of accepted, delivered, failed or rejected.")
}
