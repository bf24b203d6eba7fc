// Runs a program to its end and keeps what it wrote.

import Foundation

@testable import Operator

struct Tool {
    var status: Int32
    /// Standard output and standard error, as they came.
    var output: String

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Where a program is: by path, or by name in `PATH` and where root's programs are.
    static func file(_ program: String) -> String? {
        if program.hasPrefix("/") { return program }
        return SystemProgram.find(program) ?? SystemProgram.find(program, path: "/usr/sbin:/sbin")
    }

    @discardableResult
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, allowed: Set<Int32> = [0]
    ) throws -> Tool {
        guard let file = file(program) else { throw Fault(description: "\(program) is not installed") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: file)
        process.arguments = arguments
        if let environment { process.environment = environment }
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard allowed.contains(process.terminationStatus) else {
            throw Fault(description: "\(program) \(arguments.joined(separator: " ")) ended with \(process.terminationStatus): \(text)")
        }
        return Tool(status: process.terminationStatus, output: text)
    }
}

extension RealSuite {
    /// A command of the operator's tool, on this suite.
    @discardableResult
    func trackme(_ arguments: String..., allowed: Set<Int32> = [0]) throws -> Tool {
        try Tool.run(
            ServiceExecutable.folder.appendingPathComponent("trackme").path, arguments + ["--data", data.path],
            environment: layout.environment, allowed: allowed)
    }
}
