// The doors to data files: asked for, watched, downloaded with their hashes, removed.

import Contracts
import HTTPKit
import HTTPTypes
import ServiceKit

struct DataFileRoutes: Sendable {
    let service: DataFileService
    let data: DataService
    let admit: Admit

    var all: [Route] { [begin, list, find, download, remove] }

    private static let fileID = Parameter.path("file", .identifier(Job.self), "The file job's id.")

    private func item(_ job: DataFileJob, of request: MadeRequest) -> DataFileItem {
        DataFileItem(job, of: request, expiresAt: service.expiry(of: job))
    }

    /// How much was measured and written tells of the person as the values do: it is not told while nobody knows what is allowed.
    private func requireConsentHeard() throws {
        guard service.gate.isOpen else {
            throw Refusal(
                Problem.consentNotHeard.saying(
                    "What the person allows now is not known for the moment. Ask again in a few seconds.",
                    italian: "Per il momento non si sa che cosa la persona permetta. Chieda di nuovo tra qualche secondo."),
                retryAfter: .seconds(5))
        }
    }

    private var begin: Route {
        Route(
            .post, "/thirdparty/v1/requests/{request}/files", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "Has the data of a request written as files",
            description: """
                Needs `data:read`. \
                Written in the background, normally at once; kept for \(service.settings.filesKept.wholeMilliseconds / 3_600_000) hours. Asking \
                for the same that is being written gives that one. The manifest holds a SHA-256 for each file.
                """,
            parameters: [RequestRoutes.requestID],
            body: .json(NewDataFile.self, examples: [["format": "fhir"]], limit: 16 << 10, inflatedLimit: 16 << 10),
            answers: [
                .json(202, "Begun", DataFileItem.self, example: Examples.file).sending(.location), .noAdmission,
                .problem(402, Problem.paymentOutstanding.name),
                .problem(403, Problem.notEntitled.name), .problem(404, "not-found"),
                .problem(429, Problem.tooManyFiles.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let id: RequestID = try exchange.identifier("request")
            let body: NewDataFile = try await exchange.json()
            guard let found = try await data.find(id, of: standing.id) else { throw Problem.absent }
            return try await DataRoutes.answering {
                let order = try body.order(for: found.stored.request)
                for type in order.types {
                    do throws(DataAccess.Refusal) {
                        _ = try DataAccess(found.stored.request, isPaid: found.isPaid, type: type, from: order.from, to: order.to)
                    } catch {
                        throw error.problem(body.pointers(of: type))
                    }
                }
                do {
                    switch try await service.begin(order, of: found.stored.request) {
                    case .begun(let job):
                        return try .json(item(job, of: found.stored.request), status: 202)
                            .with(.location, "/thirdparty/v1/requests/\(id)/files/\(job.job)")
                    case .exhausted(let wait):
                        throw Refusal(
                            Problem.tooManyFiles.saying(
                                "At most \(service.settings.filesPerDay) file jobs in 24 hours. Download what is there, or read pages.",
                                italian:
                                    "Al massimo \(service.settings.filesPerDay) file in 24 ore. Scarichi quelli che ci sono, o legga le pagine."
                            ),
                            retryAfter: wait)
                    }
                } catch is KeyDestroyed {
                    throw DataAccess.Refusal.over(.revoked)
                }
            }
        }
    }

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/requests/{request}/files", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "The file jobs of a request, newest first",
            description: "Needs `data:read`.",
            parameters: [RequestRoutes.requestID],
            answers: [
                .json(200, "The last \(DataFileService.listed)", Page<DataFileItem>.self, example: Examples.page(Examples.file)),
                .noAdmission, .problem(404, "not-found"), .problem(503, Problem.consentNotHeard.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let id: RequestID = try exchange.identifier("request")
            // The jobs first: what is withdrawn between the two looks is shown as withdrawn.
            let jobs = try await service.list(of: id)
            guard let found = try await data.find(id, of: standing.id) else { throw Problem.absent }
            if jobs.contains(where: { $0.state == .done }) { try requireConsentHeard() }
            return try .json(Page(items: jobs.map { item($0, of: found.stored.request) }, next: nil))
        }
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/requests/{request}/files/{file}", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "A file job: state and manifest",
            description: "Needs `data:read`.",
            parameters: [RequestRoutes.requestID, Self.fileID],
            answers: [
                .json(200, "The job", DataFileItem.self, example: Examples.file), .noAdmission, .problem(404, "not-found"),
                .problem(503, Problem.consentNotHeard.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let (job, request, _) = try await existing(exchange, standing)
            if job.state == .done { try requireConsentHeard() }
            return try .json(item(job, of: request))
        }
    }

    private func existing(
        _ exchange: Exchange, _ standing: Standing
    ) async throws -> (job: DataFileJob, request: MadeRequest, isPaid: Bool) {
        let id: RequestID = try exchange.identifier("request")
        // The job first, as in the list.
        guard let job = try await service.find(exchange.identifier("file"), of: id), let found = try await data.find(id, of: standing.id)
        else { throw Problem.absent }
        return (job, found.stored.request, found.isPaid)
    }

    private var download: Route {
        Route(
            .get, "/thirdparty/v1/requests/{request}/files/{file}/parts/{part}", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "One file of a job",
            description: "Needs `data:read`. Also `\(Self.sums)`, which `sha256sum --check` reads.",
            parameters: [RequestRoutes.requestID, Self.fileID, .path("part", .string(), "Its name in the manifest.")],
            answers: [
                Answer(
                    200, "The file",
                    contents: DataFormat.allCases.map { .init($0.mediaType, .anything, examples: $0 == .json ? [Examples.jsonFile] : []) }
                        + [.init(MediaType.text, .string())]
                ).sending(.dataResponsibility, .contentDisposition),
                .noAdmission, .problem(402, Problem.paymentOutstanding.name),
                .problem(403, Problem.notEntitled.name), .problem(404, "not-found"),
                .problem(409, Problem.fileNotReady.name), .problem(503, Problem.consentNotHeard.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let (job, request, isPaid) = try await existing(exchange, standing)
            let name = exchange.path("part")
            return try await DataRoutes.answering {
                _ = try DataAccess.grant(of: request, isPaid: isPaid)
                guard job.state != .open else {
                    throw Problem.fileNotReady.saying(
                        "In preparation: look at the job's state, then download again.",
                        italian: "In preparazione: ne guardi lo stato, poi scarichi di nuovo.")
                }
                guard job.state == .done else { throw Problem.absent }
                try requireConsentHeard()
                if name == Self.sums {
                    return .text(job.parts.map { "\($0.sha256)  \($0.name)\n" }.joined())
                        .with(.dataResponsibility, ResponsibilityNotice.text)
                }
                guard let number = job.parts.firstIndex(where: { $0.name == name }) else { throw Problem.absent }
                return Self.stream(job.parts[number]) {
                    try service.read(job, part: number)
                } mayGoOn: {
                    try await service.mayLeave(job)
                }
            }
        }
    }

    private static let sums = "SHA256SUMS"

    /// Blocks between two checks whether the file may still leave.
    private static let blocksAtOnce = 16

    private static func stream(
        _ part: DataFilePart, _ open: @escaping @Sendable () throws -> SealedFileReader,
        mayGoOn: @escaping @Sendable () async throws -> Bool
    ) -> HTTPAnswer {
        HTTPAnswer.stream(contentType: part.mediaType) { writer in
            let blocks = try open()
            var (left, read) = (part.bytes, 0)
            while let block = try blocks.next() {
                if read.isMultiple(of: blocksAtOnce), try await !mayGoOn() { throw DataRefusal.denied("withdrawn, or consent is silent") }
                read += 1
                left -= block.count
                try await writer.write(block)
            }
            // Cut off, so that the caller sees that it is not whole.
            guard left == 0 else { throw SealedFiles.Fault.damaged }
        }
        .with(.dataResponsibility, ResponsibilityNotice.text)
        .with(.contentDisposition, "attachment; filename=\"\(part.name)\"")
    }

    private var remove: Route {
        Route(
            .delete, "/thirdparty/v1/requests/{request}/files/{file}", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "Removes a file job and its files",
            description: "Needs `data:read`.",
            parameters: [RequestRoutes.requestID, Self.fileID], answers: [Answer(204, "Removed"), .noAdmission, .problem(404, "not-found")]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            try await service.remove(try await existing(exchange, standing).job)
            return .empty()
        }
    }
}
