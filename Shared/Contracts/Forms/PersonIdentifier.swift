// The number by which a country tells its people apart, whichever country that is.

/// Checked, and spelt one way. The wire and the stores call the field `fiscalCode`, after the first country's. Personal.
package enum PersonIdentifier: Hashable, Sendable {
    case fiscalCode(FiscalCode)
    case taxIdentificationNumber(TaxIdentificationNumber)

    package enum Kind: String, CaseIterable, Sendable {
        /// Italy's `codice fiscale`.
        case fiscalCode
        /// Germany's `Steuerliche Identifikationsnummer`.
        case taxIdentificationNumber
    }

    /// What is wrong with one.
    package struct Fault: Error, Hashable, Sendable {
        package let fieldFault: FieldFault
    }

    /// For a form: of this kind and no other. Spaces and case do not count.
    package init(checking typed: String, as kind: Kind) throws(Fault) {
        switch kind {
        case .fiscalCode:
            do {
                self = .fiscalCode(try FiscalCode(checking: typed))
            } catch {
                throw Fault(fieldFault: error.fieldFault)
            }
        case .taxIdentificationNumber:
            do {
                self = .taxIdentificationNumber(try TaxIdentificationNumber(checking: typed))
            } catch {
                throw Fault(fieldFault: error.fieldFault)
            }
        }
    }

    /// For looking somebody up, and for what is stored: of any kind, because whoever registered while the installation was another
    /// country's is still found. Nil where it is of none.
    package init?(_ typed: String) {
        for kind in Kind.allCases {
            if let found = try? PersonIdentifier(checking: typed, as: kind) {
                self = found
                return
            }
        }
        return nil
    }

    /// In capitals and without spaces. No text is of two kinds.
    package var text: String {
        switch self {
        case .fiscalCode(let code): code.text
        case .taxIdentificationNumber(let number): number.text
        }
    }
}

extension PersonIdentifier.Kind {
    /// Whether it looks like one, valid or not.
    package func hasForm(_ typed: String) -> Bool {
        switch self {
        case .fiscalCode: FiscalCode.hasForm(typed)
        case .taxIdentificationNumber: TaxIdentificationNumber.hasForm(typed)
        }
    }
}

extension PersonIdentifier: CustomStringConvertible {
    /// Never the identifier: descriptions end up in logs.
    package var description: String { "PersonIdentifier(…)" }
}
