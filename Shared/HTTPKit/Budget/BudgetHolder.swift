// For whom a budget is kept.

import Contracts

/// The account once it is proved, before that the address. A person's devices draw on the person's budget, and an organisation's members
/// and programs on the organisation's: whoever has a hundred devices has no hundred budgets.
enum BudgetHolder: Hashable, Sendable {
    case address(String)
    case person(PersonID)
    case organisation(OrganisationID)
    case `operator`(OperatorID)
    case integrator(String)

    /// - Parameter address: of a caller who proved nothing.
    init(_ caller: Caller, address: @autoclosure () -> String) {
        switch caller {
        case .anyone: self = .address(address())
        case .device(_, let person, _), .person(let person, _): self = .person(person)
        case .member(_, let organisation, _), .client(_, let organisation, _): self = .organisation(organisation)
        case .operator(let `operator`, _): self = .operator(`operator`)
        case .integrator(let name, _): self = .integrator(name)
        }
    }
}
