// Who comes in for which organisation, and with which rights: asked first by every handler of an `.organisation` route.

import Contracts
import HTTPKit

/// On whose behalf somebody acts, proved.
struct Standing: Hashable, Sendable {
    let id: OrganisationID
    /// Its business name.
    let name: String
    /// `mem_…` or `cli_…`: who did it, for the record.
    let actor: String
    let rights: Set<Right>
    /// Nil for an API client.
    let role: Role?
}

/// Turns a caller into a `Standing`. Reads memory; the store only after something has changed.
struct OrganisationDoor: Sendable {
    let directory: OrganisationRegister

    /// - Throws: `not-for-this-account`, `organisation-not-confirmed`, `organisation-not-approved`, `organisation-suspended`,
    ///   `held-after-restore`, `missing-right`.
    func admit(_ exchange: Exchange, needing right: Right) async throws -> Standing {
        let standing = try await admit(exchange)
        guard standing.rights.contains(right) else {
            throw Problem.missingRight.saying(
                "This needs the right `\(right.rawValue)`: \(standing.role == nil ? "the token was not issued for it" : "your role does not have it"); an owner of the organisation can give it."
            )
        }
        return standing
    }

    /// As `admit`, for what outlives the session in which it is done: a member proves once more who they are. A program cannot, and need not:
    /// its token was issued for its secret.
    /// - Throws: also `insufficient-user-authentication`.
    func admitAnew(_ exchange: Exchange, needing right: Right) async throws -> Standing {
        let standing = try await admit(exchange, needing: right)
        if standing.role != nil { try await exchange.requireFreshProof(as: .accountAnew) }
        return standing
    }

    /// As the other, for what everybody of an active organisation may do.
    func admit(_ exchange: Exchange) async throws -> Standing {
        let (standing, known) = try await recognise(exchange)
        if let refusal = known.state.refusal { throw refusal }
        if known.isHeld { throw Refusal.heldAfterRestore }
        return standing
    }

    /// Whoever belongs to an organisation that is not closed, also before its confirmation and while it is suspended or held. After a restore
    /// nobody knows which API clients there still are.
    func recognise(_ exchange: Exchange) async throws -> (standing: Standing, known: OrganisationRegister.Known) {
        switch exchange.caller {
        case .member(let member, let organisation, _):
            guard let known = try await directory.find(organisation), let role = known.members[member], known.state != .closed else {
                throw Problem.notForThisAccount
            }
            let standing = Standing(
                id: organisation, name: known.name, actor: member.description, rights: role.rights, role: role)
            return (standing, known)
        case .client(let client, let organisation, let scopes):
            guard let known = try await directory.find(organisation), known.state != .closed else { throw Problem.unauthorised }
            guard !known.isHeld else { throw Refusal.heldAfterRestore }
            let standing = Standing(
                id: organisation, name: known.name, actor: client.description, rights: Right.named(by: scopes), role: nil)
            return (standing, known)
        case .anyone, .device, .integrator, .person, .operator:
            throw Problem.notForThisAccount
        }
    }
}

extension Answer {
    /// What the door refuses by itself at a route that asks for a right; for the route's description.
    static let noAdmission = Answer.problem(
        403, Problem.missingRight.name, Problem.organisationNotConfirmed.name,
        Problem.organisationNotApproved.name, Problem.organisationSuspended.name)
    /// Of a route that asks members for a fresh proof.
    static let mayAskForProof = Answer.problem(401, Problem.insufficientUserAuthentication.name)
    /// Only rights that one has oneself can be given.
    static let beyondOwn = Answer.problem(403, Problem.rightsBeyondOwn.name)
}

extension Refusal {
    /// To everybody from a restore until the operator has looked.
    static let heldAfterRestore = Refusal(
        Problem.heldAfterRestore.saying(
            """
            We had to go back to a copy of ours. Nothing is handed out, paid or delivered before the operator has made sure that what was \
            withdrawn since stays withdrawn. Ask again later; GET /thirdparty/v1/support says whom to ask how long.
            """,
            italian: """
                Abbiamo dovuto tornare a una nostra copia. Nulla si consegna o si paga prima che il gestore si sia assicurato che quanto è \
                stato revocato nel frattempo resti tale. Riprovi più tardi; GET /thirdparty/v1/support dice a chi chiedere.
                """),
        retryAfter: .seconds(300))
}

extension OrganisationState {
    /// What is said to whoever wants to act meanwhile; nil where nothing stands in the way.
    var refusal: Problem? {
        switch self {
        case .active: nil
        case .registering, .unconfirmed:
            Problem.organisationNotConfirmed.saying(
                "Follow the link that was mailed to the corporate address. POST /thirdparty/v1/organisations/confirmation-mails sends another.",
                italian:
                    "Segua il collegamento inviato all'indirizzo aziendale. POST /thirdparty/v1/organisations/confirmation-mails ne invia un altro."
            )
        case .awaitingApproval:
            Problem.organisationNotApproved.saying(
                "The operator looks at the registration; you are told by mail.",
                italian: "Il gestore esamina la registrazione; sarà avvisata per e-mail.")
        case .suspended:
            Problem.organisationSuspended.saying(
                "Ask the operator why: GET /thirdparty/v1/support says where.",
                italian: "Ne chieda il motivo al gestore: GET /thirdparty/v1/support dice dove.")
        case .closed: .unauthorised
        }
    }
}
