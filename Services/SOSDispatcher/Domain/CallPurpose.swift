// Who may receive the messages of an emergency, by what it is: the only place where that is decided.

import Contracts

/// What the messages of an emergency are for. A test of this chain goes to the probe of this process or to nobody; an emergency of a person
/// goes to emergency services and never to the probe.
enum CallPurpose: Hashable, Sendable {
    case emergency
    /// Of the one integrator that it tests.
    case drill(String)
    case canary

    init(of person: PersonID, drill: String?, _ synthetic: SyntheticPeople) {
        if let drill {
            self = .drill(drill)
        } else {
            self = synthetic.contains(person) ? .canary : .emergency
        }
    }

    /// Whether the integrator may ever be sent a message of it.
    func admits(_ integrator: String) -> Bool {
        switch self {
        case .emergency: integrator != Integrator.probeID
        case .drill(let tested): integrator == tested
        case .canary: integrator == Integrator.probeID
        }
    }

    /// In which order integrators are asked.
    /// - Parameters:
    ///   - probe: where this process takes its own tests; nil while that is not known, and then a test is sent to nobody.
    ///   - services: emergency services, in the order for the place.
    func receivers(probe: String?, services: [String]) -> [String] {
        switch self {
        case .emergency: services.filter(admits)
        case .drill(let tested): [tested]
        case .canary: [probe].compactMap(\.self).filter(admits)
        }
    }

    /// What was noted without whoever may not receive it: whatever stands in a file that was put back, that line is not gone on with, and
    /// does not stand for a call that was made.
    func admitted(_ file: DispatchMachine) -> DispatchMachine {
        guard !file.lines.keys.allSatisfy(admits) else { return file }
        return DispatchMachine(file.decided, lines: file.lines.filter { admits($0.key) })
    }
}
