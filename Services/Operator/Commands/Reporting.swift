// How every command ends when something is wrong.

import ArgumentParser
import Contracts
import ServiceKit

/// Prints an `OperatorError` with its mend and ends with its code; other errors end with 1.
func reportingErrors(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let error as OperatorError {
        Console.shared.complain("\(error)")
        throw error.status.code
    } catch let code as ExitCode {
        throw code
    } catch {
        Console.shared.complain(FileTrouble.text(error) ?? "\(error)")
        throw ExitStatus.failed.code
    }
}

extension Identifier: ExpressibleByArgument {
    /// The written form with its prefix; nil lets the command line be refused with its usage.
    package init?(argument: String) {
        self.init(argument)
    }
}
