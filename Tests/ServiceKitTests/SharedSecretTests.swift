// Secrets that both SOS dispatchers go by: one damaged file must not stop both.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import TestKit
import Testing

@testable import ServiceKit

@Suite("SharedSecret", .timeLimit(.minutes(2)))
struct SharedSecretTests {
    /// What becomes of a file.
    @Test("a secret just replaced by a file that others may read gave way to the one that was given up, and the mend destroyed it")
    func openSecret() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)
            #expect(keys.makeShared().isEmpty)
            for secret in [SharedSecret.webhook, .heartbeat, .token] {
                let (original, copy) = keys.places(of: secret)
                let (new, old) = (secret.make(), try keys.text(of: secret).text)
                try Data(new.utf8).write(to: original)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: original.path)
                let inForce = try keys.text(of: secret)
                #expect(inForce.text == new && inForce.fault?.description.contains("chmod 600") == true)
                guard case .open = keys.standing(of: secret) else { return #expect(Bool(false), "others may read it") }
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: original.path)
                #expect(keys.makeShared().isEmpty && keys.standing(of: secret) == .whole)
                #expect(try String(contentsOf: copy, encoding: .utf8) != old)
            }
        }
    }

    enum Damage: String, CaseIterable, Sendable {
        case cut, emptied, garbled, gone

        func happen(to file: URL) throws {
            switch self {
            case .cut: try Data(contentsOf: file).prefix(20).write(to: file)
            case .emptied: try Data().write(to: file)
            case .garbled: try Data([0xFF, 0xFE, 0x00, 0x80]).write(to: file)
            case .gone: try FileManager.default.removeItem(at: file)
            }
        }
    }

    /// One start of a dispatcher, as far as its secrets go.
    private static func start(
        _ peer: Peer, in folder: URL
    ) async throws -> (secrets: [String: [UInt8]], remarks: [String]) {
        let runtime = try Runtime.test(peer, in: folder)
        do {
            let keys = try runtime.openPersonKeys()
            var secrets: [String: [UInt8]] = [:]
            for secret in SharedSecret.all where secret.kind == .key {
                secrets[secret.name] = try runtime.secret(secret.name, of: .sosDispatcher)
            }
            await keys.close()
            await runtime.bus.shutdown()
            return (secrets, runtime.faults.remarks)
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    @Test(
        "SOS-28: one damaged file of a key that both dispatchers go by stopped both: each goes by its copy, and names the file",
        arguments: Damage.allCases)
    func damagedKey(damage: Damage) async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder.appendingPathComponent("k"))
            #expect(keys.makeShared().isEmpty)
            let whole = try await Self.start(.sosDispatcher, in: folder)
            #expect(whole.remarks.isEmpty)
            #expect(try await Self.start(.sosDeputy, in: folder).secrets == whole.secrets)
            for secret in SharedSecret.all where secret.kind == .key {
                let file = keys.places(of: secret).original
                let before = try Data(contentsOf: file)
                try damage.happen(to: file)
                for peer in [Peer.sosDispatcher, .sosDeputy] {
                    let (secrets, remarks) = try await Self.start(peer, in: folder)
                    #expect(secrets == whole.secrets)
                    #expect(remarks.count == 1 && remarks[0].contains(file.path) && remarks[0].contains("restore it"))
                    #expect(!remarks[0].contains(Hex.encode(whole.secrets[secret.name] ?? [])))
                }
                if damage != .gone { try before.write(to: file) } else { #expect(keys.makeShared().isEmpty) }
            }
            #expect(try await Self.start(.sosDispatcher, in: folder).remarks.isEmpty)
        }
    }

    @Test(
        "Two keys that are not the same: both dispatchers go by the one that their data lie under, whichever file it is in",
        arguments: [true, false])
    func differing(originalIsWrong: Bool) async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder.appendingPathComponent("k"))
            #expect(keys.makeShared().isEmpty)
            let secret = try #require(SharedSecret.key("signing.seed", of: .sosDispatcher))
            let whole = try await Self.start(.sosDispatcher, in: folder)
            _ = try await Self.start(.sosDeputy, in: folder)
            let (original, copy) = keys.places(of: secret)
            try keys.write(String(repeating: "0a", count: 32), to: originalIsWrong ? original : copy)

            for peer in [Peer.sosDispatcher, .sosDeputy] {
                let (secrets, remarks) = try await Self.start(peer, in: folder)
                #expect(secrets == whole.secrets && remarks.count == (originalIsWrong ? 1 : 0))
            }
            // Which is right is not for `trackme keys init` to say.
            let files = try [original, copy].map { try Data(contentsOf: $0) }
            #expect(keys.makeShared().count == 1)
            #expect(try [original, copy].map { try Data(contentsOf: $0) } == files)
            guard case .differing = keys.standing(of: secret) else { return #expect(Bool(false), "they differ") }
        }
    }

    @Test("A key that is damaged in both places stops the start, with the words of before")
    func lost() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder.appendingPathComponent("k"))
            #expect(keys.makeShared().isEmpty)
            _ = try await Self.start(.sosDeputy, in: folder)
            let (original, copy) = keys.places(of: SharedSecret.all[0])
            for file in [original, copy] { try Data().write(to: file) }

            let fault = await #expect(throws: KeyFiles.Fault.self) { try await Self.start(.sosDeputy, in: folder) }

            #expect(fault?.description == "\(original.path) must hold 64 hex digits; restore it from the keys' backup")
            #expect(keys.makeShared().count == 1)
            guard case .lost = keys.standing(of: SharedSecret.all[0]) else { return #expect(Bool(false), "it is lost") }
        }
    }

    @Test("What is agreed upon with others: the original decides, its copy stands in and follows it", arguments: Damage.allCases)
    func agreedUpon(damage: Damage) async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)
            #expect(keys.makeShared().isEmpty)
            for secret in [SharedSecret.webhook, .heartbeat, .token] {
                let (original, copy) = keys.places(of: secret)
                let text = try keys.text(of: secret)
                #expect(text.fault == nil)
                #expect(try FileManager.default.attributesOfItem(atPath: copy.path)[.posixPermissions] as? Int == 0o600)

                try damage.happen(to: original)
                let damaged = try keys.text(of: secret)
                if damage == .gone {
                    #expect(damaged.text == text.text && damaged.fault != nil)
                } else {
                    #expect(damaged.text == text.text && damaged.fault?.description.contains(original.path) == true)
                    #expect(keys.makeShared().count == 1, "\(secret.name)")
                    guard case .damaged = keys.standing(of: secret) else { return #expect(Bool(false), "it is damaged") }
                }
                // Replaced by another that was agreed upon.
                try keys.write(secret.make(), to: original)
                #expect(keys.standing(of: secret) == .withoutCopy)
                #expect(keys.makeShared().isEmpty)
                #expect(keys.standing(of: secret) == .whole)
                #expect(try keys.text(of: secret).text != text.text)
                #expect(try String(contentsOf: copy, encoding: .utf8) == String(contentsOf: original, encoding: .utf8))
            }
        }
    }
}
