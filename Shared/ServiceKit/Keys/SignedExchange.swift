// Standard Webhooks at our own doors.

package import HTTPKit
package import Sealing

extension Exchange {
    /// As the request's headers say it, empty where they are missing: then nothing verifies it.
    package var webhookSignature: WebhookSignature {
        WebhookSignature(
            id: header(WebhookSignature.idHeader) ?? "", timestamp: header(WebhookSignature.timestampHeader) ?? "",
            signatures: header(WebhookSignature.signatureHeader) ?? "")
    }
}
