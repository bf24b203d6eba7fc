// Everything that registration, profiles and announcements can refuse, by the name that programs act on.

import Contracts
import HTTPKit
import Storage

extension Problem {
    static let invalidRegistration = Problem(
        "invalid-registration", status: 422, title: "The form is not complete and right",
        italianTitle: "Il modulo non è completo o corretto")
    static let conditionsNotAccepted = Problem(
        "conditions-not-accepted", status: 422, title: "The conditions are not accepted",
        italianTitle: "Le condizioni non sono accettate")
    static let guardianNeeded = Problem(
        "guardian-needed", status: 422, title: "An adult must consent", italianTitle: "Deve acconsentire un adulto")
    static let alreadyRegistered = Problem("already-registered", status: 409, title: "Already registered", italianTitle: "Già registrato")
    static let emailInUse = Problem(
        "email-in-use", status: 409, title: "The e-mail address is already in use", italianTitle: "L'indirizzo e-mail è già in uso")
    static let userNameTaken = Problem(
        "username-taken", status: 409, title: "The user name is taken", italianTitle: "Il nome utente è già preso")
    static let invalidProfile = Problem(
        "invalid-profile", status: 422, title: "The change is not right", italianTitle: "La modifica non è corretta")
    static let fixedField = Problem(
        "fixed-field", status: 422, title: "The field does not change here", italianTitle: "Il campo non si cambia qui")
    static let linkNotValid = Problem(
        "link-not-valid", status: 404, title: "The link does not hold any more", italianTitle: "Il collegamento non vale più",
        detail: "It was used already, is too old, or was never sent by us. Ask for a new one.",
        italianDetail: "È già stato usato, è scaduto o non viene da noi. Ne chieda uno nuovo.")
    static let addressConfirmed = Problem(
        "address-already-confirmed", status: 409, title: "The address is confirmed already",
        italianTitle: "L'indirizzo è già confermato")
    static let invalidAnnouncement = Problem(
        "invalid-announcement", status: 422, title: "The announcement is not right", italianTitle: "L'annuncio non è corretto")
}

extension RegistrationFault {
    var problem: Problem {
        switch self {
        case .fields(let errors):
            Problem.invalidRegistration.saying(
                "Nothing was stored. Fill in the named fields again; the others are right.",
                italian: "Nulla è stato salvato. Compili di nuovo i campi indicati; gli altri sono corretti.", errors: errors)
        case .conditionsNotAccepted(let errors):
            Problem.conditionsNotAccepted.saying(
                "Nothing was stored. Everything else is right: go back to the conditions and accept what is named.",
                italian: "Nulla è stato salvato. Il resto è corretto: torni alle condizioni e accetti quelle indicate.", errors: errors)
        case .guardianNeeded(let errors):
            Problem.guardianNeeded.saying(
                "Nothing was stored. At this age a parent or guardian must consent; we ask them by mail.",
                italian: "Nulla è stato salvato. A questa età deve acconsentire un genitore o tutore; lo chiediamo noi per e-mail.",
                errors: errors)
        }
    }
}

extension ProfileChangeFault {
    var problem: Problem {
        switch self {
        case .fields(let errors):
            Problem.invalidProfile.saying(
                "Nothing was changed. Correct the named fields.",
                italian: "Nulla è stato cambiato. Corregga i campi indicati.", errors: errors)
        case .fixed(let errors):
            Problem.fixedField.saying(
                "Nothing was changed. Leave the named fields out.",
                italian: "Nulla è stato cambiato. Tolga i campi indicati.", errors: errors)
        }
    }
}

extension AccountConflict {
    var problem: Problem {
        switch self {
        case .fiscalCode:
            Problem.alreadyRegistered.saying(
                "There is an account with this fiscal code. Log in, or ask for a new password with \"forgot password?\".",
                italian: "Esiste un account con questo codice fiscale. Acceda, o chieda una nuova password con «password dimenticata?».",
                errors: [.init(pointer: "/fiscalCode", .registeredAlready)])
        case .email:
            Problem.emailInUse.saying(
                "An address serves one account only: give another address.",
                italian: "Un indirizzo serve a un solo account: ne dia un altro.",
                errors: [.init(pointer: "/email", .taken)])
        case .userName:
            Problem.userNameTaken.saying(
                "Somebody else has this user name. Choose another, or leave it out.",
                italian: "Questo nome utente è di un'altra persona. Ne scelga un altro, o lo lasci vuoto.",
                errors: [.init(pointer: "/userName", .taken)])
        }
    }
}

/// Translates what checks throw into what a door says.
enum AccountRefusal {
    static func answering<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let fault as RegistrationFault {
            throw fault.problem
        } catch let fault as ProfileChangeFault {
            throw fault.problem
        } catch let conflict as AccountConflict {
            throw conflict.problem
        }
    }
}
