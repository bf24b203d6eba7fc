// Every parameter of the dispatcher, read once.

import Contracts
import Foundation
import ServiceKit

/// What watches over the chain itself.
struct WatchSettings: Sendable {
    var canary: Bool
    var heartbeatURL: URL?
    /// nil: the file in the key folder, made at the first start.
    var heartbeatSecret: URL?
    var lagBound: Duration
    var outboxBound: Duration

    init(_ reader: inout SettingsReader) {
        canary = reader.read(.flag("sos.canary", default: true, "Whether a test emergency goes through the whole chain every 10 s."))
        heartbeatURL = reader.read(.address("sos.heartbeat_url", "Who is sent a signed sign of life every 15 s; none: nobody."))
        heartbeatSecret = reader.read(
            .optionalPath("sos.heartbeat_secret", "File with the whsec_ secret shared with it; made in the key folder if not named."))
        lagBound = reader.read(
            .seconds("sos.lag_bound_s", default: 2, in: 0.5...60, "Entries of ingest not heard for so long are a critical log line."))
        outboxBound = reader.read(
            .seconds("sos.outbox_bound_s", default: 5, in: 1...600, "A call not acknowledged for so long is a critical log line."))
    }
}

/// Under the prefix `sos`. What cannot be read has its default, also where one value does not go with another: a dispatcher starts all the
/// same (`SOSAssembly.refuses`). Medical advice is the operator's to take; the defaults are the requirements'.
struct Settings: Sendable {
    /// Which of the two dispatchers this is; `SOSAssembly.place` reads the same.
    var role: PairRole
    /// How contacts' numbers are read, and whom pages say to call.
    var country: Country
    var watch: WatchSettings
    /// How much later than the first the second calls.
    var lead: Duration
    var rules: SupervisionRules
    var letterhead: DispatchLetterhead
    /// How long after `t0` calling it off stays prominent (SOS-21).
    var abortWindow: Duration
    var escalation: ContactEscalation.Rules
    var retry: Duration
    /// Until the next integrator is called in addition to those who have not answered.
    var nextIntegrator: Duration
    var personal: PersonalRules
    /// Between two reminders of a pause.
    var pauseReminder: Duration
    var integrator: String
    var webhookURL: URL?
    var secondURL: URL?
    var format: IntegratorSettings.Format
    /// E.164; nil: no texts.
    var number: String?
    /// nil: the file in the key folder, made at the first start.
    var webhookSecret: URL?
    var integratorToken: URL?
    var deskKey: URL?
    /// PEM; nil: the system's.
    var authorities: URL?
    /// Beside the other dispatcher; nil: no file.
    var auditAnchors: URL?

    init(_ reader: inout SettingsReader) {
        role = reader.read(
            .choice("sos.place", default: .first, "Which of two dispatchers this is; the second calls where the first does not."))
        country = CountrySettings(&reader).country
        watch = WatchSettings(&reader)
        rules = Settings.rules(&reader)
        lead = PairState.lead(dispatchAt: rules.dispatchAt)
        abortWindow = reader.read(
            .seconds("sos.abort_window_s", default: 60, in: 10...600, "How long the button that calls it off stays prominent."))
        escalation = ContactEscalation.Rules(
            callEvery: reader.read(
                .seconds("sos.contact_call_s", default: 60, in: 1...3600, "Pause between calls down the list of contacts.")),
            rounds: reader.read(
                .integer("sos.contact_rounds", default: 3, in: 0...50, "How often the list is called again while nobody is on the way.")))
        personal = Settings.personal(&reader)
        pauseReminder = reader.read(
            .hours("sos.pause_reminder_h", default: 2, in: 1...72, "How often who has paused supervision is reminded of it while awake."))
        retry = reader.read(.seconds("sos.retry_s", default: 1, in: 0.2...5, "Pause between attempts until the call is acknowledged."))
        nextIntegrator = reader.read(
            .seconds(
                "sos.next_integrator_s", default: 30, in: 1...3600,
                "Until the next emergency service is called as well, or one that refused is asked again."))
        integrator = reader.read(.text("sos.integrator", default: "desk", "Name of the emergency service, as timelines show it."))
        webhookURL = reader.read(.address("sos.webhook_url", "Where the emergency service takes messages; none: nobody is called."))
        secondURL = reader.read(
            .address("sos.second_url", "Another address of it, tried at once if the first fails hard, else after 0.7 s; none: not used."))
        format = reader.read(.choice("sos.webhook_format", default: .json, "Form of the messages to it: dispatch/1 or CAP 1.2."))
        let texts = reader.read(
            .text(
                "sos.number", default: "", "Its telephone number for texts, like +39021234567, whose replies are believed; none: no texts.")
        )
        number = IntegratorRules.isNumber(texts) ? texts : nil
        if !texts.isEmpty, number == nil { reader.refuse("sos.number", "must be +, then 7 to 15 digits") }
        if let only = secondURL, webhookURL == nil {
            reader.refuse("sos.second_url", "needs sos.webhook_url")
            // Where the first cannot be read: it is the same emergency service's.
            (webhookURL, secondURL) = (only, nil)
        }
        webhookSecret = reader.read(
            .optionalPath("sos.webhook_secret", "File with the whsec_ secret shared with it; made in the key folder if not named."))
        integratorToken = reader.read(
            .optionalPath(
                "sos.integrator_token", "File with the bearer token of its acknowledgements; made in the key folder if not named."))
        deskKey = reader.read(.optionalPath("sos.desk_key", "File with a whpk_ key that its answers may be signed with."))
        authorities = reader.read(
            .optionalPath("sos.authorities", "PEM file of the authorities that vouch for emergency services, instead of the system's."))
        auditAnchors = reader.read(
            .optionalPath("sos.audit_anchor_file", "File that the signed head of the audit is added to, best on another machine's disk."))
        letterhead = DispatchLetterhead(
            status: reader.read(
                .choice("sos.message_status", default: .actual, "Whether calls are in earnest: ambulances are sent on actual only.")),
            organisation: reader.read(.text("sos.organisation", default: "TrackMe", "Who calls, as messages show it.")),
            contact: {
                $0.isEmpty ? nil : $0
            }(reader.read(.text("sos.contact", default: "", "Telephone number of whoever answers for this installation."))),
            publicURL: reader.read(
                .text("sos.public_url", default: "https://localhost:8443", "Origin at which the emergency service reaches this one.")))
    }

    private static func personal(_ reader: inout SettingsReader) -> PersonalRules {
        var rules = PersonalRules()
        rules.safe = [
            .heartRate: Bounds(
                low: reader.read(
                    .decimal("sos.safe_hr_low", default: 36, in: 1...350, "No personalised lower bound of the heart rate lies below it.")),
                high: reader.read(
                    .decimal("sos.safe_hr_high", default: 144, in: 1...350, "No personalised upper bound of the heart rate lies above it."))
            ),
            .bloodPressureMax: Bounds(
                low: nil,
                high: reader.read(
                    .decimal("sos.safe_bp_max", default: 200, in: 1...400, "No personalised bound of the maximum pressure lies above it."))),
            .bloodPressureMin: Bounds(
                low: nil,
                high: reader.read(
                    .decimal("sos.safe_bp_min", default: 120, in: 1...300, "No personalised bound of the minimum pressure lies above it."))),
        ]
        rules.most = reader.read(
            .decimal("sos.personal_share", default: 0.2, in: 0...0.2, "Share of its default by which a personalised bound may differ."))
        rules.leastDays = reader.read(
            .integer("sos.personal_min_days", default: 10, in: 1...30, "Days with data that personalised bounds need, of the last 30."))
        return rules
    }

    private static func rules(_ reader: inout SettingsReader) -> SupervisionRules {
        var rules = SupervisionRules()
        let heart = rules.defaults[.heartRate]
        rules.defaults[.heartRate] = Bounds(
            low: reader.read(
                .decimal("sos.hr_low", default: heart?.low ?? 45, in: 1...350, "Heart rate below it is critical, in /min.")),
            high: reader.read(
                .decimal("sos.hr_high", default: heart?.high ?? 120, in: 1...350, "Heart rate above it is critical, in /min.")))
        let severe = rules.severe[.heartRate]
        rules.severe[.heartRate] = Bounds(
            low: reader.read(
                .decimal(
                    "sos.hr_severe_low", default: severe?.low ?? 35, in: 1...350,
                    "Heart rate below it is severe, in /min: worse than what was answered or called for.")),
            high: reader.read(
                .decimal("sos.hr_severe_high", default: severe?.high ?? 160, in: 1...350, "Heart rate above it is severe, in /min.")))
        rules.defaults[.bloodPressureMax] = Bounds(
            low: nil,
            high: reader.read(
                .decimal(
                    "sos.bp_max", default: rules.defaults[.bloodPressureMax]?.high ?? 170, in: 1...400,
                    "Maximum blood pressure above it is critical, in mmHg.")))
        rules.defaults[.bloodPressureMin] = Bounds(
            low: nil,
            high: reader.read(
                .decimal(
                    "sos.bp_min", default: rules.defaults[.bloodPressureMin]?.high ?? 100, in: 1...300,
                    "Minimum blood pressure above it is critical, in mmHg.")))
        rules.pressureRule = reader.read(
            .choice("sos.bp_rule", default: .and, "Whether both pressures must be above their bounds, or one."))
        rules.sustain = reader.read(
            .seconds("sos.sustain_s", default: 3, in: 0...4, "An alert that lasts so long is called for even if values recover."))
        rules.dispatchAt = reader.read(
            .seconds("sos.dispatch_at_s", default: 3.5, in: 3...4.9, "When the call goes out, from the first critical entry."))
        rules.signalLost = reader.read(
            .seconds("sos.signal_lost_s", default: 30, in: 5...300, "Silence of vital data that suspends supervision, at least."))
        rules.maximumAge = reader.read(
            .seconds("sos.max_age_s", default: 60, in: 5...600, "Entries older than that on arrival start no alert."))
        rules.silenceContacts = reader.read(
            .seconds("sos.silence_contacts_s", default: 300, in: 5...86_400, "From the warning of a signal loss until contacts are told."))
        rules.silenceCallsAmbulance = reader.read(
            .flag("sos.silence_calls_ambulance", default: false, "Whether a silence that contacts are told of calls an ambulance too."))
        rules.seizureCallsAmbulance = reader.read(
            .flag("sos.seizure_calls_ambulance", default: false, "Whether repetitive shaking calls an ambulance, besides the contacts."))
        rules.alertRate = reader.read(
            .decimal("sos.alert_rate_hz", default: 3, in: 0.1...100, "Measurements a second asked of devices during an alert."))
        answers(&rules, &reader)
        if let heart = rules.defaults[.heartRate], let low = heart.low, let high = heart.high, low >= high {
            reader.refuse("sos.hr_low", "must be below sos.hr_high")
            rules.defaults[.heartRate] = SupervisionRules().defaults[.heartRate]
        }
        if rules.dispatchAt < rules.sustain {
            reader.refuse("sos.dispatch_at_s", "must not be below sos.sustain_s")
            (rules.dispatchAt, rules.sustain) = (SupervisionRules().dispatchAt, SupervisionRules().sustain)
        }
        return rules
    }

    /// What "I am fine", doubt and a fall do (SOS-33, SOS-36, SOS-38).
    private static func answers(_ rules: inout SupervisionRules, _ reader: inout SettingsReader) {
        rules.mute = reader.read(
            .seconds("sos.mute_s", default: 300, in: 30...900, "How long \"I am fine\" holds, at first; less for severe low values."))
        rules.reask = reader.read(
            .seconds("sos.reask_s", default: 60, in: 10...300, "How long who is asked again has to answer before the call."))
        rules.calm = reader.read(
            .seconds("sos.calm_s", default: 10, in: 1...120, "How long a value was in range before it begins anew."))
        rules.doubt = reader.read(
            .seconds("sos.doubt_s", default: 20, in: 5...60, "How long a doubted reading waits for another before the call."))
        rules.fallPrompt = reader.read(
            .seconds("sos.fall_prompt_s", default: 20, in: 5...120, "How long who fell has to answer before contacts and ambulance."))
        rules.still = reader.read(
            .seconds("sos.still_s", default: 20, in: 10...120, "How long somebody lies still after an impact until it is a fall."))
    }
}
