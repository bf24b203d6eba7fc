// What nobody has to do, and what no crash takes with it: supervision by itself, whole service.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Bus
@testable import SOSDispatcher

@Suite("Autonomy, whole service", .timeLimit(.minutes(2)))
struct AutonomyStories {
    @Test(
        "SOS-26, SOS-25, SOS-28: subscribed once, a person does nothing more: silence is warned of and ends by itself, a restart goes unnoticed, and the ambulance is called without a touch"
    )
    func untouched() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let settings = ["TRACKME_SOS_SIGNAL_LOST_S": "5", "TRACKME_SOS_DISPATCH_AT_S": "3"]
            let before = try await stage.start(settings)
            let anna = try await stage.subscriber()
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 70)])
            try await eventually("silence is noticed", isTrue: { try await stage.standing(anna) == "signal-lost" })
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 71)])
            try await eventually("and ends by itself", isTrue: { try await stage.standing(anna) == "monitoring" })
            await before.stop()
            try await stage.start(settings)
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the ambulance is called", isTrue: { !desk.receipts.isEmpty })
            try await eventually("and has acknowledged", isTrue: { try await stage.standing(anna) == "dispatched" })
        }
    }

    @Test(
        "SOS-22, SOS-25, SOS-28: a process that dies the moment a lost signal is stored takes no warning with it: what person and contacts are told is in the same transaction, and the next process sends it"
    )
    func warningOutlivesProcess() async throws {
        try await Stage.play { stage in
            let settings = ["TRACKME_SOS_SIGNAL_LOST_S": "5", "TRACKME_SOS_SILENCE_CONTACTS_S": "5"]
            let anna = PersonID.random()
            // Decides and stores; of what follows nothing ever runs, as if it had died there.
            let dying = try await stage.built(settings)
            let supervision = dying.parts.supervision
            _ = try await supervision.keys.makeKey(for: anna)
            try await supervision.subscribe(anna, own: [:], interval: nil, further: { _ in nil }) { $0.contacts = [.berta] }
            let decided: @Sendable () async -> Bool = {
                // Ingest is heard all the time: it is the person who is silent.
                dying.parts.samples.noteCurrent(at: .now)
                return await supervision.subscriber(of: anna)?.supervision.contactsTold == true
            }
            try await eventually("the lost signal is decided, and that the contacts are to know", isTrue: decided)
            try await dying.parts.journal.commit()
            await dying.close()

            let notifier = try await stage.notifier()
            try await stage.start(settings)
            let told = try await eventually("the warning") { notifier.messages(.sosSignalLost).first }
            #expect(told.recipient.person == anna && told.channels == [.push, .inbox])
            let asked = try await eventually("the contact is asked to look") { notifier.messages(.sosSilenceContacts).first }
            #expect(asked.recipient.phone == EmergencyContact.berta.telephone && asked.channels.isSuperset(of: [.sms, .call]))
        }
    }

    @Test(
        "SOS-21, SOS-28, INV-22: a call that went out, then everything about it lost in a crash: \"I am fine\" to the next process takes it back at the emergency service"
    )
    func takenBackAfterLoss() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let settings = ["TRACKME_SOS_DISPATCH_AT_S": "4.9"]
            let first = try await stage.start(settings)
            let anna = try await stage.subscriber()
            await first.stop()
            let lost = try StoredFolder(stage.folder.appendingPathComponent("\(Peer.sosDispatcher)"))

            let second = try await stage.start(settings)
            // Ingest's clock is set back afterwards, so that the next process counts from its own hearing and has not called yet.
            try await stage.ingest.say(
                anna, [Sample(type: .heartRate, at: .now, value: 31)], receivedAt: .now + .seconds(30))
            let emergency = try await stage.askForHelp(anna)
            try await eventually("it has arrived", isTrue: { desk.receipts.contains { $0.id == "\(emergency)-0" } })
            await second.stop()
            // None of it had got to the disk.
            try lost.restore()

            try await stage.start(settings)
            let reply = try await eventually("it is judged again") {
                let reply = try? await stage.question(AnswerPrompt(person: anna, answer: .fine))
                return reply?.emergency == emergency ? reply : nil
            }
            let cancel = try await eventually("it is taken back") { desk.receipts.first { $0.message?.msgType == .cancel } }
            #expect(cancel.id == "\(emergency)-1" && cancel.message?.references == ["\(emergency)-0"])
            // Unless the machine was so slow that it had called again.
            if !reply.alreadyDispatched { #expect(try await stage.timeline(emergency).contains("muted"), "nobody here knew") }
        }
    }

    @Test(
        "SOS-15, SOS-28: what ingest received while nobody listened counts from its receipt, not from the start of the next process"
    )
    func receivedMeanwhile() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, before in
            let anna = try await stage.subscriber()
            await before.stop()
            let received = Timestamp.now
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: received, value: 31)], receivedAt: received)
            try await stage.start()
            let started = Timestamp.now
            try await eventually("the call", isTrue: { !desk.receipts.isEmpty })
            let emergency = try #require(try await stage.question(ListEmergencies(person: anna, limit: 1)).emergencies.first)
            #expect(emergency.t0 == received)
            // Counted from the start it would be 3.5 s after it. A start that takes longer than that calls at once.
            #expect(try #require(emergency.dispatchedAt) < max(received + .milliseconds(3600), started + .milliseconds(2500)))
        }
    }

    @Test("SOS-14: \"I am fine\" to the process that has seen it all sends nothing to anybody")
    func nothingToTakeBack() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_DISPATCH_AT_S": "4.9"])
            let anna = try await stage.subscriber()
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
            try await stage.sayFine(anna)
            #expect(try await stage.question(ListEmergencies(person: anna, limit: 1)).emergencies.first?.state == "muted")
            await dispatcher.stop()
            #expect(desk.receipts.isEmpty)
        }
    }
}

/// A stopped service's files as they were once.
private struct StoredFolder {
    private let folder: URL
    private let copy: URL

    init(_ folder: URL) throws {
        self.folder = folder
        copy = folder.appendingPathExtension("once")
        try FileManager.default.copyItem(at: folder, to: copy)
    }

    func restore() throws {
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.moveItem(at: copy, to: folder)
    }
}
