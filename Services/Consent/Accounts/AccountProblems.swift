// Everything that registration, profiles and announcements can refuse, by the name that programs act on.

import Contracts
import HTTPKit
import Storage

enum AccountProblem: String, CaseIterable, Sendable {
    case invalidRegistration = "invalid-registration"
    case conditionsNotAccepted = "conditions-not-accepted"
    case guardianNeeded = "guardian-needed"
    case alreadyRegistered = "already-registered"
    case emailInUse = "email-in-use"
    case userNameTaken = "username-taken"
    case invalidProfile = "invalid-profile"
    case fixedField = "fixed-field"
    case linkNotValid = "link-not-valid"
    case addressConfirmed = "address-already-confirmed"
    case invalidAnnouncement = "invalid-announcement"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .invalidRegistration: Problem("invalid-registration", status: 422, title: "The form is not complete and right")
        case .conditionsNotAccepted: Problem("conditions-not-accepted", status: 422, title: "The conditions are not accepted")
        case .guardianNeeded: Problem("guardian-needed", status: 422, title: "An adult must consent")
        case .alreadyRegistered: Problem("already-registered", status: 409, title: "Already registered")
        case .emailInUse: Problem("email-in-use", status: 409, title: "The e-mail address is already in use")
        case .userNameTaken: Problem("username-taken", status: 409, title: "The user name is taken")
        case .invalidProfile: Problem("invalid-profile", status: 422, title: "The change is not right")
        case .fixedField: Problem("fixed-field", status: 422, title: "The field does not change here")
        case .linkNotValid: Problem("link-not-valid", status: 404, title: "The link does not hold any more")
        case .addressConfirmed: Problem("address-already-confirmed", status: 409, title: "The address is confirmed already")
        case .invalidAnnouncement: Problem("invalid-announcement", status: 422, title: "The announcement is not right")
        }
    }

    func problem(_ detail: String, errors: [Problem.FieldError]? = nil) -> Problem {
        var problem = plain
        (problem.detail, problem.errors) = (detail, errors)
        return problem
    }
}

extension RegistrationFault {
    var problem: Problem {
        switch self {
        case .fields(let errors):
            AccountProblem.invalidRegistration.problem(
                "Nothing was stored. Fill in the named fields again; the others are right.", errors: errors)
        case .conditionsNotAccepted(let errors):
            AccountProblem.conditionsNotAccepted.problem(
                "Nothing was stored. Everything else is right: go back to the conditions and accept what is named.", errors: errors)
        case .guardianNeeded(let errors):
            AccountProblem.guardianNeeded.problem(
                "Nothing was stored. At this age a parent or guardian must consent; we ask them by mail.", errors: errors)
        }
    }
}

extension ProfileChangeFault {
    var problem: Problem {
        switch self {
        case .fields(let errors):
            AccountProblem.invalidProfile.problem("Nothing was changed. Correct the named fields.", errors: errors)
        case .fixed(let errors):
            AccountProblem.fixedField.problem("Nothing was changed. Leave the named fields out.", errors: errors)
        }
    }
}

extension AccountConflict {
    var problem: Problem {
        switch self {
        case .fiscalCode:
            AccountProblem.alreadyRegistered.problem(
                "There is an account with this fiscal code. Log in, or ask for a new password with \"forgot password?\".",
                errors: [.init(pointer: "/fiscalCode", detail: "is registered already")])
        case .email:
            AccountProblem.emailInUse.problem(
                "An address serves one account only: give another address.",
                errors: [.init(pointer: "/email", detail: "is in use already; give another address")])
        case .userName:
            AccountProblem.userNameTaken.problem(
                "Somebody else has this user name. Choose another, or leave it out.",
                errors: [.init(pointer: "/userName", detail: "is taken; choose another")])
        }
    }
}

extension Problem {
    static var linkNotValid: Problem {
        AccountProblem.linkNotValid.problem("It was used already, is too old, or was never sent by us. Ask for a new one.")
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
