// Builds the notifier in dependency order; `main` and tests use the same one.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

enum NotifierAssembly: Assembly {
    static let peer = Peer.notifier
    static let purpose = "Brings mail, SMS, calls, push messages and the inbox to people, and says what became of them."
    static let prefixes: Set<String> = ["notify"]
    static let httpPort = 8104

    static func settings(_ reader: inout SettingsReader) -> Settings {
        Settings(&reader)
    }

    static func build(_ settings: Settings, on runtime: Runtime) async throws -> [any Service] {
        try await NotifierModule(settings, on: runtime).services
    }
}

/// The service by its modules, so that tests can talk to them.
struct NotifierModule: Sendable {
    let store: MessageRepository
    let people: PersonRepository
    let removals: EndpointRemovalStore
    let opened: OpenedStore
    let checker: TokenChecker
    let accounts: Follower
    let server: HTTPServer
    let services: [any Service]

    init(_ settings: Settings, on runtime: Runtime, clock: DeadlineClock = DeadlineClock()) async throws {
        let opened = try await OpenedStore(on: runtime, applicationID: Migrations.applicationID, migrations: Migrations.all)
        let stream = StreamFamily.deliveries.streams[0]
        let facts = FactStream(stream: stream, epoch: opened.epoch, relay: try await opened.relay(of: .deliveries))
        let envelopes = try Envelopes(keys: opened.keys, runtime: runtime)
        let store = MessageRepository(opened.store, envelopes: envelopes, facts: facts, clock: clock)
        let people = PersonRepository(opened.store, envelopes: envelopes)
        let checker = try TokenChecker(store: opened.store, issuer: runtime.settings.publicOrigin)
        let metrics = NotifierMetrics()
        let secrets = try NotifierSecrets(settings, runtime)

        let receiptOrigin = settings.receiptOrigin?.absoluteString ?? "http://127.0.0.1:\(runtime.settings.httpPort)"
        let addresses = ReceiptAddresses(origin: NotifierModule.withoutSlash(receiptOrigin), key: try runtime.key("receipts"))
        let carriers = Carriers(settings, secrets, addresses, runtime)
        let workers = carriers.byChannel.map { channel, carrier in
            (
                channel,
                DeliveryWorker(
                    channel, carrier, store: store, people: people,
                    terms: .init(
                        pace: settings.pace, parallel: settings.parallel, perHour: settings.perHour,
                        origin: runtime.settings.publicOrigin),
                    metrics: metrics, logger: runtime.logger)
            )
        }
        let byChannel = Dictionary(uniqueKeysWithValues: workers)
        let wake: @Sendable (Channel) -> Void = { byChannel[$0]?.wake() }
        let configured = Set(carriers.byChannel.filter { !$0.1.providers.isEmpty }.map(\.0))
        for channel in [Channel.mail, .sms, .call] where !configured.contains(channel) {
            runtime.logger.warning("no provider is configured: messages wait", metadata: ["channel": "\(channel.rawValue)"])
        }
        let upkeep = Upkeep(
            store: store, pace: settings.pace, keep: settings.keep, keepInbox: settings.keepInbox, configured: configured,
            metrics: metrics, logger: runtime.logger)
        try await upkeep.recover()

        // Event streams that one person may have open.
        let inboxes = Watchers<PersonID>(limit: 10)
        var methods = Methods(memory: opened.answers)
        StreamSource(families: [.deliveries], store: opened.store, render: { try facts.render($1) }).register(in: &methods)
        let service = MessageService(
            store: store, people: people, tokens: checker, answers: opened.answers, inboxes: inboxes, metrics: metrics, wake: wake)
        let removals = EndpointRemovalStore(people: people, messages: store) { service.stored($0) }
        BusRoutes(service: service).register(in: &methods)
        try await runtime.answer(methods)

        let receipts = ReceiptService(
            store: store, pace: settings.pace, orders: carriers.byChannel.reduce(into: [:]) { $0[$1.0] = $1.1.providers },
            metrics: metrics, wake: wake)
        let gateway = SignedGateway(secret: secrets.gateway)
        let routes =
            InboxRoutes(people: people, service: service, removals: removals, inboxes: inboxes, configured: configured).all
            + ReceiptRoutes(service: receipts, addresses: addresses, signed: gateway).all
            + InboundRoutes(service: InboundService(runtime), token: secrets.inbound, signed: gateway).all
        let erasures = try await ErasureFollower(
            on: runtime, store: opened.store, keys: opened.keys, steps: NotifierErasure(store: store).steps)
        let accounts = Follower.accounts(on: runtime, store: opened.store, tokens: checker, erasures: erasures) { db, event in
            try removals.apply(db, event, at: .now)
        }
        let server = NotifierModule.server(routes, opened.store, checker, upkeep, runtime)
        services =
            opened.parts(publishing: [.deliveries]) + [Background(upkeep.run)] + workers.map(\.1)
            + [Background(accounts.run), Background(erasures.run), server]
        (self.store, self.people, self.opened, self.checker) = (store, people, opened, checker)
        (self.accounts, self.server, self.removals) = (accounts, server, removals)
    }

    private static func withoutSlash(_ text: String) -> String {
        text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func server(
        _ routes: [Route], _ store: Store, _ checker: TokenChecker, _ upkeep: Upkeep, _ runtime: Runtime
    ) -> HTTPServer {
        runtime.server(
            .init(
                title: "TrackMe messages", version: "1.0.0", summary: "The inbox, how messages come, and receipts of providers.",
                prefix: "notify"),
            routes: routes, store: store, tokens: checker, remarks: { upkeep.complaints },
            authenticate: { credentials, access in try checker.caller(for: credentials, access: access) })
    }
}

/// The carrier of each channel, as the settings have it.
struct Carriers: Sendable {
    /// Transfers at once to one kind of provider; workers bound attempts, this bounds sockets.
    private static let transfers = 256

    let byChannel: [(Channel, any Carrier)]

    init(_ settings: Settings, _ secrets: NotifierSecrets, _ addresses: ReceiptAddresses, _ runtime: Runtime) {
        // The operator names these addresses; they may well be on this machine or network.
        var trusted = OutboundSettings()
        (trusted.policy, trusted.parallel) = (.anywhere, Carriers.transfers)
        var strangers = trusted
        strangers.policy = settings.pushAnywhere ? .publicAndPrivate : .publicOnly
        var mail = trusted
        mail.authorities = settings.smtpAuthorities?.path
        let http = HTTPSender(trusted, logger: runtime.logger)

        let mailSender = settings.smtp.map { server in
            var server = server
            server.credentials = secrets.smtp
            return MailSender(server, mail, logger: runtime.logger)
        }
        var providers: [any TextProvider] = settings.kannels.map { kannel in
            KannelProvider(
                name: kannel.name, url: kannel.url.absoluteString, userName: kannel.userName, password: secrets.kannels[kannel.name] ?? "",
                from: settings.smsSender, receipts: addresses, http: http)
        }
        let gateway = settings.gateway.map {
            GatewayProvider(url: $0.absoluteString, secret: secrets.gateway, receipts: addresses, http: http)
        }
        if let gateway { providers.append(gateway) }
        let texts = settings.smsOrder.compactMap { name in providers.first { $0.name == name } }
        let calls: [any TextProvider] = gateway.map { [$0] } ?? []
        var channels: [(Channel, any Carrier)] = [
            (.sms, TextCarrier(channel: .sms, list: texts)), (.call, TextCarrier(channel: .call, list: calls)),
            (.push, PushCarrier(http: HTTPSender(strangers, logger: runtime.logger), origin: runtime.settings.publicOrigin)),
        ]
        if let from = settings.from {
            channels.append(
                (
                    .mail,
                    MailCarrier(
                        sender: mailSender, from: from, fromName: settings.fromName, timeout: settings.mailTimeout, logger: runtime.logger)
                ))
        }
        byChannel = channels
    }
}
