// Accounts put together: registration, addresses, guardians, profiles and announcements.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

/// For consent's assembly and for tests.
struct AccountModule: Sendable {
    /// What the service has opened before.
    struct Dependencies: Sendable {
        let store: Store
        let keys: PersonKeys
        let epoch: String
        let outbox: MessageOutbox
        let hasher: PasswordHasher
        let passwordRule: PasswordRule
        let credentials: CredentialStore
        let lookups: AccountLookups
        /// `runtime.key("accounts")`, `runtime.key("answers")`.
        let serviceKey: SymmetricKey
        let answersKey: SymmetricKey
        let publicOrigin: String
        let logger: Logger
        /// Of log-ins.
        let ending: SessionEndingStore
        /// Notified after a profile has changed.
        var profilesWakeUp = WakeUpSignal()
        /// Of the family `consent.people`.
        let people: EventRelay
    }

    let repository: AccountRepository
    let places: PlaceList
    let registrations: RegistrationService
    let addresses: AddressService
    let guardians: GuardianService
    let profiles: ProfileService
    let announcements: AnnouncementService
    let jobs: AccountJobs
    private let store: Store

    /// Needs `AccountRepository`, `CredentialStore` and `MailLinkStore`, `AnonymousSharingStore`, `CohortSharerStore`, `JobTable`,
    /// `IdempotencyKeys` in the store.
    /// - Parameter places: see `places(_:)`.
    init(
        on dependencies: Dependencies, settings: AccountSettings, places: PlaceList, dependencies others: AccountDependencies
    ) throws {
        let vault = ProfileVault(keys: dependencies.keys, serviceKey: dependencies.serviceKey)
        let links = MailLinkStore()
        let mail = AccountMailStore(
            outbox: dependencies.outbox, links: links, publicOrigin: dependencies.publicOrigin, confirmTime: settings.confirmTime,
            guardianTime: settings.guardianTime, temporaryPasswordTime: settings.temporaryPasswordTime)
        let repository = AccountRepository(
            settings: settings, vault: vault, lookups: dependencies.lookups,
            events: PeopleEventStore(epoch: dependencies.epoch, vault: vault, relay: dependencies.people), mail: mail, links: links,
            consents: ConsentRecordStore(vault: vault),
            jobs: AccountJobStore(vault: vault), credentials: dependencies.credentials)
        let (store, logger) = (dependencies.store, dependencies.logger)
        let jobs = AccountJobs(store: store, repository: repository, dependencies: others, logger: logger)
        registrations = RegistrationService(
            store: store, repository: repository, places: places, passwordRule: dependencies.passwordRule, hasher: dependencies.hasher,
            jobs: jobs,
            firstAnswers: FirstAnswers(secret: dependencies.answersKey), logger: logger,
            limits: RegistrationLimits(perHour: settings.registrationsPerHour))
        addresses = AddressService(store: store, repository: repository, ending: dependencies.ending)
        guardians = GuardianService(store: store, repository: repository, logger: logger)
        profiles = ProfileService(
            store: store, repository: repository, places: places,
            profileChanged: { [cards = dependencies.profilesWakeUp, cohorts = repository.events.cohortsWakeUp] in
                cards.notify()
                cohorts.notify()
            })
        announcements = AnnouncementService(
            store: store, firstAnswers: FirstAnswers(secret: dependencies.answersKey), vault: vault, outbox: dependencies.outbox,
            logger: logger)
        (self.repository, self.places, self.jobs, self.store) = (repository, places, jobs, store)
    }

    /// - Parameter answerRequest: sharing's answer in an adult's name.
    func routes(answerRequest: @escaping GuardianAnswersRequest) -> [Route] {
        AccountRoutes(registrations: registrations, addresses: addresses, places: places).all
            + LinkPageRoutes(addresses: addresses, guardians: guardians, answerRequest: answerRequest).all
            + ProfileRoutes(profiles: profiles, addresses: addresses, places: places).all
            + AnnouncementRoutes(service: announcements).all
    }

    /// What runs in the background: questions to other services, registrations that no adult answers, and letters about breaches.
    var services: [any Service] {
        jobs.all.map { Background($0.run) } + [Background(guardians.run), Background(announcements.run)]
    }

    /// Whom sharing deals with.
    var sharingPeople: SharingPersonStore { .of(repository) }

    // MARK: For the service's one StreamSource

    static let families: [StreamFamily] = [.people]

    /// Everybody who has an account.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        try await store.read { [events = repository.events] db in try events.snapshot(db, asked) }
    }

    // MARK: Places

    struct NoPlaces: Error, CustomStringConvertible {
        let description: String
    }

    /// The operator's list before the shipped one, which stays for those who have chosen from it.
    static func places(_ settings: AccountSettings) throws -> PlaceList {
        let shipped = try shippedPlaces()
        guard let file = settings.placeList else { return shipped }
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw NoPlaces(description: "\(file.path): cannot be read; \(SettingsReader.variable(for: "country.places")) names it")
        }
        do {
            return try PlaceList(text, of: settings.country, after: shipped)
        } catch {
            throw NoPlaces(description: "\(file.path): \(error); Services/Consent/Resources/places.tsv shows the form")
        }
    }

    /// The list that travels with the executable: Italy's.
    static func shippedPlaces() throws -> PlaceList {
        guard let name = PlaceList.shipped[.italy], let file = Bundle.module.url(forResource: name, withExtension: "tsv") else {
            throw NoPlaces(description: "places.tsv is missing beside the executable; install the service's resources with it")
        }
        return try PlaceList(String(contentsOf: file, encoding: .utf8))
    }
}
