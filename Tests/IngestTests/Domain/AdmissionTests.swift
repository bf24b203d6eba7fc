// What may be taken of an upload, and what is said of the rest.

import Contracts
import Testing

@testable import Ingest

@Suite struct AdmissionTests {
    private static func upload(_ samples: [Sample]) -> ScannedUpload {
        var upload = ScannedUpload()
        (upload.samples, upload.indexes, upload.count) = (samples, samples.indices.map(Int32.init), samples.count)
        return upload
    }

    private static let mixed: [Sample] = [
        .pulse(1000, 60), Sample(type: .oxygenSaturation, at: Timestamp(milliseconds: 1500), value: 97), .pulse(2000, 61),
    ]

    @Test("ING-20: entries of a parameter whose tracking is off are rejected one by one, in their places")
    func untracked() {
        var upload = Self.upload(Self.mixed)
        upload.refused = [.init(index: 3, fault: .notAnObject, range: 0..<2)]
        let early = Sample.pulse(9000, 30)
        upload.unstored = [early]
        let untracked = upload.admit(by: Admission(tracked: MetricSet([.oxygenSaturation]), pauses: []))
        #expect(untracked == [early, Self.mixed[0], Self.mixed[2]] && upload.unstored.isEmpty)
        #expect(upload.samples == [Self.mixed[1]] && upload.indexes == [1])
        #expect(upload.refused.map(\.index) == [0, 2, 3])
        #expect(upload.refused[0].fault == .notTracked(.heartRate) && upload.refused[0].fault.name == "parameter-not-tracked")
    }

    @Test("ACC-28, ING-10: while paused nothing is taken; what was measured in a pause never is; the rest is")
    func paused() {
        var now = Self.upload(Self.mixed)
        let untracked = now.admit(by: Admission(tracked: MetricSet(), pauses: [Pause(from: 5000, to: nil)]))
        #expect(untracked.isEmpty, "what the person has paused is nobody's to hear")
        #expect(now.samples.isEmpty && now.refused.allSatisfy { $0.fault == .paused })
        var later = Self.upload(Self.mixed)
        later.admit(by: Admission(tracked: nil, pauses: [Pause(from: 1500, to: 2000)]))
        #expect(later.samples == [Self.mixed[0], Self.mixed[2]], "a pause holds its beginning and not its end")
        #expect(later.refused.map(\.fault) == [.measuredWhilePaused])
        #expect(later.refused[0].fault.name == "monitoring-paused")
    }

    @Test("A device that may deliver everything has its upload left as it is")
    func everything() {
        var upload = Self.upload(Self.mixed)
        upload.admit(by: .everything)
        #expect(upload.samples == Self.mixed && upload.refused.isEmpty)
    }

    @Test("UI-14: every reason says what is wrong and what to do, and no value")
    func words() {
        for fault in [EntryFault.paused, .measuredWhilePaused, .notTracked(.heartRate)] {
            #expect(fault.detail.count > 30 && Problem.ofEntry(named: fault.name) != nil)
        }
        for bar in [AcquisitionBar.unknown, .inactive] { #expect(bar.problem.status == 403 && bar.detail.contains("recorded")) }
    }
}

@Suite struct PairingOfferTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("ACC-23: the right number pairs, also after wrong ones, within five minutes")
    func right() {
        for wrong in 0..<PairingOffer.wrongNumbers - 1 {
            var offer = PairingOffer(at: Self.start)
            for place in 0..<wrong {
                #expect(offer.typed(isRight: false, at: Self.start) == .wrong(left: PairingOffer.wrongNumbers - place - 1))
            }
            #expect(offer.wrong == wrong, "which number the device shows")
            #expect(offer.typed(isRight: true, at: Self.start + .milliseconds(299_999)) == .confirmed)
            #expect(offer.typed(isRight: true, at: Self.start) == .over(.confirmed), "once")
        }
    }

    @Test("ACC-23: five wrong numbers end the offer, and so do five minutes and leaving; the right number then pairs nothing")
    func ends() {
        var wrong = PairingOffer(at: Self.start)
        for _ in 1..<PairingOffer.wrongNumbers { _ = wrong.typed(isRight: false, at: Self.start) }
        #expect(wrong.typed(isRight: false, at: Self.start) == .over(.refused))
        #expect(wrong.typed(isRight: true, at: Self.start) == .over(.refused))
        var late = PairingOffer(at: Self.start)
        #expect(late.typed(isRight: true, at: Self.start + PairingOffer.life) == .over(.expired))
        #expect(late.state(at: Self.start + PairingOffer.life) == .expired)
        var left = PairingOffer(at: Self.start)
        left.left(at: Self.start)
        #expect(left.typed(isRight: true, at: Self.start) == .over(.cancelled))
        var paired = PairingOffer(at: Self.start)
        _ = paired.typed(isRight: true, at: Self.start)
        paired.left(at: Self.start)
        #expect(paired.state == .confirmed, "leaving afterwards undoes nothing")
    }

    @Test("ACC-22: numbers have six digits, follow from the device's secret, and each is unlike the one before")
    func numbers() {
        var counts = [Int](repeating: 0, count: 10)
        for _ in 0..<300 {
            let (secret, pairing) = (PairingSecret.random(), PairingID.random())
            let numbers = secret.numbers(of: pairing)
            #expect(numbers.count == PairingOffer.wrongNumbers && numbers.allSatisfy { $0.count == 6 && $0.allSatisfy(\.isNumber) })
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 != $1 })
            #expect(PairingSecret(text: secret.text)?.numbers(of: pairing) == numbers)
            for digit in numbers.joined() { counts[Int(String(digit)) ?? 0] += 1 }
        }
        // 9000 digits: 900 of each, give or take; six standard deviations are 171.
        #expect(counts.allSatisfy { (729...1071).contains($0) })
        #expect(PairingSecret(text: "tmp_x") == nil && PairingSecret(text: "") == nil)
    }
}

@Suite struct MonitoringReportTests {
    private static let watch = DeviceID(bits: 1)
    private static let phone = DeviceID(bits: 2)
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private static func report(
        charging: Bool? = nil, worn: Bool? = nil, heard: Duration = .zero, interval: Duration = .seconds(1), paused: Bool = false,
        barred: Bool = false, withPhone: Bool = false
    ) -> [Metric: ParameterReport] {
        var sources = [
            TrackedSource(
                device: watch, kind: .wearable, measures: MetricSet([.heartRate, .position, .oxygenSaturation]),
                tracking: .chosen(MetricSet([.heartRate, .position])), isCharging: charging ?? false)
        ]
        if withPhone {
            sources.append(
                TrackedSource(
                    device: phone, kind: .phone, measures: MetricSet([.position]), tracking: .chosen(MetricSet()), isCharging: false))
        }
        let plan = TrackingPlan(sources)
        let reported = sources.map { source in
            ReportedSource(
                source: source,
                condition: source.kind == .wearable ? DeviceCondition(charging: charging, worn: worn) : DeviceCondition(),
                heardAt: source.kind == .wearable ? now - heard : now, interval: interval)
        }
        let report = MonitoringReport(
            plan: plan, sources: Dictionary(uniqueKeysWithValues: reported.map { ($0.source.device, $0) }), isPaused: paused,
            isBarred: barred)
        return Dictionary(uniqueKeysWithValues: report.parameters(at: now).map { ($0.metric, $0) })
    }

    @Test("ING-19: charging, not worn, lost, paused, not tracked and no device are told apart; what is measured has no reason")
    func reasons() {
        #expect(Self.report()[.heartRate]?.reason == nil && Self.report()[.heartRate]?.source == Self.watch)
        #expect(Self.report(charging: true)[.heartRate]?.reason == .charging)
        #expect(Self.report(worn: false)[.heartRate]?.reason == .notWorn)
        #expect(Self.report()[.oxygenSaturation]?.reason == .notTracked)
        #expect(Self.report()[.bodyTemperature]?.reason == .noDevice)
        #expect(Self.report(paused: true)[.heartRate]?.reason == .paused)
        #expect(Self.report(paused: true, barred: true)[.heartRate]?.reason == .notAllowed)
        #expect(Self.report().count == Metric.all.count)
    }

    @Test("SOS-25: a device is lost after 30 s or three of its intervals, whichever is longer")
    func lost() {
        for (heard, interval, isLost) in [(30, 1, false), (31, 1, true), (31, 60, false), (180, 60, false), (181, 60, true)] {
            let reason = Self.report(heard: .seconds(heard), interval: .seconds(interval))[.heartRate]?.reason
            #expect(reason == (isLost ? .lost : nil), "\(heard) s of silence at \(interval) s")
        }
    }

    @Test("ING-19: while the wearable charges the phone stands in for position alone")
    func standIn() {
        let report = Self.report(charging: true, withPhone: true)
        #expect(report[.position]?.reason == nil && report[.position]?.source == Self.phone && report[.position]?.isStandIn == true)
        #expect(report[.heartRate]?.reason == .charging)
        #expect(Self.report(charging: true)[.position]?.reason == .charging, "no phone, no position")
    }
}
