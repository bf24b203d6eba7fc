// A simulated person who has a device: made once, remembered with the queue, found again by the next run.

import Contracts

struct SimulatedPerson: Hashable, Sendable {
    var person: PersonID
    var device: DeviceID
    var token: String

    /// Names its lane in the queue; the number keeps a person's body the same from run to run.
    func lane(_ number: Int) -> String { "\(number) \(person) \(device)" }

    /// Reads what `lane` wrote.
    init?(lane: String, token: String) {
        let words = lane.split(separator: " ")
        guard words.count == 3, Int(words[0]) != nil, let person = PersonID(words[1]), let device = DeviceID(words[2]) else { return nil }
        (self.person, self.device, self.token) = (person, device, token)
    }

    init(_ added: AddDevice.Reply) {
        (person, device, token) = (added.person, added.device, added.token)
    }

    /// Those that a queue remembers, by number.
    static func remembered(_ lanes: [String: String]) -> [Int: SimulatedPerson] {
        var known: [Int: SimulatedPerson] = [:]
        for (lane, token) in lanes {
            guard let number = lane.split(separator: " ").first.flatMap({ Int($0) }) else { continue }
            known[number] = SimulatedPerson(lane: lane, token: token)
        }
        return known
    }
}
