// What is longer or named otherwise than the house likes, and why. An exception that is no longer needed must go: a test asks for it.

enum Exceptions {
    /// Files of more than `Limits.linesOfFile` lines.
    static let longFiles: [String: String] = [
        "Services/SOSDispatcher/Supervision/SupervisionService.swift":
            "one actor, whose state is not reached from elsewhere: what it does is read in one place"
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
        "Services/Operator/Desk/DeskLedger.swift": "the desk's own file",
        "Services/Operator/Audit/AuditProof.swift": "the dispatcher's own rows",
        "Services/Operator/Commands/PricesCommand.swift": "the operator's own file",
        "Services/Operator/Client/LaneSender.swift": "the operator's own server",
        "Shared/Storage/Connection/StoreLife.swift": "the store's own file",
        "Shared/ServiceKit/Erasure/ErasureJobs.swift": "the store's own rows",
        "Shared/ServiceKit/Jobs/JobQueue.swift": "sealed by this service",
        "Shared/ServiceKit/Streams/FirstAnswers.swift": "sealed by this service",
        "Shared/ServiceKit/Keys/KeyFiles.swift": "the operator's own file",
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
