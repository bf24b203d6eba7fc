// One worker for each active endpoint, from its verification to its end.

import Contracts
import ServiceKit
import Storage

actor WebhookDeliveryWorkers {
    private struct RunningWorker {
        let worker: WebhookDeliveryWorker
        let tasks: [Task<Void, Never>]
    }

    private let dependencies: WebhookDeliveryWorker.Dependencies
    private let endpoints: EndpointStore
    private var running: [WebhookEndpointID: RunningWorker] = [:]
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
            // Polls: an attempt becomes slow by time alone.
            try? await Task.sleep(for: DeliveryPermits.pollInterval)
            dependencies.permits.sweep(at: .now)
        }
        await close()
        throw CancellationError()
    }

    private func close() async {
        isOpen = false
        let tasks = running.values.flatMap(\.tasks)
        running = [:]
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// The endpoint is active from now on.
    func start(_ endpoint: WebhookEndpointID, of organisation: OrganisationID) {
        guard isOpen else { return }
        stop(endpoint)
        let worker = WebhookDeliveryWorker(endpoint, of: organisation, on: dependencies)
        let tasks = WebhookChannel.allCases.map { channel in Task { await worker.run(channel) } }
        running[endpoint] = RunningWorker(worker: worker, tasks: tasks)
    }

    /// The endpoint is removed, or changed.
    func stop(_ endpoint: WebhookEndpointID) {
        for task in running.removeValue(forKey: endpoint)?.tasks ?? [] { task.cancel() }
    }

    private func callBack(_ feed: Int64, of organisation: OrganisationID) async {
        for one in running.values where one.worker.organisation == organisation { await one.worker.callBack(feed) }
    }
}
