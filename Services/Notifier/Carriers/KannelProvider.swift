// SMS by Kannel's `sendsms` interface.

import Contracts
import Outbound

/// Posts the text, with the credentials in headers and not in the address, where logs would show them. Kannel reports back at
/// `dlr-url`, which holds a secret of this attempt's own.
struct KannelProvider: TextProvider {
    let name: String
    /// Up to and with `/cgi-bin/sendsms`.
    let url: String
    let userName: String
    let password: String
    /// What the recipient sees as the sender.
    let from: String
    let receipts: ReceiptAddresses
    let http: HTTPSender

    /// Delivered, undeliverable, buffered, taken by and refused by the network.
    private static let allReports = "31"

    /// Kannel's numbers for the alphabet of GSM 03.38, and for UCS-2, which it makes of UTF-8 itself.
    private static func coding(of text: String) -> String { ShortText.septets(text) == nil ? "2" : "0" }

    func send(_ letter: Letter, as channel: Channel) async -> Delivery.Outcome {
        var request = OutboundRequest.post(url, Array(letter.text.short.utf8), contentType: "text/plain; charset=UTF-8")
        request.headers += [
            ("X-Kannel-Username", userName), ("X-Kannel-Password", password), ("X-Kannel-From", from), ("X-Kannel-To", letter.address),
            ("X-Kannel-Coding", KannelProvider.coding(of: letter.text.short)), ("X-Kannel-DLR-Mask", KannelProvider.allReports),
            ("X-Kannel-DLR-Url", receipts.kannel(letter.message, attempt: letter.attempt)),
        ]
        return await http.attempt(request).outcome(taken: .taken(receipts: true)) { _ in "number-refused" }
    }
}

extension Delivery.Receipt {
    /// Kannel's `%d`.
    init?(kannelStatus: String) {
        switch kannelStatus {
        case "1": self = .delivered
        case "2": self = .failed
        case "4", "8": self = .accepted
        case "16": self = .rejected
        default: return nil
        }
    }
}
