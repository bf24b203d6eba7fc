// The route on the bus to the places that group requests may name.

import Bus
import Contracts

struct GroupPlaceRoutes: Sendable {
    /// Of the text that is looked for, in characters.
    static let lengths = 1...100

    let places: GroupPlaces

    func register(in methods: inout Methods) {
        methods.on(FindGroupPlaces.self) { asked, _ in try find(asked) }
    }

    func find(_ asked: FindGroupPlaces) throws(Failure) -> FindGroupPlaces.Reply {
        guard Self.lengths.contains(asked.text.trimmed.count) else { throw Failure(.invalid, "text has 1 to 100 characters") }
        return FindGroupPlaces.Reply(places: places.find(asked.text))
    }
}
