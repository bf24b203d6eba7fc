// What an operator can set about the gateway: each subject declares its own.

import ServiceKit

/// Under the prefixes `org` and `pay`.
struct GatewaySettings: Sendable {
    init(_ reader: inout SettingsReader) {}
}
