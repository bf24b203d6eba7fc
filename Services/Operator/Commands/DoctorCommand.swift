// `trackme doctor`: what is wrong with the machine or the configuration, and the mend.

import ArgumentParser
import Contracts

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what is wrong with the machine or the configuration, and the mend.",
        discussion: """
            Looks at libraries, caddy, ports (those that the suite of that folder was started with last), what running services remark, folders, key files, disk, clock, limits and every TRACKME_ setting, and changes nothing. \
            Ends with 1 where something keeps the suite from starting or from being safe.

            Example: trackme doctor --data /srv/trackme

            \(ExitStatus.documentation)
            """)

    @OptionGroup var ports: SuitePorts
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        let findings = await Examination(layout: suite.layout, ports: ports.orThose(in: suite.layout.portsFile)).findings()
        findings.forEach { Console.shared.line($0.line) }
        let failures = findings.filter { $0.level == .failure }.count
        let warnings = findings.filter { $0.level == .warning }.count
        Console.shared.line("\(findings.count) checks, \(failures) failures, \(warnings) warnings")
        if failures > 0 { throw ExitStatus.failed.code }
    }
}
