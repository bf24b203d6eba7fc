// What was changed of the ways into an organisation's account, in the words in which its owners are told.

import Contracts

enum KeyChange: Sendable {
    case clientMade, clientSecretReplaced, clientRightsAdded
    case endpointAdded, endpointSecretReplaced
    case memberInvited, roleChanged, memberRemoved

    /// The middle of a sentence: no full stop, no capital.
    func words(_ language: Language) -> String {
        switch language {
        case .italian: italian
        case .english: english
        }
    }

    private var english: String {
        switch self {
        case .clientMade: "an API client was made"
        case .clientSecretReplaced: "an API client got a new secret"
        case .clientRightsAdded: "an API client was given further rights"
        case .endpointAdded: "an address for webhooks was added"
        case .endpointSecretReplaced: "an address for webhooks got a new secret"
        case .memberInvited: "a member was invited"
        case .roleChanged: "a member's role was changed"
        case .memberRemoved: "a member was removed"
        }
    }

    private var italian: String {
        switch self {
        case .clientMade: "è stato creato un client API"
        case .clientSecretReplaced: "un client API ha ricevuto un nuovo segreto"
        case .clientRightsAdded: "un client API ha ricevuto altri diritti"
        case .endpointAdded: "è stato aggiunto un indirizzo per i webhook"
        case .endpointSecretReplaced: "un indirizzo per i webhook ha ricevuto un nuovo segreto"
        case .memberInvited: "è stato invitato un membro"
        case .roleChanged: "è cambiato il ruolo di un membro"
        case .memberRemoved: "è stato tolto un membro"
        }
    }
}
