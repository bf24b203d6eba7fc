// What an organisation fills in to ask for the data of a group, and what is wrong with it before anybody is asked (ANO-02 to ANO-04).

import Contracts

/// The form as it was typed. The organisation's business secret; nobody is named in it.
struct TypedGroupForm: Codable, Hashable, Sendable {
    struct Filters: Codable, Hashable, Sendable {
        var age: GroupRequestForm.Interval?
        var weight: GroupRequestForm.Interval?
        var height: GroupRequestForm.Interval?
        var sex: [String]?
        var occupation: [String]?
        var residence: [String]?
        var birth: [String]?
        /// Where the data were collected: no characteristic of the people.
        var area: Area?

        fileprivate var choosesPeople: Bool {
            age != nil || weight != nil || height != nil || sex != nil || occupation != nil || residence != nil || birth != nil
        }
    }

    /// In degrees (WGS 84); the square of the grid that holds it is meant.
    struct Area: Codable, Hashable, Sendable {
        var latitude: Double
        var longitude: Double
    }

    var filters: Filters
    var types: [String]
    var from: String
    /// Not included.
    var to: String
    var granularity: String
    var product: String?
    var attributes: [String]?
    var minIndividuals: Int?

    /// As the anonymiser is asked, however often: the same for the same form.
    /// - Parameter now: when it was sent; a period that ends later is a subscription (ANO-13).
    /// - Throws: every fault that can be told without the catalogue, with its field.
    func read(at now: Timestamp) throws(FormFaults) -> GroupRequestForm {
        var faults: [Problem.FieldError] = []
        func fault(_ field: String, _ fault: FieldFault) { faults.append(.init(pointer: field, fault)) }
        if !filters.choosesPeople { fault("/filters", .nothingChosen) }
        for (name, interval) in [("age", filters.age), ("weight", filters.weight), ("height", filters.height)] {
            guard let least = interval?.from, let most = interval?.to, least > most else { continue }
            fault("/filters/\(name)", .reversedInterval)
        }
        if types.isEmpty { fault("/types", .nothingChosen) }
        if Set(types).count != types.count { fault("/types", .namedTwice) }
        let cell = filters.area.flatMap { GridCell(latitude: $0.latitude, longitude: $0.longitude) }
        if filters.area != nil, cell == nil { fault("/filters/area", .wrongFormat) }
        let (begin, end) = (Timestamp(rfc3339: from), Timestamp(rfc3339: to))
        if begin == nil { fault("/from", .notATime) }
        if end == nil { fault("/to", .notATime) }
        if let begin, let end, end <= begin { fault("/to", .notAfter("from")) }
        guard faults.isEmpty, let first = begin, let last = end else { throw FormFaults(faults) }
        var form = GroupRequestForm(types: types, from: first, to: last, granularity: granularity)
        (form.age, form.weight, form.height) = (filters.age, filters.weight, filters.height)
        (form.sex, form.occupation) = (filters.sex, filters.occupation)
        (form.residence, form.birth, form.area) = (filters.residence, filters.birth, cell)
        (form.product, form.attributes, form.minIndividuals) = (product, attributes, minIndividuals)
        form.subscribe = last > now ? true : nil
        return form
    }
}
