// Every message of the bus as it stands in its golden file.

import Contracts
import Foundation
import Testing

@Suite("Golden messages")
struct GoldenTests {
    @Test("Streams: heartbeat, replay, snapshot, confirmation")
    func streams() throws {
        let heartbeat = try Golden.roundTrip(Heartbeat.self, "heartbeat.v1.json")
        #expect(heartbeat.heads == ["ingest.samples.00": 12, "ingest.samples.01": 0])
        _ = try Golden.roundTrip(RequestEnvelope<ReplayStream>.self, "replay-stream.v1.json")
        let page = try Golden.roundTrip(ReplyEnvelope<ReplayStream.Reply>.self, "replay-stream.reply.v1.json")
        #expect(page.ok?.facts.map(\.header.sequence) == [7, 8])
        #expect(page.ok?.facts.last?.header.type == StreamHeader.erased)
        _ = try Golden.roundTrip(RequestEnvelope<SnapshotStream>.self, "snapshot-stream.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<SnapshotStream.Reply>.self, "snapshot-stream.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ConfirmPositions>.self, "confirm-positions.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ForgetConsumer>.self, "forget-consumer.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ForgetConsumer>.self, "forget-consumer-running.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<ForgetConsumer.Reply>.self, "forget-consumer.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ListJobs>.self, "list-jobs.v1.json")
        let jobs = try Golden.roundTrip(ReplyEnvelope<ListJobs.Reply>.self, "list-jobs.reply.v1.json")
        #expect(jobs.ok?.kinds.map(\.oldest) == [Timestamp(milliseconds: 1_768_003_860_123), nil])
        _ = try Golden.roundTrip(RequestEnvelope<ResendJobs>.self, "resend-jobs.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<ResendJobs.Reply>.self, "resend-jobs.reply.v1.json")
    }

    @Test("Facts: samples recorded, device state, emergency changed")
    func facts() throws {
        let recorded = try Golden.roundTrip(SamplesRecorded.self, "samples-recorded.v1.json")
        #expect(recorded.samples.map(\.type) == [.heartRate, .position])
        #expect(recorded.samples[1].value == nil && recorded.firstTriedAt == nil)
        let tried = try Golden.roundTrip(SamplesRecorded.self, "samples-recorded.first-tried.v1.json")
        #expect(tried.firstTriedAt == Timestamp(milliseconds: 1_768_003_848_000))
        let sent = try Golden.roundTrip(SamplesRecorded.self, "samples-recorded.sent.v1.json")
        #expect(sent.samples.map { $0.age(receivedAt: sent.receivedAt, sentAt: sent.sentAt) } == [.seconds(1)])
        #expect(try Golden.roundTrip(DeviceState.self, "device-state.v1.json").active)
        #expect(try Golden.roundTrip(EmergencyChanged.self, "emergency-changed.v1.json").change == "opened")
    }

    @Test("Requests: devices and failures")
    func requests() throws {
        _ = try Golden.roundTrip(RequestEnvelope<AddDevice>.self, "add-device.v1.json")
        _ = try Golden.roundTrip(ReplyEnvelope<AddDevice.Reply>.self, "add-device.reply.v1.json")
        _ = try Golden.roundTrip(RequestEnvelope<ReadLatest>.self, "read-latest.v1.json")
        let refused = try Golden.roundTrip(ReplyEnvelope<Nothing>.self, "failure.v1.json")
        #expect(refused.failure == Failure(.notFound, "no such device"))
    }

    @Test("AutomatedSOS: who is subscribed, what may be told of them, what their devices deliver, the weeks before")
    func subscribers() throws {
        #expect(try Golden.roundTrip(SubscriptionState.self, "subscription-changed.v1.json").subscribed)
        #expect(try Golden.roundTrip(EmergencyCardState.self, "emergency-card-changed.v1.json").card?.birthYear == 1940)
        _ = try Golden.roundTrip(RequestEnvelope<ReadEmergencyCards>.self, "read-emergency-cards.v1.json")
        let cards = try Golden.roundTrip(ReplyEnvelope<ReadEmergencyCards.Reply>.self, "read-emergency-cards.reply.v1.json")
        #expect(cards.ok?.cards.first?.card?.name == "Anna Bianchi")
        _ = try Golden.roundTrip(RequestEnvelope<ReadAbilities>.self, "read-abilities.v1.json")
        let abilities = try Golden.roundTrip(ReplyEnvelope<ReadAbilities.Reply>.self, "read-abilities.reply.v1.json")
        #expect(abilities.ok?.devices.map(\.intervalMs) == [1000, nil])
        #expect(try Golden.roundTrip(RequestEnvelope<ReadHistory>.self, "read-history.v1.json").body.grain == .minute)
        let page = try Golden.roundTrip(ReplyEnvelope<ReadHistory.Reply>.self, "read-history.reply.v1.json")
        #expect(page.ok?.counts == [60, 58])
    }

    @Test("A key that is not known yet is passed over")
    func unknownKeys() throws {
        let heartbeat = try JSONDecoder().decode(Heartbeat.self, from: Data(#"{"epoch":"e","heads":{"s":1},"later":[1]}"#.utf8))
        #expect(heartbeat.heads == ["s": 1])
    }
}
