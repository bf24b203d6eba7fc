// An emergency service whose certificate a private authority vouches for.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

/// A server of HTTPS in Python, with a certificate of its own making for `localhost`; it answers every POST with a bare 200.
private struct PrivateServer {
    static let python = "/usr/bin/python3"
    static let openssl = "/usr/bin/openssl"
    static let isAvailable = [python, openssl].allSatisfy(FileManager.default.isExecutableFile(atPath:))
    private static let program = """
        import http.server, ssl, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers['content-length']))
                self.send_response(200)
                self.send_header('content-length', '0')
                self.end_headers()
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    let port: Int
    /// PEM file of the certificate, which is its own authority.
    let certificate: String
    private let process: Process

    init(in folder: URL) throws {
        certificate = folder.appendingPathComponent("desk.pem").path
        let key = folder.appendingPathComponent("desk.key").path
        let maker = try Self.start(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
            ])
        maker.process.waitUntilExit()
        let server = try Self.start(Self.python, ["-c", Self.program, certificate, key])
        process = server.process
        let said = String(decoding: server.output.availableData, as: UTF8.self)
        port = try #require(Int(said.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    func stop() {
        process.terminate()
    }

    private static func start(_ program: String, _ arguments: [String]) throws -> (process: Process, output: FileHandle) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
        try process.run()
        return (process, output.fileHandleForReading)
    }
}

@Suite(
    "Private authorities, whole service", .timeLimit(.minutes(2)),
    .enabled(if: PrivateServer.isAvailable, "needs /usr/bin/openssl and /usr/bin/python3"))
struct AuthorityStories {
    /// What became of the first attempt to call at `https://localhost`.
    private static func attempt(_ server: PrivateServer, _ stage: Stage, authorities: String?) async throws -> String {
        var settings = ["TRACKME_SOS_WEBHOOK_URL": "https://localhost:\(server.port)/desk"]
        settings["TRACKME_SOS_AUTHORITIES"] = authorities
        let dispatcher = try await stage.start(settings)
        let emergency = try await stage.callForHelp(.random())
        let detail = try await eventually("an attempt") {
            try await stage.question(ReadTimeline(emergency: emergency)).steps.first { $0.event == "dispatch-attempted" }?.detail
        }
        await dispatcher.stop()
        return detail
    }

    @Test(
        "R19, SOS-39: an emergency service under a private authority could not be called: it is under sos.authorities, and by the system's it is not"
    )
    func privateAuthority() async throws {
        try await Stage.play { stage in
            let server = try PrivateServer(in: stage.folder)
            defer { server.stop() }
            let stranger = try await Self.attempt(server, stage, authorities: nil)
            #expect(stranger.contains("failed: ") && !stranger.contains("delivered"), "\(stranger)")
            let friend = try await Self.attempt(server, stage, authorities: server.certificate)
            #expect(friend.contains("delivered with status 200"), "\(friend)")
        }
    }
}
