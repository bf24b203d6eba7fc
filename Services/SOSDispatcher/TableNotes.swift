// What a dispatcher's tables hold and for how long.

import ServiceKit
import Storage

extension Migrations {
    /// One for every table of sos-dispatcher.db and sos-deputy.db.
    static let notes = people + emergencies + own

    private static let people = [
        TableNote(
            "subscribers",
            holds: "bounds, state, last 3 places, last 10 values of each metric, card, contacts, preferences; in a compact form, sealed",
            kept: "until unsubscribed and every emergency is over", erasure: .deletedWithAccount),
        TableNote(
            "subscriptions", "pause_reminders", holds: "who is published as subscribed; how many reminders of a pause were sent",
            kept: "until unsubscribed", erasure: .deletedWithAccount),
        TableNote("devices", holds: "declared intervals", kept: "while the device is active", erasure: .deletedWithAccount),
        TableNote("monitoring_pauses", holds: "who has paused monitoring", kept: "while they do", erasure: .deletedWithAccount),
    ]

    private static let emergencies = [
        TableNote(
            "emergencies", "dispatch_outbox", "dispatch_lines",
            holds: "open emergencies: state and times; every message's canonical bytes, sealed; attempts at each integrator",
            kept: "until closed, then as `closed_…`", erasure: .deleted),
        TableNote(
            "closed_emergencies", "closed_outbox", "closed_lines", holds: "the same of emergencies that are over", kept: "until erasure",
            erasure: .deleted),
        TableNote(
            "prompt_answers", holds: "what the person answered, when, and whether the call had gone out", kept: "until erasure",
            erasure: .deleted),
        TableNote("seen_alerts", holds: "which alerts that passed the person has seen", kept: "until erasure", erasure: .deleted),
        TableNote(
            "contact_cases", holds: "contacts as they were at the alarm, their answers, what they were sent, the place; sealed",
            kept: "24 hours after the end, 8 days at most", erasure: .deleted),
        TableNote("contact_notices", holds: "for which place of the list a message was", kept: "8 days", erasure: .deleted),
        TableNote(
            "audit", holds: "hash chain of every step, under pseudonyms, without values, places or names; never changed", kept: "for ever",
            erasure: .impersonal),
        TableNote(
            "audit_anchors", holds: "signed heads of both dispatchers' chains", kept: "the last 100,000 of each", erasure: .impersonal),
    ]

    private static let own: [TableNote] = [
        TableNote(
            "integrators", holds: "what is registered, with secrets; sealed under `integrators.key`",
            kept: "for ever; a removed one stays for the cancels of what it was called for", erasure: .impersonal),
        TableNote("drills", holds: "test emergencies, and what came of them", kept: "for ever", erasure: .impersonal),
        TableNote(
            "pair_versions", holds: "whose settings are the latest", kept: "while the person is known", erasure: .deletedWithAccount),
        TableNote(
            "pair_heard", holds: "what the other dispatcher was told; sealed", kept: "while the person is known", erasure: .deleted),
        TableNote(
            "pair_erasures", "pair_told_erasures", holds: "which erasures the other dispatcher and this one have carried out",
            kept: "the other's for ever, this one's 90 days", erasure: .impersonal),
        TableNote(
            "pair_forgotten", holds: "whether the other dispatcher is still to be asked after a restore",
            kept: "until it has answered, or the operator says that it is gone for good", erasure: .impersonal),
        TableNote(
            "canary", "canary_hours", holds: "the synthetic subscriber, who is nobody; hourly counts of its emergencies", kept: "90 days",
            erasure: .impersonal),
        TableNote("steady_clock", holds: "the boot that timers are anchored in", kept: "for ever", erasure: .impersonal),
        .streams, .formerEpochs, .positions, .marks, .answers, .jobs, .tokens, .erasures, .life,
    ]
}
