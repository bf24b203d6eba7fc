// What an organisation asks of the data of a group, and what it is given (ANO): questions of the gateway to the anonymiser.

/// The form of a group request as it was typed (ANO-03, ANO-04); what is nil was not there. Codes are the catalogue's.
package struct GroupRequestForm: Hashable, Codable, Sendable {
    /// Whole years, kg and cm; both ends belong to it, a missing end is the domain's.
    package struct Interval: Hashable, Codable, Sendable {
        package var from: Int?
        package var to: Int?

        package init(from: Int?, to: Int?) {
            (self.from, self.to) = (from, to)
        }
    }

    package var age: Interval?
    package var weight: Interval?
    package var height: Interval?
    package var sex: [String]?
    package var occupation: [String]?
    /// Codes of places of any level.
    package var residence: [String]?
    package var birth: [String]?
    /// Where the data were collected: one square of the grid.
    package var area: GridCell?
    package var types: [String]
    package var from: Timestamp
    /// Not included.
    package var to: Timestamp
    package var granularity: String
    /// `records` or `statistics`; nil for records.
    package var product: String?
    /// The classes of entries; nil for the product's own.
    package var attributes: [String]?
    /// The wanted size, a floor (ANO-05).
    package var minIndividuals: Int?
    /// Whether windows are delivered as they close (ANO-13), to the end of a period that reaches into the future; nil for no.
    package var subscribe: Bool?

    package init(types: [String], from: Timestamp, to: Timestamp, granularity: String) {
        (self.types, self.from, self.to, self.granularity) = (types, from, to, granularity)
    }
}

/// Judges a request for a group's data, and makes what is released of it. Everything is charged and kept before the answer; the same
/// `request` gets the same answer for ever. Takes up to some seconds with a million people.
package struct ReleaseGroup: BusRequest {
    package static let method = "release-group"
    package static let owner = Peer.anonymiser
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true

    package var request: GroupRequestID
    package var organisation: OrganisationID
    package var form: GroupRequestForm
    /// Whether no combination of the organisation's groups may isolate few people, as of an untrusted one that gets records all the same;
    /// nil for no.
    package var guardsAtoms: Bool?

    package init(request: GroupRequestID, organisation: OrganisationID, form: GroupRequestForm, guardsAtoms: Bool? = nil) {
        (self.request, self.organisation, self.form, self.guardsAtoms) = (request, organisation, form, guardsAtoms)
    }

    /// Exactly one of the four.
    package struct Reply: Hashable, Codable, Sendable {
        package var release: GroupRelease?
        package var refusal: GroupRefusal?
        /// What is wrong with the form, at least one fault; nothing was judged.
        package var faults: [GroupFormFault]?
        /// Where the form says `subscribe`: it is open, and nothing is released yet.
        package var subscription: GroupSubscription?

        package init(
            release: GroupRelease? = nil, refusal: GroupRefusal? = nil, faults: [GroupFormFault]? = nil,
            subscription: GroupSubscription? = nil
        ) {
            (self.release, self.refusal, self.faults, self.subscription) = (release, refusal, faults, subscription)
        }
    }
}

/// Why a group's data are not released. Nothing else is ever said of a refusal (ANO-08).
package enum GroupRefusal: String, Codable, Sendable, CaseIterable {
    case tooFewIndividuals = "TOO_FEW_INDIVIDUALS"
    case tooSimilar = "TOO_SIMILAR_TO_EARLIER_REQUEST"
    case budgetExhausted = "PRIVACY_BUDGET_EXHAUSTED"
}

/// What is wrong with one field. Never repeats what was typed.
package struct GroupFormFault: Hashable, Codable, Sendable {
    /// JSON pointer into the form, its filters under `/filters`.
    package var pointer: String
    /// `nothing-chosen`, `named-twice`, `unknown`, `too-many`, `reversed`, `outside`, `not-a-multiple`, `not-after`, `outside-period`,
    /// `nothing-closed`, `too-long`, `at-least`, `at-most`, `not-offered`, `closed-days-only`.
    package var code: String
    /// What the code counts or bounds, in its order: the most, the two ends, the step and the two nearest bounds, days; may be empty.
    package var numbers: [Int]

    package init(pointer: String, code: String, numbers: [Int]) {
        (self.pointer, self.code, self.numbers) = (pointer, code, numbers)
    }
}

/// What was released, without its entries.
package struct GroupRelease: Hashable, Codable, Sendable {
    package var product: String
    /// In the order of the catalogue.
    package var types: [String]
    /// Whole UTC days.
    package var from: Timestamp
    /// Not included.
    package var to: Timestamp
    /// As it is released; coarser than what was asked for where that had too few people.
    package var granularity: String
    /// Sorted.
    package var attributes: [String]
    /// Distinct people of the group, floored to 50.
    package var individuals: Int
    package var tables: Int
    package var entries: Int

    package init(
        product: String, types: [String], from: Timestamp, to: Timestamp, granularity: String, attributes: [String], individuals: Int,
        tables: Int, entries: Int
    ) {
        (self.product, self.types, self.from, self.to, self.granularity) = (product, types, from, to, granularity)
        (self.attributes, self.individuals, self.tables, self.entries) = (attributes, individuals, tables, entries)
    }
}

/// The entries of a release, in tables by type and time; at most 1 MiB a page. `not-found` for what is not released to this organisation.
package struct ReadGroupRelease: BusRequest {
    package static let method = "read-group-release"
    package static let owner = Peer.anonymiser
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false
    /// Entries of a page.
    package static let mostEntries = 2000

    package var request: GroupRequestID
    package var organisation: OrganisationID
    /// `next` of the page before; nil for the first.
    package var after: String?
    /// Up to `mostEntries`; 0 asks no more than whether anything is released, and gets none.
    package var limit: Int
    /// Of a subscription alone: the `sequence` of a released window.
    package var window: Int?

    package init(request: GroupRequestID, organisation: OrganisationID, after: String?, limit: Int, window: Int? = nil) {
        (self.request, self.organisation, self.after, self.limit, self.window) = (request, organisation, after, limit, window)
    }

    package struct Reply: Hashable, Codable, Sendable {
        package var entries: [GroupEntry]
        /// What to send as `after` for the following page; nil at the end.
        package var next: String?

        package init(entries: [GroupEntry], next: String?) {
            (self.entries, self.next) = (entries, next)
        }
    }
}

/// One entry of a table: at least ten people of one class in one bucket, or one cell of statistics.
package struct GroupEntry: Hashable, Codable, Sendable {
    /// 32 hexadecimal digits at random, others for each organisation; names a row and nobody. Nil for statistics.
    package var id: String?
    package var type: String
    package var from: Timestamp
    /// Not included.
    package var to: Timestamp
    /// By attribute, the label of the class; empty where all are one.
    package var classes: [String: String]
    /// Means in thousandths of the type's unit, one for each of its components; empty for positions.
    package var values: [Int]
    /// The label of the place, of positions alone.
    package var place: String?
    /// Whether other entries of the table are parts of the place, so that this counts the rest of it.
    package var isRest: Bool?
    /// Records: the fewest people behind it; positions: how many, floored to tens; statistics: the noisy count.
    package var individuals: Int
    /// Statistics: standard deviations of the noise, of the count and of each value, in thousandths.
    package var countError: Int?
    package var valueErrors: [Int]?

    package init(
        id: String?, type: String, from: Timestamp, to: Timestamp, classes: [String: String], values: [Int], place: String? = nil,
        isRest: Bool? = nil, individuals: Int, countError: Int? = nil, valueErrors: [Int]? = nil
    ) {
        (self.id, self.type, self.from, self.to, self.classes, self.values) = (id, type, from, to, classes, values)
        (self.place, self.isRest, self.individuals, self.countError, self.valueErrors) = (
            place, isRest, individuals, countError, valueErrors
        )
    }
}

/// What can be asked for: codes, steps and bounds, all of them public.
package struct ReadGroupCatalogue: BusRequest {
    package static let method = "read-group-catalogue"
    package static let owner = Peer.anonymiser
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false

    package init() {}

    package struct Reply: Hashable, Codable, Sendable {
        package struct DataType: Hashable, Codable, Sendable {
            package var code: String
            /// UCUM; empty for positions.
            package var unit: String
            /// How many values an entry has.
            package var components: Int

            package init(code: String, unit: String, components: Int) {
                (self.code, self.unit, self.components) = (code, unit, components)
            }
        }

        package struct Domain: Hashable, Codable, Sendable {
            package var attribute: String
            package var least: Int
            package var most: Int
            /// Bounds of an interval are multiples of it.
            package var step: Int

            package init(attribute: String, least: Int, most: Int, step: Int) {
                (self.attribute, self.least, self.most, self.step) = (attribute, least, most, step)
            }
        }

        package var types: [DataType]
        package var granularities: [String]
        package var products: [String]
        package var attributes: [String]
        package var domains: [Domain]
        package var sexes: [String]
        package var occupations: [String]
        /// More distinct people than this are behind every table.
        package var minIndividuals: Int
        /// Buckets that end later are not closed yet; nil while nothing is.
        package var closedThrough: Timestamp?

        package init(
            types: [DataType], granularities: [String], products: [String], attributes: [String], domains: [Domain], sexes: [String],
            occupations: [String], minIndividuals: Int, closedThrough: Timestamp?
        ) {
            (self.types, self.granularities, self.products, self.attributes) = (types, granularities, products, attributes)
            (self.domains, self.sexes, self.occupations) = (domains, sexes, occupations)
            (self.minIndividuals, self.closedThrough) = (minIndividuals, closedThrough)
        }
    }
}

/// Places whose code or the beginning of whose name is given, of any level: at most 20, the higher levels first.
package struct FindGroupPlaces: BusRequest {
    package static let method = "find-group-places"
    package static let owner = Peer.anonymiser
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false

    /// 1 to 100 characters; case and marks do not count.
    package var text: String

    package init(text: String) {
        self.text = text
    }

    package struct Place: Hashable, Codable, Sendable {
        package var code: String
        package var name: String
        /// `world`, `continent`, `country`, `macro-area`, `region`, `province` or `city`.
        package var level: String

        package init(code: String, name: String, level: String) {
            (self.code, self.name, self.level) = (code, name, level)
        }
    }

    package struct Reply: Hashable, Codable, Sendable {
        package var places: [Place]

        package init(places: [Place]) {
            self.places = places
        }
    }
}
