// What may be configured, and what stops the start.

import ServiceKit
import Testing

@testable import Notifier

private func faults(_ environment: [String: String]) -> [String] {
    var reader = SettingsReader(environment: environment)
    _ = NotifierAssembly.settings(&reader)
    do {
        try reader.finish(prefixes: NotifierAssembly.prefixes)
        return []
    } catch {
        return error.faults
    }
}

@Suite("Settings of the notifier")
struct SettingsTests {
    @Test("with nothing configured it starts: messages wait")
    func nothing() {
        var reader = SettingsReader(environment: [:])
        let settings = NotifierAssembly.settings(&reader)
        #expect(settings.smtp == nil && settings.kannels.isEmpty && settings.gateway == nil)
        #expect(faults([:]).isEmpty)
    }

    @Test("two Kannels and the gateway are preferred in the order that is said")
    func order() {
        var reader = SettingsReader(environment: [
            "TRACKME_NOTIFY_KANNEL_URL": "http://one:13013/cgi-bin/sendsms", "TRACKME_NOTIFY_KANNEL_PASSWORD": "/one",
            "TRACKME_NOTIFY_KANNEL2_URL": "http://two:13013/cgi-bin/sendsms", "TRACKME_NOTIFY_KANNEL2_PASSWORD": "/two",
            "TRACKME_NOTIFY_SMS_ORDER": "gateway, kannel2",
        ])
        let settings = NotifierAssembly.settings(&reader)
        #expect(settings.smsOrder == ["gateway", "kannel2"])
        #expect(settings.kannels.map(\.name) == ["kannel", "kannel2"])
    }

    @Test(
        "what cannot be meant stops the start, naming the variable",
        arguments: [
            (["TRACKME_NOTIFY_SMTP_URL": "mail.example"], "TRACKME_NOTIFY_SMTP_URL"),
            (["TRACKME_NOTIFY_SMTP_URL": "smtp://user@mail.example"], "TRACKME_NOTIFY_SMTP_URL"),
            (["TRACKME_NOTIFY_SMTP_USER": "a"], "TRACKME_NOTIFY_SMTP_USER"),
            (
                ["TRACKME_NOTIFY_SMTP_USER": "a", "TRACKME_NOTIFY_SMTP_PASSWORD": "/p", "TRACKME_NOTIFY_SMTP_TLS": "false"],
                "TRACKME_NOTIFY_SMTP_TLS"
            ),
            (["TRACKME_NOTIFY_FROM": "nobody"], "TRACKME_NOTIFY_FROM"),
            (["TRACKME_NOTIFY_SMS_ORDER": "kannel,pigeon"], "TRACKME_NOTIFY_SMS_ORDER"),
            (["TRACKME_NOTIFY_SMS_ORDER": "kannel,kannel"], "TRACKME_NOTIFY_SMS_ORDER"),
            (["TRACKME_NOTIFY_KANNEL_URL": "http://a/"], "TRACKME_NOTIFY_KANNEL_PASSWORD"),
            (["TRACKME_NOTIFY_RETRY_S": "60", "TRACKME_NOTIFY_RETRY_MOST_S": "1"], "TRACKME_NOTIFY_RETRY_MOST_S"),
            (["TRACKME_NOTIFY_SMPT_URL": "smtp://a"], "TRACKME_NOTIFY_SMPT_URL"),
        ] as [([String: String], String)])
    func refused(environment: [String: String], variable: String) {
        #expect(faults(environment).contains { $0.hasPrefix(variable) })
    }
}
