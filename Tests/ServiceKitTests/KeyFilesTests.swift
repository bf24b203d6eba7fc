// How key files come about and which ones are refused.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@Suite("KeyFiles")
struct KeyFilesTests {
    @Test("a secret is made at the first asking, stays the same, and only its owner may read it")
    func secret() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)

            let first = try keys.secret("store.kek", of: .ingest)
            let second = try KeyFiles(folder: folder).secret("store.kek", of: .ingest)

            #expect(first.count == 32 && first == second)
            let mode = try FileManager.default.attributesOfItem(atPath: keys.file("store.kek", of: .ingest).path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test("a secret that others may read is refused, and the mend is said")
    func openSecret() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)
            _ = try keys.secret("store.kek", of: .ingest)
            let path = keys.file("store.kek", of: .ingest).path
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)

            let fault = #expect(throws: KeyFiles.Fault.self) { try keys.secret("store.kek", of: .ingest) }
            #expect(fault?.description.contains("chmod 600 \(path)") == true)
        }
    }

    @Test("a damaged secret is refused instead of being made anew")
    func damagedSecret() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)
            try keys.write("abc", to: keys.file("store.kek", of: .ingest))

            #expect(throws: KeyFiles.Fault.self) { try keys.secret("store.kek", of: .ingest) }
        }
    }

    @Test("bus keys are made with the public file that lets others admit the peer")
    func busKeys() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)

            let pair = try keys.busKeys(of: .ingest)

            #expect(try keys.publicPeer(.ingest).key == pair.publicKey)
            #expect(try keys.busKeys(of: .ingest).secretKey == pair.secretKey)
            #expect(keys.publicPeers().map(\.peer) == [.ingest])
        }
    }

    @Test("a damaged public file of one peer kept all who hear it from starting: it is made again from the peer's secret")
    func damagedPublicFile() async throws {
        try await withTemporaryFolder { folder in
            let keys = KeyFiles(folder: folder)
            let pair = try keys.busKeys(of: .ingest)
            for damage in ["", "{", #"{"peer":"consent","key":"\#(pair.publicKey)"}"#] {
                try Data(damage.utf8).write(to: keys.publicFile(of: .ingest))

                #expect(try keys.busKeys(of: .ingest).publicKey == pair.publicKey)
                #expect(try keys.publicPeer(.ingest) == KeyFiles.PublicPeer(peer: .ingest, key: pair.publicKey))
            }
            // The rights of a peer from elsewhere are in its file alone.
            let stranger = Peer("observer")
            try keys.makeBusKeys(KeyFiles.PublicPeer(peer: stranger, key: "", hear: ["ingest.samples"], ask: []))
            try Data("{".utf8).write(to: keys.publicFile(of: stranger))
            #expect(throws: KeyFiles.Fault.self) { try keys.busKeys(of: stranger) }
        }
    }

    @Test("rights of suite peers come from the contracts, those of strangers from their files alone")
    func allowances() {
        let peers = [
            KeyFiles.PublicPeer(peer: .trackme, key: "t", hear: ["ingest.samples"], ask: nil),
            KeyFiles.PublicPeer(peer: .sosDispatcher, key: "s"),
            KeyFiles.PublicPeer(peer: Peer("observer"), key: "o", hear: ["ingest.samples"], ask: nil),
            KeyFiles.PublicPeer(peer: .ingest, key: "i"),
        ]

        let allowed = Dictionary(uniqueKeysWithValues: Allowances.allowed(by: .ingest, peers: peers).map { ($0.peer.name, $0) })

        #expect(allowed["ingest"] == nil)
        #expect(allowed["trackme"]?.families == [])
        #expect(allowed["trackme"]?.methods == ["add-device", "revoke-device", "forget-consumer", "list-jobs", "resend-jobs"])
        #expect(allowed["sos-dispatcher"]?.families == ["ingest.samples", "ingest.devices"])
        #expect(allowed["sos-dispatcher"]?.methods.contains("read-latest") == true)
        #expect(allowed["sos-dispatcher"]?.methods.contains("revoke-device") == false)
        #expect(allowed["observer"]?.families == ["ingest.samples"] && allowed["observer"]?.methods == [])
    }
}
