// What is longer or named otherwise than the house likes, and why. An exception that is no longer needed must go: a test asks for it.

enum Exceptions {
    /// Files of more than `Limits.linesOfFile` lines.
    static let longFiles: [String: String] = [
        "Services/SOSDispatcher/Supervision/SupervisionService.swift":
            "one actor: how it hears, decides and does what it has decided is read in one place"
    ]

    /// Functions of more than `Limits.linesOfFunction` lines, as `path function`.
    static let longFunctions: [String: String] = [
        "Services/SOSDispatcher/Assembly.swift init":
            "every part once, in the order in which they stand on each other: in pieces it would have to be read from several places"
    ]

    /// Files beside stores, tables and vaults that call `JSONDecoder` themselves, and why nothing from outside comes to it unchecked.
    static let decodersOfJSON: [String: String] = [
        "Shared/Contracts/JSON/CheckedJSON.swift": "checks before",
        "Shared/HTTPKit/BodyReading.swift": "the schema check stands before it",
        "Shared/ServiceKit/Streams/GrantProjection.swift": "written by this service",
        "Services/Ingest/Domain/FHIRBundleReader.swift": "the whole text is checked before its parts are decoded",
        "Services/Ingest/Makers/Nightscout.swift": "the whole text is checked before",
        "Services/Consent/Erasure/ErasureService.swift": "sealed by this service",
        "Services/Consent/Accounts/GuardianService.swift": "its own link's",
        "Services/Consent/Sessions/Sessions.swift": "sealed by this service",
        "Services/Ingest/Uploading/Uploads.swift": "sealed by this service",
        "Services/Ingest/Transfers/Transfers.swift": "sealed by this service",
        "Services/Ingest/Activities/Activities.swift": "sealed by this service",
        "Services/ThirdPartyGateway/Requests/RequestService.swift": "an answer of consent's that is remembered",
        "Services/SOSDispatcher/Assembly.swift": "facts of the suite's own peers",
        "Services/SOSDispatcher/Supervision/SupervisionService.swift": "facts of the suite's own peers",
        "Services/SOSDispatcher/Pair/PairFacts.swift": "facts of the other dispatcher",
        "Services/SOSDispatcher/Dispatch/TextSender.swift": "the dispatcher's own message",
        "Services/SOSDispatcher/Dispatch/CAPDocument.swift": "the dispatcher's own message",
        "Services/SOSDispatcher/Domain/DispatchMessage.swift": "the dispatcher's own message",
        "Services/SOSDispatcher/Domain/DispatchMessage+Release.swift": "the dispatcher's own message",
        "Services/SOSDispatcher/Domain/DispatchMessage+Number.swift": "the dispatcher's own message",
        "Services/SOSDispatcher/Domain/AuditChain.swift": "the dispatcher's own rows",
        "Services/Notifier/Messages/Envelopes.swift": "sealed by this service",
        "Services/SOSDispatcher/Domain/AuditAnchor.swift": "the dispatcher's own file",
        "Services/Operator/Suite/SuitePorts.swift": "the operator's own file",
        "Services/Operator/Suite/SuiteRefusals.swift": "the operator's own file",
        "Services/Operator/Desk/DeskLog.swift": "the desk's own file",
        "Services/Operator/Audit/AuditProof.swift": "the dispatcher's own rows",
        "Services/Operator/Commands/PricesCommand.swift": "the operator's own file",
        "Services/Operator/Client/QueueSender.swift": "the operator's own server",
        "Shared/Storage/Connection/StoreLife.swift": "the store's own file",
        "Shared/ServiceKit/Erasure/ErasureJobs.swift": "the store's own rows",
        "Shared/ServiceKit/Jobs/JobQueue.swift": "sealed by this service",
        "Shared/ServiceKit/Streams/FirstAnswers.swift": "sealed by this service",
        "Shared/ServiceKit/Keys/KeyFiles.swift": "the operator's own file",
    ]

    private static let feed = "a stream's next event, which its reader asks for: it returns between the waits"
    private static let rescue = "the way of an emergency call waits for nothing but its own clock"
    private static let pace = "sleeps at a fixed pace beside other work, and has nothing to say of an error"

    /// Files that loop until their task is cancelled without `WorkLoop`, and why.
    static let loops: [String: String] = [
        "Shared/ServiceKit/Waking/WorkLoop.swift": "the loop itself",
        "Shared/ServiceKit/Waking/Watchers.swift": "a wait without a bound, of waits with one",
        "Shared/ServiceKit/Jobs/JobRunner.swift": "its rounds begin tasks of the group that it runs in",
        "Shared/Storage/Connection/StoreLife.swift": "stands below ServiceKit, and does once more when it is cancelled",
        "Shared/Bus/Streams/StreamConsumer.swift": "stands below ServiceKit",
        "Shared/HTTPKit/ServerState.swift": "stands below ServiceKit",
        "Shared/HTTPKit/EventStream.swift": "stands below ServiceKit",
        "Services/ThirdPartyGateway/Requests/RequestFeed.swift": feed,
        "Services/ThirdPartyGateway/Subscriptions/SubscriptionEvents.swift": feed,
        "Services/ThirdPartyGateway/Groups/GroupWindowEvents.swift": feed,
        "Services/ThirdPartyGateway/Subscriptions/SubscriptionService.swift": "one request that waits for a page up to its own end",
        "Services/SOSDispatcher/Prompt/PromptFeed.swift": feed,
        "Services/Notifier/Inbox/InboxFeed.swift": feed,
        "Services/ThirdPartyGateway/Webhooks/WebhookDeliveryWorker.swift": "ends with its endpoint, and is woken as a watcher",
        "Services/ThirdPartyGateway/Webhooks/WebhookDeliveryWorkers.swift": "closes its workers when it is cancelled",
        "Services/SOSDispatcher/Journal.swift": rescue,
        "Services/SOSDispatcher/Dispatch/Dispatcher.swift": rescue,
        "Services/SOSDispatcher/Pair/PairLink.swift": rescue,
        "Services/SOSDispatcher/Contacts/ContactAlarms.swift": "two due times and a disk to wait for; no error ends it",
        "Services/SOSDispatcher/Prompt/PromptService.swift": pace,
        "Services/SOSDispatcher/Watching/Canary.swift": "keeps its period, whatever a flight takes",
        "Services/SOSDispatcher/Audit/AuditAnchors.swift": "gathers for a second after it was woken, not before the first round",
        "Services/Operator/Commands/SimulateCommand.swift": pace,
        "Services/Operator/Client/QueueSender.swift": "ends with its queue",
        "Services/Operator/Sandbox/SandboxWearable.swift": pace,
        "Services/Operator/Sandbox/SandboxHost.swift": "ends with the first request where it is asked to",
        "Services/Operator/Supervision/Supervisor.swift": pace,
    ]

    private static let option = "names an option of the command, which scripts use"

    /// Declarations whose name has a word that `NameTests` replaces, as `path name`, and why.
    static let replacedWords: [String: String] = [
        "Shared/HTTPKit/RemoteAddress.swift isNeighbour": "a host of the same network is a neighbour in the field's words too",
        "Services/Operator/Commands/DemoCommand.swift deskLedger": option, "Services/Operator/Commands/DeskCommand.swift ledger": option,
        "Services/Operator/Commands/SimulateCommand.swift ledger": option,
    ]

    private static let states = "for senders that wait for the fate of one message; the suite's own follow `notify.deliveries`"

    /// Rights to ask that no code of the suite uses, as `Request peer`, and why they stay.
    static let unusedRights: [String: String] = [
        "ReadMessage consent": states, "ReadMessage ingest": states, "ReadMessage sos-dispatcher": states,
        "ReadMessage sos-deputy": states, "ReadMessage thirdparty-gateway": states,
        "ReadRequest thirdparty-gateway": "for one state out of turn; the gateway follows `consent.requests`",
        "ReadSupervision consent": "whether a person is supervised; consent follows `sos.subscriptions`",
        "ReadSupervision trackme": "for operators' programs with the tool's keys",
    ]
}

enum Limits {
    static let linesOfFile = 400
    static let linesOfFunction = 70
}
