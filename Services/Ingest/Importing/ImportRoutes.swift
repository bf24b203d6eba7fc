// The routes of imports: a file handed in, watched while it is taken.

import Contracts
import HTTPKit
import NIOCore
import ServiceKit
import Storage

struct ImportRoutes: Sendable {
    let imports: Imports
    let people: People

    var all: [Route] { [begin, list, find] }

    private func item(_ job: Import) -> ImportItem {
        ImportItem(job, progress: imports.transfers.progress(of: job.row.job))
    }

    private static let contents: [BodyShape.Content] = [
        .init(MediaType.json, .anything), .init(MediaType.ndjson, .string()), .init("text/csv", .string()),
        .init("application/fhir+json", .anything), .init("application/gpx+xml", .string()),
    ]

    private var begin: Route {
        Route(
            .post, "/ingest/v1/imports", access: .person, summary: "Hands in a file of entries",
            description: """
                Entries as JSON, NDJSON or CSV as an export writes them, Bundles or Observations of FHIR R4, tracks of GPX; also \
                `activities.json` of an export. The file is safe when this is answered and its entries are taken in the background by the \
                rules of every upload: what is stored already changes nothing, what is wrong is named by its line and the rest goes on. \
                Handing a file in again does no harm.
                """,
            body: BodyShape(Self.contents, limit: ImportLimits.bytes, inflatedLimit: ImportLimits.bytes),
            answers: [
                .json(202, "Handed in", ImportItem.self), .problem(429, Problem.tooManyImports.name),
                .problem(403, AcquisitionBar.inactive.rawValue, AcquisitionBar.unknown.rawValue),
            ]
        ) { exchange in
            guard let format = exchange.mediaType.flatMap({ ExchangeFormat(mediaType: $0) }) else { throw Problem.notFound }
            let person = try exchange.person
            if let bar = imports.registry.bar(of: person) { throw bar.problem }
            return try await OwnDataDoor.answering {
                let reader = try await people.reader(of: person)
                let job = JobID.random()
                do {
                    try await save(exchange, as: job, of: reader)
                    guard let begun = try await imports.begin(job, format, of: reader, now: exchange.receivedAt) else {
                        throw Refusal(
                            Problem.tooManyImports.saying(
                                "At most \(Imports.waiting) files may wait. Try again when one is done.",
                                italian: "Possono attendere al massimo \(Imports.waiting) file. Riprovi quando uno è finito."),
                            retryAfter: .seconds(60))
                    }
                    return try .json(item(begun), status: 202)
                } catch {
                    imports.transfers.files.remove(job)
                    guard case SealedFiles.Fault.noRoom = error else { throw error }
                    throw StoreError.full
                }
            }
        }
    }

    /// Seals the body block by block while it comes.
    private func save(_ exchange: Exchange, as job: JobID, of reader: Reader) async throws {
        let file = try imports.transfers.files.write(job, file: 0, key: imports.transfers.vault.key(of: reader.person))
        for try await chunk in try exchange.bodyChunks(limit: ImportLimits.bytes, inflatedLimit: ImportLimits.bytes) {
            try file.add(Array(chunk.readableBytesView))
        }
        try file.close()
    }

    private var list: Route {
        Route(
            .get, "/ingest/v1/imports", access: .person, summary: "One's own imports, the newest first",
            answers: [.json(200, "The last \(Imports.listed)", Page<ImportItem>.self)]
        ) { exchange in
            try await OwnDataDoor.answering {
                let found: [Import] = try await imports.transfers.list(
                    of: people.reader(of: exchange.person), .imported, limit: Imports.listed)
                return try .json(Page(items: found.map(item), next: nil))
            }
        }
    }

    private var find: Route {
        Route(
            .get, "/ingest/v1/imports/{import}", access: .person, summary: "An import: state, progress, refusals",
            answers: [.json(200, "The import", ImportItem.self)]
        ) { exchange in
            let job: JobID = try exchange.identifier("import")
            return try await OwnDataDoor.answering {
                let found: Import? = try await imports.transfers.find(job, of: people.reader(of: exchange.person), .imported)
                guard let found else { throw Problem.notFound }
                return try .json(item(found))
            }
        }
    }
}
