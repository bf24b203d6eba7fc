// The settings of the country, declared once for every service that reads what people type or tells them whom to call.

package import Contracts
package import Foundation

/// Under the prefix `country`; consent, the gateway and the dispatchers read it, and must be given the same.
package struct CountrySettings: Sendable {
    package static let prefix = "country"

    /// With the operator's emergency numbers.
    package let country: Country
    /// A list in place of the country's own; consent alone opens it.
    package let places: URL?

    /// A country that is not known is a fault that names those that are.
    package init(_ reader: inout SettingsReader) {
        var country = Country(
            reader.read(
                .choice(
                    "country.code", default: .italy,
                    "The country (ISO 3166-1): telephone numbers, people's and organisations' identifiers, addresses, places, emergency number."
                )))
        let numbers = reader.read(
            .text("country.emergency_numbers", default: "", "Whom pages say to call in need, like 144,112; none: the country's own, 112."))
        places = reader.read(
            .optionalPath(
                "country.places", "Consent's list of places, in the form of its own `places.tsv`; none: the one shipped for Italy."))
        if !numbers.isEmpty {
            if let own = Country.emergencyNumbers(numbers) {
                country.emergencyNumbers = own
            } else {
                reader.refuse(
                    "country.emergency_numbers",
                    "must be 1 to \(Country.mostEmergencyNumbers) numbers of 2 to 8 digits, separated by commas")
            }
        }
        self.country = country
    }
}
