// Whether an entry that is well formed may be taken (ING-10, ING-20, ACC-28): by what its device delivers and by the person's pauses.

import Contracts

/// A time in which the person wanted nothing to be recorded, in ms; open while it lasts.
struct Pause: Hashable, Sendable {
    let from: Int64
    var to: Int64?

    func contains(_ time: Int64) -> Bool {
        time >= from && to.map { time < $0 } ?? true
    }
}

/// Made when a device or its person changes, asked for every entry: it needs no store.
struct Admission: Hashable, Sendable {
    /// What the device delivers; nil where that is everything.
    let tracked: MetricSet?
    /// The newest last.
    let pauses: [Pause]

    static let everything = Admission(tracked: nil, pauses: [])

    var isPaused: Bool { pauses.last.map { $0.to == nil } ?? false }

    /// Most uploads need no check of their entries.
    var admitsEverything: Bool { tracked == nil && pauses.isEmpty }

    /// Why the entry is not taken; nil where it is. While monitoring is paused nothing is but a call for help; what was measured in a pause
    /// never is, however late it comes.
    func fault(of sample: Sample) -> EntryFault? {
        if sample.type == .help { return nil }
        if isPaused { return .paused }
        let time = sample.at.milliseconds
        if pauses.contains(where: { $0.contains(time) }) { return .measuredWhilePaused }
        if let tracked, !tracked.contains(sample.type), !sample.type.isHeardFromAll { return .notTracked(sample.type) }
        return nil
    }
}

extension ScannedUpload {
    /// Moves what may not be taken to what was refused. It is not quarantined: it must not be stored at all (ING-10).
    /// - Returns: what is refused because its parameter comes from another device, or from none.
    @discardableResult
    mutating func admit(by admission: Admission) -> [Sample] {
        guard !admission.admitsEverything else { return [] }
        var untracked: [Sample] = []
        unstored.removeAll { sample in
            guard let fault = admission.fault(of: sample) else { return false }
            if case .notTracked = fault { untracked.append(sample) }
            return true
        }
        var (taken, places): ([Sample], [Int32]) = ([], [])
        for (sample, index) in zip(samples, indexes) {
            if let fault = admission.fault(of: sample) {
                if case .notTracked = fault { untracked.append(sample) }
                refused.append(Refused(index: Int(index), fault: fault, range: 0..<0))
            } else {
                taken.append(sample)
                places.append(index)
            }
        }
        guard taken.count < samples.count else { return untracked }
        (samples, indexes) = (taken, places)
        refused.sort { $0.index < $1.index }
        return untracked
    }
}

/// Why nothing of a person is acquired, whatever the device (ING-10).
enum AcquisitionBar: String, Hashable, Sendable {
    /// Consent has not published such an account yet.
    case unknown = "account-not-known"
    /// The conditions are not accepted, a guardian has not consented, or the account is closed.
    case inactive = "account-not-active"

    /// What the person reads.
    var detail: String {
        switch self {
        case .unknown: "The account of this device is not known here yet. Nothing was recorded; keep the entries and try later."
        case .inactive:
            """
            The person's account does not allow anything to be recorded: the data policy must be accepted in the app, by a guardian \
            too where one is needed. Nothing was recorded.
            """
        }
    }
}
