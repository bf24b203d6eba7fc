// TLS against a real server: whom the sender trusts.

import Foundation
import Logging
import Synchronization
import TestKit
import Testing

@testable import Outbound

/// `openssl s_server` with a certificate of its own making, valid for `localhost` alone.
private final class TLSServer: Sendable {
    let port: Int
    let certificate: String
    private let process: Process
    /// Kept open: at its end the server would end too.
    private let input: FileHandle

    static let tool = "/usr/bin/openssl"
    static let isAvailable = FileManager.default.isExecutableFile(atPath: tool)

    /// - Parameter says: to whoever connects, whatever that one says; a page about the connection unless told. Lines begin with a digit.
    init(folder: URL, says: String? = nil) throws {
        certificate = folder.appendingPathComponent("cert.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        let maker = try TLSServer.start([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]).process
        maker.waitUntilExit()
        let (process, input, output) = try TLSServer.start(
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key] + (says == nil ? ["-www"] : []))
        (self.process, self.input) = (process, input)
        if let says { try input.write(contentsOf: Data(says.utf8)) }
        // It says "ACCEPT 127.0.0.1:41023" when it listens.
        var said = ""
        while !said.contains("\n") || !said.contains("ACCEPT") {
            let more = output.availableData
            guard !more.isEmpty else { throw OutboundError.connect }
            said += String(decoding: more, as: UTF8.self)
        }
        port = Int(said.components(separatedBy: "ACCEPT").last?.components(separatedBy: ":").last?.prefix { $0.isNumber } ?? "") ?? 0
    }

    func stop() {
        process.terminate()
    }

    private static func start(_ arguments: [String]) throws -> (process: Process, input: FileHandle, output: FileHandle) {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: tool)
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
        try process.run()
        return (process, input.fileHandleForWriting, output.fileHandleForReading)
    }
}

@Suite("Certificates", .enabled(if: TLSServer.isAvailable, "needs /usr/bin/openssl"))
struct CertificateTests {
    @Test("A server is trusted by the given authorities and its name, and by nothing else")
    func trust() async throws {
        try await withTemporaryFolder { folder in
            let server = try TLSServer(folder: folder)
            defer { server.stop() }
            var settings = OutboundSettings()
            settings.policy = .anywhere
            let logger = Running.quiet
            let stranger = HTTPSender(settings, logger: logger)
            await #expect(throws: OutboundError.tls) { try await stranger.send(OutboundRequest(url: "https://localhost:\(server.port)/")) }
            settings.authorities = server.certificate
            let friend = HTTPSender(settings, logger: logger)
            #expect(try await friend.send(OutboundRequest(url: "https://localhost:\(server.port)/")).status == 200)
            await #expect(throws: OutboundError.tls) { try await friend.send(OutboundRequest(url: "https://127.0.0.1:\(server.port)/")) }
        }
    }

    @Test("A mail server that refuses the password is told apart from a mail that is malformed, and the password is in no word of it")
    func logIn() async throws {
        try await withTemporaryFolder { folder in
            let server = try TLSServer(
                folder: folder, says: "220 test ESMTP\r\n250-test\r\n250 AUTH PLAIN\r\n535 5.7.8 not with that password\r\n221 bye\r\n")
            defer { server.stop() }
            var settings = OutboundSettings()
            (settings.policy, settings.authorities) = (.anywhere, server.certificate)
            let sender = MailSender(
                MailServer(
                    url: "smtps://localhost:\(server.port)", greeting: "suite.example",
                    credentials: .init(name: "trackme", password: "correct horse")),
                settings, logger: Running.quiet)
            let (from, to) = (try #require(MailAddress("trackme@suite.example")), try #require(MailAddress("anna@example.org")))
            let error = await #expect(throws: MailError.self) {
                try await sender.send(OutboundMail(sender: from, recipient: to, data: Array("Hello\r\n".utf8), timeout: .seconds(20)))
            }
            #expect(error == .notSent(.logInRefused))
            #expect(!String(reflecting: error).contains("horse"))
        }
    }
}
