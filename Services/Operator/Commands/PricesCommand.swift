// `trackme prices`: what data cost.

import ArgumentParser
import Contracts
import Foundation

struct PricesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prices", abstract: "Shows and sets what third parties pay for data.",
        discussion: "Until a list is set everything is free of charge. Individuals never pay.",
        subcommands: [ShowPricesCommand.self, SetPricesCommand.self])
}

struct ShowPricesCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the price list in force, as `prices set` reads it.",
        discussion: "Example: trackme prices show > prices.json\n\n\(ExitStatus.documentation)")

    @OptionGroup var suite: SuiteOptions

    var request: ReadPrices { ReadPrices() }

    func show(_ reply: ReadPrices.Reply) throws {
        Console.shared.complain(reply.version == 0 ? "No list was set: everything is free." : "Version \(reply.version).")
        Console.shared.line(try PriceFile.text(of: reply.prices))
    }
}

struct SetPricesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Puts the price list of a file in force at once.",
        discussion: """
            Requests that were sent before keep their price. Prices are in minor units (cents), without tax: perRequest for each request, \
            and for each data type and each day that was begun one price per granularity; usual holds for every type that types does not \
            name; rebates are for many persons asked for at once; taxBasisPoints 2200 is 22 %. The data of groups are free of charge \
            without groups; with it each group request that is accepted costs perRequest, and perThousandEntries for each thousand \
            entries that was begun. All members but groups are required: types is {} and rebates is [] where there are none.

            Example: {"currency":"EUR","perRequest":500,"usual":{"seconds":20,"minutes":10,"hours":5},
                      "types":{"position":{"seconds":40,"minutes":20,"hours":10}},
                      "rebates":[{"fromPersons":10,"percent":15}],"taxBasisPoints":2200,
                      "groups":{"perRequest":5000,"perThousandEntries":100}}

            Example: trackme prices set prices.json

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The file, JSON; - for standard input.")
    var file: String
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let prices = try PriceFile.read(file)
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.ask(SetPrices(prices: prices)) }
            Console.shared.line("version \(reply.version) is in force")
        }
    }
}

/// A price list as a file.
enum PriceFile {
    static func read(_ path: String) throws -> PriceList {
        let data = path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data else { throw OperatorError(.failed, "\(path) cannot be read", mend: "name a file with a price list") }
        return try list(data)
    }

    static func list(_ data: Data) throws -> PriceList {
        let prices: PriceList
        do {
            prices = try JSONDecoder().decode(PriceList.self, from: data)
        } catch {
            throw OperatorError(
                .failed, "this is not a price list: \(what(error))", mend: "`trackme prices show` writes one; --help shows an example")
        }
        let faults = prices.faults
        guard faults.isEmpty else {
            throw OperatorError(.failed, faults.joined(separator: "\n"), mend: "correct the file; --help shows an example")
        }
        return prices
    }

    /// Which member is wrong, and how.
    private static func what(_ error: any Error) -> String {
        func named(_ path: [any CodingKey]) -> String { path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".") }
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): return "\(named(context.codingPath + [key])) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            return context.codingPath.isEmpty ? "it is no JSON object" : "\(named(context.codingPath)) is of the wrong form"
        default: return "it is no JSON object"
        }
    }

    static func text(of prices: PriceList) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        return String(decoding: try encoder.encode(prices), as: UTF8.self)
    }
}
