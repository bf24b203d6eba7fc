// One courier for each active endpoint, from its verification to its end.

import Contracts
import ServiceKit
import Storage

actor CourierOffice {
    private struct Post {
        let courier: Courier
        let tasks: [Task<Void, Never>]
    }

    private let ground: Courier.Ground
    private let endpoints: EndpointTable
    private var posts: [WebhookEndpointID: Post] = [:]
    private var isOpen = false

    init(_ ground: Courier.Ground, endpoints: EndpointTable) {
        (self.ground, self.endpoints) = (ground, endpoints)
    }

    /// Until it is cancelled.
    func run() async throws {
        isOpen = true
        ground.hub.whenEnded { [weak self] feed, organisation in
            Task(priority: .high) { await self?.callBack(feed, of: organisation) }
        }
        for known in try await ground.store.read({ [endpoints] db in try endpoints.active(db) }) {
            start(known.id, of: known.organisation)
        }
        while !Task.isCancelled {
            // Sleeping is the rhythm of the look.
            try? await Task.sleep(for: CourierPlaces.look)
            ground.places.sweep(at: .now)
        }
        await close()
        throw CancellationError()
    }

    private func close() async {
        isOpen = false
        let tasks = posts.values.flatMap(\.tasks)
        posts = [:]
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// The endpoint is active from now on.
    func start(_ endpoint: WebhookEndpointID, of organisation: OrganisationID) {
        guard isOpen else { return }
        stop(endpoint)
        let courier = Courier(endpoint, of: organisation, on: ground)
        let tasks = WebhookLane.allCases.map { lane in Task { await courier.run(lane) } }
        posts[endpoint] = Post(courier: courier, tasks: tasks)
    }

    /// The endpoint is removed, or changed.
    func stop(_ endpoint: WebhookEndpointID) {
        for task in posts.removeValue(forKey: endpoint)?.tasks ?? [] { task.cancel() }
    }

    private func callBack(_ feed: Int64, of organisation: OrganisationID) async {
        for post in posts.values where post.courier.organisation == organisation { await post.courier.callBack(feed) }
    }
}
