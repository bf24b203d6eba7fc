// The parts by which people look after their own supervision, joined.

import HTTPKit
import ServiceKit

struct SubscriberModule: Sendable {
    let subscriptions: SubscriptionService
    let thresholds: ThresholdService
    let contacts: ContactService
    let routes: [Route]

    init(
        _ settings: Settings, supervision: SupervisionService, store: SOSStore, history: EmergencyHistory, enrolment: Enrolment,
        messages: MessageOutbox, ingest: IngestClient
    ) {
        let changes = ProtectionChanges(supervision: supervision, messages: messages)
        subscriptions = SubscriptionService(
            supervision: supervision, store: store, enrolment: enrolment, changes: changes, reminder: settings.pauseReminder)
        thresholds = ThresholdService(
            supervision: supervision, changes: changes, preview: ThresholdPreview(ingest: ingest, rules: settings.rules))
        contacts = ContactService(supervision: supervision, changes: changes)
        routes =
            SubscriptionRoutes(service: subscriptions).all + ThresholdRoutes(service: thresholds).all
            + ContactRoutes(service: contacts, country: settings.country).all + EmergencyRoutes(history: history).all
    }
}
