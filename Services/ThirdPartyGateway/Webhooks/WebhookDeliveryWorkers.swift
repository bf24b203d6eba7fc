// One worker for each active endpoint, from its verification to its end.

import Contracts
import ServiceKit
import Storage

actor WebhookDeliveryWorkers {
    private struct Post {
        let worker: WebhookDeliveryWorker
        let tasks: [Task<Void, Never>]
    }

    private let dependencies: WebhookDeliveryWorker.Dependencies
    private let endpoints: EndpointStore
    private var posts: [WebhookEndpointID: Post] = [:]
    private var isOpen = false

    init(_ dependencies: WebhookDeliveryWorker.Dependencies, endpoints: EndpointStore) {
        (self.dependencies, self.endpoints) = (dependencies, endpoints)
    }

    /// Until it is cancelled.
    func run() async throws {
        isOpen = true
        dependencies.hub.whenEnded { [weak self] feed, organisation in
            Task(priority: .high) { await self?.callBack(feed, of: organisation) }
        }
        for known in try await dependencies.store.read({ [endpoints] db in try endpoints.active(db) }) {
            start(known.id, of: known.organisation)
        }
        while !Task.isCancelled {
            // Sleeping is the rhythm of the look.
            try? await Task.sleep(for: DeliveryPermits.look)
            dependencies.places.sweep(at: .now)
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
        let worker = WebhookDeliveryWorker(endpoint, of: organisation, on: dependencies)
        let tasks = WebhookLane.allCases.map { lane in Task { await worker.run(lane) } }
        posts[endpoint] = Post(worker: worker, tasks: tasks)
    }

    /// The endpoint is removed, or changed.
    func stop(_ endpoint: WebhookEndpointID) {
        for task in posts.removeValue(forKey: endpoint)?.tasks ?? [] { task.cancel() }
    }

    private func callBack(_ feed: Int64, of organisation: OrganisationID) async {
        for post in posts.values where post.worker.organisation == organisation { await post.worker.callBack(feed) }
    }
}
