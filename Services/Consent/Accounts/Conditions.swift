// The conditions of the service as people read and accept them: their version, and where their texts are (ACC-05).

import Contracts

/// A changed text is a new version; who accepted which is in the record of consents.
enum Conditions {
    static let version = "2026-11"

    enum Kind: String, Codable, Sendable, CaseIterable {
        case terms
        case privacy
    }

    static func title(_ kind: Kind, _ language: Language) -> String {
        switch (kind, language) {
        case (.terms, .italian): "Condizioni del servizio"
        case (.terms, .english): "Terms of service"
        case (.privacy, .italian): "Informativa sui dati e sulla loro acquisizione"
        case (.privacy, .english): "Privacy and data acquisition policy"
        }
    }

    static func text(_ kind: Kind, _ language: Language) -> String {
        switch (kind, language) {
        case (.terms, .italian): ConditionTexts.italianTerms
        case (.terms, .english): ConditionTexts.englishTerms
        case (.privacy, .italian): ConditionTexts.italianPrivacy
        case (.privacy, .english): ConditionTexts.englishPrivacy
        }
    }
}
