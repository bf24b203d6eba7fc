// The routes of exports: asked for, watched, downloaded, removed.

import Contracts
import HTTPKit
import ServiceKit

struct ExportRoutes: Sendable {
    let exports: Exports
    let people: People

    var all: [Route] { [begin, list, find, download, remove] }

    private func item(_ export: Export) -> ExportItem {
        ExportItem(export, progress: exports.transfers.progress(of: export.row.job), expiresAt: exports.expiry(of: export))
    }

    private var begin: Route {
        Route(
            .post, "/ingest/v1/exports", access: .personAnew, summary: "Begins an export of one's own data",
            description: """
                Written in the background; its files can be downloaded for \(exports.kept.wholeMilliseconds / 3_600_000) hours. At most \
                \(exports.perDay) a day; asking for one that is being written gives that one. `fhir`: Bundles of FHIR R4 with Observations \
                in LOINC and UCUM. Large exports have several files, each of which can be imported again.
                """,
            body: .json(NewExport.self, examples: [["format": "fhir"]], limit: 16 << 10, inflatedLimit: 16 << 10),
            answers: [
                .json(202, "Begun", ExportItem.self), .problem(429, Problem.tooManyExports.name),
            ]
        ) { exchange in
            let now = exchange.receivedAt
            let request = try await exchange.json(NewExport.self).request(now: now)
            return try await OwnDataDoor.answering {
                switch try await exports.begin(request, of: people.reader(of: exchange.person), now: now) {
                case .begun(let export), .known(let export): return try .json(item(export), status: 202)
                case .exhausted(let wait):
                    throw Refusal(
                        Problem.tooManyExports.saying(
                            "At most \(exports.perDay) exports in 24 hours. Download the last one, or wait as long as `Retry-After` says.",
                            italian:
                                """
                                Al massimo \(exports.perDay) esportazioni in 24 ore. Scarichi l'ultima, o attenda quanto dice \
                                `Retry-After`.
                                """
                        ),
                        retryAfter: wait)
                }
            }
        }
    }

    private var list: Route {
        Route(
            .get, "/ingest/v1/exports", access: .person, summary: "One's own exports, the newest first",
            answers: [.json(200, "The last \(Exports.listed)", Page<ExportItem>.self)]
        ) { exchange in
            try await OwnDataDoor.answering {
                let found: [Export] = try await exports.transfers.list(
                    of: people.reader(of: exchange.person), .export, limit: Exports.listed)
                return try .json(Page(items: found.map(item), next: nil))
            }
        }
    }

    private var find: Route {
        Route(
            .get, "/ingest/v1/exports/{export}", access: .person, summary: "An export: state, progress, manifest",
            answers: [.json(200, "The export", ExportItem.self)]
        ) { exchange in
            let job: JobID = try exchange.identifier("export")
            return try await OwnDataDoor.answering {
                try .json(item(try await existing(job, exchange)))
            }
        }
    }

    private func existing(_ job: JobID, _ exchange: Exchange) async throws -> Export {
        guard let export: Export = try await exports.transfers.find(job, of: people.reader(of: exchange.person), .export) else {
            throw Problem.notFound
        }
        return export
    }

    private var download: Route {
        Route(
            .get, "/ingest/v1/exports/{export}/files/{file}", access: .person, summary: "One file of an export",
            parameters: [.path("file", .string(), "Its name in the manifest.")],
            answers: [
                Answer(200, "The file", contents: ExchangeFormat.allCases.map { .init($0.mediaType, .anything) }),
                .problem(409, Problem.notReady.name),
            ]
        ) { exchange in
            let job: JobID = try exchange.identifier("export")
            let name = exchange.path("file")
            return try await OwnDataDoor.answering {
                let export = try await existing(job, exchange)
                guard export.row.state != .open else {
                    throw Problem.notReady.saying(
                        "The export is still being written. Look at its state, then download again.",
                        italian: "L'esportazione è ancora in corso. Ne guardi lo stato, poi scarichi di nuovo.")
                }
                guard export.row.state == .done, let number = export.result?.files.firstIndex(where: { $0.name == name }),
                    let file = export.result?.files[number]
                else { throw Problem.notFound }
                let reader = try await people.reader(of: exchange.person)
                return HTTPAnswer.stream(contentType: file.mediaType) { writer in
                    let blocks = try exports.file(number, of: export, reader)
                    var left = file.bytes
                    while let block = try blocks.next() {
                        left -= block.count
                        try await writer.write(block)
                    }
                    // Cut off, so that the caller sees that it is not whole.
                    guard left == 0 else { throw SealedFiles.Fault.damaged }
                }
            }
        }
    }

    private var remove: Route {
        Route(
            .delete, "/ingest/v1/exports/{export}", access: .person, summary: "Removes an export and its files",
            description: "It counts on for how many may be begun in a day.", answers: [Answer(204, "Removed")]
        ) { exchange in
            let job: JobID = try exchange.identifier("export")
            return try await OwnDataDoor.answering {
                guard try await exports.remove(job, of: people.reader(of: exchange.person)) else { throw Problem.notFound }
                return .empty()
            }
        }
    }
}
