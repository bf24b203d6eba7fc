// What an operator may register as an integrator.

import Contracts
import Foundation

enum IntegratorRules {
    static let priorities = 0...1000
    static let drillHours = 0.01...8760.0
    static let mostIntegrators = 200

    /// What is wrong, and what to do; nil where nothing is.
    static func fault(of settings: IntegratorSettings) -> String? {
        guard isName(settings.name) else { return "a name has 1 to 32 lower-case letters, digits and hyphens, a letter first" }
        if let fault = settings.area.fault { return fault }
        for address in [settings.url, settings.secondURL].compactMap({ $0 }) where !isAddress(address) {
            return "an endpoint is an absolute http or https address without a user name"
        }
        if settings.url == nil, settings.secondURL != nil { return "a second endpoint needs a first one" }
        if let number = settings.number, !isNumber(number) { return "a number is written +, then 7 to 15 digits" }
        if settings.url == nil, settings.number == nil, settings.peer == nil {
            return "an integrator needs a way to be reached: an endpoint, a number for texts or a peer on the bus"
        }
        guard priorities.contains(settings.priority) else { return "the priority is from 0 to 1000" }
        if let hours = settings.drillEveryHours, !drillHours.contains(hours) { return "drills come every 0.01 to 8760 hours" }
        if let peer = settings.peer, !isName(peer) { return "a peer has 1 to 32 lower-case letters, digits and hyphens" }
        return nil
    }

    static func isName(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count) && name.utf8.first.map { (97...122).contains($0) } == true
            && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
    }

    /// E.164.
    static func isNumber(_ number: String) -> Bool {
        number.hasPrefix("+") && (8...16).contains(number.utf8.count) && number.utf8.dropFirst().allSatisfy { (48...57).contains($0) }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= 2000, let address = URL(string: text) else { return false }
        return ["http", "https"].contains(address.scheme ?? "") && !(address.host ?? "").isEmpty && address.user == nil
    }
}
