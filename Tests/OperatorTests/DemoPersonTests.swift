// Whom the demo registers: somebody else each time, with a fiscal code that says of her what the form says.

import Contracts
import Testing

@testable import Operator

@Suite("People of the demo")
struct DemoPersonTests {
    @Test("two people of one story do not have one fiscal code: with that the second account never opens, and nothing says so")
    func distinct() throws {
        let people = (0..<200).map { _ in DemoPerson.random() }
        // Chance may give one code twice among so many; sixteen codes for all gave each second pair of sixteen one.
        #expect(Set(people.map(\.fiscalCode)).count > 190)
        for person in people {
            let code = try FiscalCode(checking: person.fiscalCode)
            let birth = person.birthDate.split(separator: "-").compactMap { Int($0) }
            #expect(birth == [1900 + code.yearOfCentury, code.month, code.day] && code.place == person.birthPlace && code.sex == .female)
        }
    }
}
