// How stories about one's own data are told: jobs awaited, files fetched, charts as a stranger reads them.

import Contracts
import Foundation
import HTTPKit
import Sealing
import TestKit
import Testing

@testable import Ingest

extension IngestHarness {
    // MARK: Charts

    struct Chart: Decodable {
        struct Point: Decodable, Equatable {
            let from: String?
            let at: String?
            let min: Double?
            let mean: Double?
            let max: Double?
            let count: Int?
            let value: Double?
        }

        struct Coverage: Decodable {
            let share: Double
            let longestGapSeconds: Double
        }

        struct Series: Decodable {
            let type: String
            let unit: String
            let italian: String
            let points: [Point]
            let coverage: Coverage?
            let notice: NoticeItem?
        }

        let from: String
        let to: String
        let granularity: String
        let timezone: String
        let series: [Series]
        let notice: NoticeItem?
    }

    func chart(_ query: String, token: String) async throws -> Chart {
        try await request("GET", "/ingest/v1/series?\(query)", token: token).expect(status: 200).decoded()
    }

    // MARK: Jobs

    struct ExportView: Decodable {
        let id: String
        let state: String
        let format: String
        let expiresAt: String?
        let files: [ExportedFile]
        let fault: String?
    }

    struct ImportView: Decodable {
        struct Rejected: Decodable {
            let index: Int
            let line: Int?
            let type: String
        }

        let id: String
        let state: String
        let accepted: Int
        let duplicates: Int
        let rejectedCount: Int
        let rejected: [Rejected]
        let fault: String?
    }

    /// The export when it is over.
    func export(_ body: JSONValue, token: String) async throws -> ExportView {
        let begun = try await send("POST", "/ingest/v1/exports", body, token: token).expect(status: 202)
        let id = try begun.decoded(as: ExportView.self).id
        return try await eventually("the export is over") {
            let view: ExportView = try await self.request("GET", "/ingest/v1/exports/\(id)", token: token).decoded()
            return view.state == "done" || view.state == "failed" ? view : nil
        }
    }

    /// The files' bytes, their hashes compared with the manifest.
    func files(of export: ExportView, token: String) async throws -> [Data] {
        var files: [Data] = []
        for file in export.files {
            let response = try await request("GET", "/ingest/v1/exports/\(export.id)/files/\(file.name)", token: token)
            #expect(response.status == 200 && response.body.count == file.bytes)
            #expect(response.headers["content-type"] == file.mediaType)
            #expect(Hex.encode(Digest.sha256(response.body)) == file.sha256)
            files.append(response.body)
        }
        return files
    }

    /// The import when it is over.
    func takeIn(_ file: Data, _ mediaType: String, token: String) async throws -> ImportView {
        let begun = try await request("POST", "/ingest/v1/imports", token: token, body: file, headers: ["Content-Type": mediaType])
            .expect(status: 202)
        let id = try begun.decoded(as: ImportView.self).id
        return try await eventually("the import is over") {
            let view: ImportView = try await self.request("GET", "/ingest/v1/imports/\(id)", token: token).decoded()
            return view.state == "done" || view.state == "failed" ? view : nil
        }
    }
}

extension Sample {
    static func of(_ code: String, _ at: Timestamp, _ value: Double) -> Sample {
        Sample(type: Metric(code: code) ?? .heartRate, at: at, value: value)
    }
}
