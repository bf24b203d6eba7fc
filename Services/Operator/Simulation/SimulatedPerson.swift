// A simulated person who has a device: made once, remembered with the queue, found again by the next run.

import Contracts

struct SimulatedPerson: Hashable, Sendable {
    var person: PersonID
    var device: DeviceID
    var token: String

    /// Names its partition in the queue; the number keeps a person's body the same from run to run.
    func partition(_ number: Int) -> String { "\(number) \(person) \(device)" }

    /// Reads what `partition` wrote.
    init?(partition: String, token: String) {
        let words = partition.split(separator: " ")
        guard words.count == 3, Int(words[0]) != nil, let person = PersonID(words[1]), let device = DeviceID(words[2]) else { return nil }
        (self.person, self.device, self.token) = (person, device, token)
    }

    init(_ added: AddDevice.Reply) {
        (person, device, token) = (added.person, added.device, added.token)
    }

    /// Those that a queue remembers, by number.
    static func remembered(_ partitions: [String: String]) -> [Int: SimulatedPerson] {
        var known: [Int: SimulatedPerson] = [:]
        for (partition, token) in partitions {
            guard let number = partition.split(separator: " ").first.flatMap({ Int($0) }) else { continue }
            known[number] = SimulatedPerson(partition: partition, token: token)
        }
        return known
    }
}
