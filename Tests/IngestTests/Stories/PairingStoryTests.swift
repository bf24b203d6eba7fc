// Pairing through the whole service: the number on the display, wrong ones, leaving, replacing, and what strangers get.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct PairingStoryTests {
    @Test("SC-21, ACC-22, ACC-23: choose the device that was found, type its six digits, and it delivers for the account")
    func firstPairing() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let offer = try await harness.offer("Heartline 5")
            #expect(offer.number.count == 6 && offer.number.allSatisfy(\.isNumber))
            let nearby = try await harness.send(
                "GET", "/ingest/v1/pairings?pairing=\(offer.pairing)&pairing=\(PairingID.random())", token: account.token)
            let found = try nearby.decoded(as: Page<PairingItem>.self).items
            #expect(found.map(\.model) == ["Heartline 5"] && found.first?.measures == ["heart-rate", "position"])
            let waiting: PairingProgress = try await harness.poll(offer).decoded()
            #expect(waiting.state == "waiting" && waiting.number == offer.number && waiting.token == nil)

            let confirmed = try await harness.confirm(offer, "\(offer.number.prefix(3)) \(offer.number.suffix(3))", by: account)
            let success: PairingSuccess = try confirmed.decoded()
            #expect(confirmed.status == 200 && success.tracked == ["heart-rate", "position"] && success.trackedElsewhere.isEmpty)
            #expect(try await harness.confirm(offer, offer.number, by: account).decoded(as: PairingSuccess.self).device == success.device)

            let progress: PairingProgress = try await harness.poll(offer).decoded()
            #expect(progress.state == "confirmed" && progress.device == success.device)
            #expect(try await harness.poll(offer).decoded(as: PairingProgress.self).token == progress.token, "an answer may get lost")
            let token = try #require(progress.token)
            let answer = try await harness.post([.pulse(1_768_005_060_000, 72), .place(1_768_005_060_000)], token: token)
            #expect(answer.accepted == 2, "ING-02, ING-07")
            #expect(try await harness.poll(offer).status == 404, "once used, the token is given no more")
            var shown = DeviceToken(text: token)
            #expect(shown.shard == VirtualShard(of: account.person))
            #expect(try await harness.send("GET", "/ingest/v1/latest", token: shown.secret).status == 200, "as it was spelt before shards")
            shown.shard = VirtualShard(of: PersonID(bits: account.person.bits ^ 1))
            #expect(try await harness.send("GET", "/ingest/v1/latest", token: shown.text).status == 401, "another person's shard")
            #expect(try await harness.samples(.heartRate, token: account.token).map(\.value) == [72], "the person reads it")
            #expect(try await harness.samples(.position, token: token).count == 1, "and so does the device")
            try await eventually("the person is told", isTrue: { harness.notifier.messages().contains { $0.template == .devicePaired } })
            let told = try #require(harness.notifier.messages().first)
            #expect(told.recipient.person == account.person && told.values == ["device": "Heartline 5"])
        }
    }

    @Test("X4: pairing and removing a device and beginning an export ask for a proof of the last five minutes; reading does not")
    func fresh() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let stale = try harness.consent.token(of: account.person, session: account.session, proved: .now + .seconds(-301))
            let guarded = [
                ("POST", "/ingest/v1/pairings/\(PairingID.random())/confirmation"), ("DELETE", "/ingest/v1/devices/\(DeviceID.random())"),
                ("POST", "/ingest/v1/exports"),
            ]
            for (method, path) in guarded {
                let body: JSONValue? = method == "POST" ? .object([]) : nil
                let refused = try await harness.send(method, path, body, token: stale)
                #expect(refused.status == 401 && refused.problem == "insufficient-user-authentication", "\(path)")
                #expect(try await harness.send(method, path, body, token: account.token).status != 401)
            }
            #expect(try await harness.send("GET", "/ingest/v1/latest", token: stale).status == 200)
        }
    }

    @Test(
        "X13: a device that was paired before the owner took the account back delivers and reads nothing, also after a restart; one paired since reads"
    )
    func takenBack() async throws {
        try await withTemporaryFolder { folder in
            let (account, old) = try await IngestHarness.run(in: folder) { harness in
                let account = try await harness.account()
                let old = try await harness.pair(account)
                #expect(try await harness.samples(.heartRate, token: old.token).isEmpty)
                try await harness.consent.say(
                    PersonState(person: account.person, active: true, termsVersion: "1", language: .english, readersSince: .now))
                try await eventually("it reads nothing any more") {
                    try await harness.send("GET", "/ingest/v1/entries?type=heart-rate", token: old.token).problem == "reading-ended"
                }
                #expect(try await harness.post([.pulse(1_768_005_060_000, 72)], token: old.token).accepted == 1)
                let new = try await harness.pair(account, "Watch 4")
                #expect(try await harness.send("GET", "/ingest/v1/entries?type=heart-rate", token: new.token).status == 200)
                return (account, old)
            }
            try await IngestHarness.run(in: folder) { harness in
                let refused = try await harness.send("GET", "/ingest/v1/latest", token: old.token)
                #expect(refused.status == 403 && refused.problem == "reading-ended", "\(account.person)")
            }
        }
    }

    @Test("ACC-22: with no device found the list is empty; third parties and operators are refused; without log-in it is 401")
    func nobodyThere() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let path = "/ingest/v1/pairings?pairing=\(PairingID.random())"
            #expect(try await harness.send("GET", path, token: account.token).decoded(as: Page<PairingItem>.self).items.isEmpty)
            for kind in [AccountKind.member, .operator] {
                let token = try harness.consent.token(of: account.person, kind: kind)
                for (method, path) in [("GET", path), ("GET", "/ingest/v1/devices"), ("GET", "/ingest/v1/entries?type=heart-rate")] {
                    let response = try await harness.send(method, path, token: token)
                    #expect(response.status == 403 && response.problem == "not-for-this-account", "\(kind) \(path)")
                }
            }
            #expect(try await harness.send("GET", path, token: nil).status == 401)
            #expect(try await harness.send("GET", "/ingest/v1/pairings?pairing=x", token: account.token).status == 400)
            #expect(try await harness.confirm(.init(pairing: .random(), secret: "", number: ""), "123456", by: account).status == 404)
            #expect(try await harness.devices(of: account).isEmpty, "CON-60: skipped, nothing is there and everything else works")
            #expect(try await harness.send("GET", "/ingest/v1/latest", token: account.token).status == 200)
        }
    }

    @Test("ACC-23: a wrong number is told, a new one is shown, and the person can try again; after five the offer is over")
    func wrongNumbers() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            var offer = try await harness.offer()
            for left in [4, 3, 2, 1] {
                let wrong = try await harness.confirm(offer, offer.wrongNumber, by: account)
                #expect(wrong.status == 422 && wrong.problem == "wrong-number")
                let problem: Problem = try wrong.decoded()
                #expect(problem.errors?.first?.pointer == "/number" && problem.detail?.contains("\(left) tr") == (left > 1))
                let shown = try #require(try await harness.poll(offer).decoded(as: PairingProgress.self).number)
                #expect(shown != offer.number, "a new number")
                let stale = offer.number
                offer = .init(pairing: offer.pairing, secret: offer.secret, number: shown)
                #expect(offer.wrongNumber != shown && stale != shown)
            }
            let last = try await harness.confirm(offer, offer.wrongNumber, by: account)
            #expect(last.status == 410 && last.problem == "pairing-over")
            #expect(try await harness.confirm(offer, offer.number, by: account).status == 410, "the right one comes too late")
            #expect(try await harness.poll(offer).decoded(as: PairingProgress.self).state == "refused")
            #expect(try await harness.devices(of: account).isEmpty)
            let again = try await harness.offer()
            _ = try await harness.confirm(again, again.wrongNumber, by: account)
            let second = try #require(try await harness.poll(again).decoded(as: PairingProgress.self).number)
            #expect(try await harness.confirm(again, second, by: account).status == 200)
        }
    }

    @Test("ACC-23: leaving cancels the pairing and the old device stays; so does a device that withdraws")
    func leaving() async throws {
        try await IngestHarness.runWithWatch { harness, account, old in
            let offer = try await harness.offer()
            _ = try await harness.confirm(offer, offer.wrongNumber, by: account, replacing: old.device)
            #expect(try await harness.send("DELETE", "/ingest/v1/pairings/\(offer.pairing)", token: account.token).status == 204)
            #expect(try await harness.poll(offer).decoded(as: PairingProgress.self).state == "cancelled")
            #expect(try await harness.confirm(offer, offer.number, by: account).status == 410)
            #expect(try await harness.post([.pulse(1000, 60)], token: old.token).accepted == 1)
            #expect(try await harness.devices(of: account).map(\.device) == [old.device])

            let shy = try await harness.offer()
            let body: JSONValue = ["secret": .string(shy.secret)]
            #expect(try await harness.send("POST", "/ingest/v1/pairings/\(shy.pairing)/withdrawal", body, token: nil).status == 204)
            #expect(try await harness.confirm(shy, shy.number, by: account).status == 410)
            let stranger: JSONValue = ["secret": .string(PairingSecret.random().text)]
            #expect(try await harness.send("POST", "/ingest/v1/pairings/\(shy.pairing)/withdrawal", stranger, token: nil).status == 404)
        }
    }

    @Test("withdrawing another's offer, or leaving one that is none, took a turn in the queue of writes; both are refused beside it")
    func refusedBesideWrites() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let offer = try await harness.offer()
            let stranger: JSONValue = ["secret": .string(PairingSecret.random().text)]
            let isBeside = try await isDone(whileWriting: harness.ingest.store) {
                for path in ["\(offer.pairing)/withdrawal", "\(PairingID.random())/withdrawal", "\(offer.pairing)/poll"] {
                    #expect(try await harness.send("POST", "/ingest/v1/pairings/\(path)", stranger, token: nil).status == 404, "\(path)")
                }
                let left = try await harness.send("DELETE", "/ingest/v1/pairings/\(PairingID.random())", token: account.token)
                #expect(left.status == 404)
            }
            #expect(isBeside)
            #expect(try await harness.poll(offer).decoded(as: PairingProgress.self).state == "waiting")
        }
    }

    @Test("SC-26, ACC-24, ING-20: the new watch delivers, the old one no longer does, from the same transaction on")
    func replacing() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let old = try await harness.pair(account, "Old watch")
            #expect(try await harness.post([.pulse(1000, 60)], token: old.token).accepted == 1)
            let known = try #require(harness.ingest.deviceModule.registry.device(withToken: old.token))
            let new = try await harness.pair(account, "New watch", replacing: old.device)
            #expect(new.success.replaced == old.device && new.success.tracked == ["heart-rate", "position"])
            #expect(try await harness.post(Sample.pulse(2000, 61).json, token: old.token).status == 401)
            #expect(known.isEnded, "an upload that was on its way finds its device ended")
            #expect(try await harness.post([.pulse(2000, 61)], token: new.token).accepted == 1)
            #expect(try await harness.samples(.heartRate, token: account.token).map(\.value) == [60, 61], "what it has delivered stays")
            #expect(try await harness.devices(of: account).map(\.name) == ["New watch"])
            let foreign = try await harness.addDevice()
            let offer = try await harness.offer()
            let refused = try await harness.confirm(offer, offer.number, by: account, replacing: foreign.device)
            #expect(refused.status == 422 && refused.problem == "no-such-device")
            #expect(try await harness.post([.pulse(5, 61)], token: foreign.token).accepted == 1, "nobody ends somebody else's device")
            #expect(try await harness.confirm(offer, offer.number, by: account).status == 200, "the offer was not spent on it")
        }
    }

    @Test("ACC-24: removing a device ends it; again is the same as once; somebody else's is not found")
    func removing() async throws {
        try await IngestHarness.run { harness in
            let (account, other) = (try await harness.account(), try await harness.account())
            let watch = try await harness.pair(account)
            let path = "/ingest/v1/devices/\(watch.device)"
            for (method, body) in [("GET", nil), ("DELETE", nil), ("PATCH", ["name": "Mine"])] as [(String, JSONValue?)] {
                #expect(try await harness.send(method, path, body, token: other.token).status == 404)
            }
            #expect(
                try await harness.send("PATCH", path, ["name": "Left wrist", "kind": "medical-device"], token: account.token).status == 200)
            let item = try #require(try await harness.devices(of: account).first)
            #expect(item.name == "Left wrist" && item.kind == .medical && item.model == "Watch 3" && item.pairedByPerson)
            for body in [["name": ""], ["name": .string(String(repeating: "x", count: 65))], ["kind": "manual"], ["token": "x"]]
                as [JSONValue]
            {
                let refused = try await harness.send("PATCH", path, body, token: account.token)
                #expect(refused.status == 422 && refused.problem == "invalid-body")
            }
            #expect(try await harness.send("DELETE", path, token: account.token).status == 204)
            #expect(try await harness.send("DELETE", path, token: account.token).status == 204)
            #expect(try await harness.post(Sample.pulse(1000, 60).json, token: watch.token).status == 401)
            #expect(try await harness.devices(of: account).isEmpty)
        }
    }

    @Test("ACC-24: names of devices took line breaks and tabs: in a change, an offer's model and a confirmation", arguments: ["\n", "\t"])
    func namesOfOneLine(mark: String) async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let watch = try await harness.pair(account)
            let offer = try await harness.offer()
            let name = JSONValue.string("Left\(mark)wrist")
            let offered: JSONValue = ["model": name, "kind": "wearable", "measures": ["heart-rate"]]
            for (method, path, body, token, pointer) in [
                ("PATCH", "/ingest/v1/devices/\(watch.device)", ["name": name], account.token, "/name"),
                ("POST", "/ingest/v1/pairings", offered, nil, "/model"),
                (
                    "POST", "/ingest/v1/pairings/\(offer.pairing)/confirmation", ["number": .string(offer.number), "name": name],
                    account.token, "/name"
                ),
            ] as [(String, String, JSONValue, String?, String)] {
                let refused = try await harness.send(method, path, body, token: token)
                #expect(refused.status == 422 && refused.problem == "invalid-body", "\(path)")
                #expect(try refused.decoded(as: Problem.self).errors?.map(\.pointer) == [pointer], "\(path)")
            }
            #expect(try await harness.confirm(offer, offer.number, by: account).status == 200, "no try was spent")
        }
    }

    @Test("reliability F2: a device with a key of its own gets its token only for a signature over the number shown")
    func keys() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let key = try SigningKey.random()
            let offer = try await harness.offer(publicKey: Base64URL.encode(key.publicKey.bytes))
            _ = try await harness.confirm(offer, offer.number, by: account)
            func signature(_ key: SigningKey, _ number: String) throws -> String {
                Base64URL.encode(try key.sign(PairingTranscript.text(offer.pairing, number: number)))
            }
            for signed in [nil, "x", try signature(.random(), offer.number), try signature(key, offer.wrongNumber)] {
                let refused = try await harness.poll(offer, signature: signed)
                #expect(refused.status == 422 && refused.problem == "wrong-signature")
            }
            let progress: PairingProgress = try await harness.poll(offer, signature: signature(key, offer.number)).decoded()
            #expect(progress.token != nil)
            let fingerprint = try #require(try await harness.devices(of: account).first?.keyFingerprint)
            #expect(fingerprint == DeviceService.fingerprint(key.publicKey.bytes) && fingerprint.count == 39)
        }
    }

    @Test("Pairing is limited by address and by person, and the answer says for how long")
    func limits() async throws {
        let environment = ["TRACKME_ING_PAIRING_OFFERS_PER_H": "2", "TRACKME_ING_PAIRING_TRIES_PER_H": "3"]
        try await IngestHarness.runWithAccount(environment: environment) { harness, account in
            let offer = try await harness.offer()
            _ = try await harness.offer()
            await #expect(throws: HarnessAnswer.OtherStatus.self, "a third offer in an hour") { try await harness.offer() }
            for _ in 0..<3 { #expect(try await harness.confirm(offer, offer.wrongNumber, by: account).status == 422) }
            let refused = try await harness.confirm(offer, offer.wrongNumber, by: account)
            #expect(refused.status == 429 && Int(refused.headers["retry-after"] ?? "") ?? 0 > 60)
        }
    }

    @Test("Right numbers used up the tries, so that whoever had paired several devices was refused: only wrong ones count")
    func rightNumbers() async throws {
        try await IngestHarness.runWithAccount(environment: ["TRACKME_ING_PAIRING_TRIES_PER_H": "3"]) { harness, account in
            let offer = try await harness.offer()
            for _ in 0..<4 { #expect(try await harness.confirm(offer, offer.number, by: account).status == 200) }
            let next = try await harness.offer()
            for _ in 0..<3 { #expect(try await harness.confirm(next, next.wrongNumber, by: account).status == 422) }
            #expect(try await harness.confirm(next, next.wrongNumber, by: account).status == 429)
        }
    }

    @Test(
        "An offer that makes no sense is refused with each field named",
        arguments: [
            ("{}", "/model"), (#"{"model":"","kind":"wearable","measures":["heart-rate"]}"#, "/model"),
            (#"{"model":"x","kind":"manual","measures":["heart-rate"]}"#, "/kind"),
            (#"{"model":"x","kind":"phone","measures":[]}"#, "/measures"),
            (#"{"model":"x","kind":"phone","measures":["mood"]}"#, "/measures/0"),
            (#"{"model":"x","kind":"phone","measures":["heart-rate"],"intervalMs":1}"#, "/intervalMs"),
            (#"{"model":"x","kind":"phone","measures":["heart-rate"],"publicKey":"x"}"#, "/publicKey"),
            (#"{"model":"x","kind":"phone","measures":["heart-rate"],"owner":"x"}"#, "/owner"),
        ])
    func badOffers(_ body: String, _ pointer: String) async throws {
        try await IngestHarness.run { harness in
            let response = try await harness.request(
                "POST", "/ingest/v1/pairings", token: nil, body: Data(body.utf8), headers: ["Content-Type": "application/json"])
            #expect(response.status == 422 && response.problem == "invalid-body")
            #expect(try response.decoded(as: Problem.self).errors?.contains { $0.pointer == pointer } == true, "\(response.text)")
        }
    }

    @Test("ACC-09, ACC-23: a pairing whose connection breaks pairs nothing and costs no try; the same number still pairs")
    func broken() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let offer = try await harness.offer()
            for number in [offer.wrongNumber, offer.number] {
                let request = RawConnection.request(
                    "POST", "/ingest/v1/pairings/\(offer.pairing)/confirmation", headers: ["Authorization": "Bearer \(account.token)"],
                    json: Data(#"{"number":"\#(number)"}"#.utf8))
                try await RawConnection.breakOff(request, port: harness.port)
            }
            let waiting: PairingProgress = try await harness.poll(offer).decoded()
            #expect(waiting.state == "waiting" && waiting.number == offer.number)
            #expect(try await harness.devices(of: account).isEmpty)
            #expect(try await harness.confirm(offer, offer.number, by: account).status == 200)
        }
    }

    @Test("A pairing survives a restart between the number and the token, and nothing of it can be read in any file")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let (account, offer) = try await IngestHarness.run(in: folder) { harness in
                let account = try await harness.account()
                let offer = try await harness.offer("Ermenegilda's watch")
                #expect(try await harness.confirm(offer, offer.number, by: account).status == 200)
                return (account, offer)
            }
            let token = try await IngestHarness.run(in: folder) { harness in
                let progress: PairingProgress = try await harness.poll(offer).decoded()
                let token = try #require(progress.token)
                try await eventually(
                    "the account is known again", isTrue: { harness.ingest.deviceModule.registry.bar(of: account.person) == nil })
                #expect(try await harness.post([.pulse(1000, 60)], token: token).accepted == 1)
                return token
            }
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects as? [URL])
            for file in files {
                guard let data = FileManager.default.contents(atPath: file.path) else { continue }
                for secret in ["Ermenegilda", token, offer.secret, "|\(offer.number)"] {
                    #expect(data.range(of: Data(secret.utf8)) == nil, "\(file.lastPathComponent)")
                }
            }
        }
    }
}
