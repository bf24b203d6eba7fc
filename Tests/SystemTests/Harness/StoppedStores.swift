// What the files of a stopped suite say of themselves.

import Contracts
import Foundation
import GRDB
import Storage

struct StoppedStores {
    let folders: [URL]

    private var files: [URL] {
        folders.flatMap { folder in
            (FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? [])
                .filter { $0.pathExtension == "db" }
        }
    }

    private func file(_ name: String) -> URL? { files.first { $0.lastPathComponent == name } }

    /// SQLite's own examination of every database.
    func examine() -> [StoreExamination] {
        files.map { file in
            do {
                let verdict = try DatabaseQueue(path: file.path).read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
                return StoreExamination(file: file.lastPathComponent, verdict: verdict.joined(separator: ", "))
            } catch {
                return StoreExamination(file: file.lastPathComponent, verdict: "\(error)")
            }
        }
    }

    /// Where the dispatcher stands in each stream of samples that has facts.
    func dispatcherProgress() throws -> [ConsumerProgress] {
        guard let ingest = file("ingest.db"), let sos = file("sos-dispatcher.db") else { return [] }
        let heads = try DatabaseQueue(path: ingest.path).read { try StreamLog().heads($0) }
        let positions = try DatabaseQueue(path: sos.path).read { try ConsumerPositions().load($0) }
        let next = Dictionary(uniqueKeysWithValues: positions.map { ($0.stream, $0.next) })
        return heads.filter { StreamFamily.samples.streams.contains($0.key) }
            .map { ConsumerProgress(consumer: "sos-dispatcher", stream: $0.key, next: next[$0.key] ?? 1, head: $0.value) }
    }
}
