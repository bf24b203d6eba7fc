// What is counted of each route. Made once, so that a request costs two atomic additions.

import Metrics

struct RouteMeter: Sendable {
    private let seconds: Timer
    /// By the hundreds of the status: 1xx to 5xx.
    private let answers: [Counter]

    /// Takes part in whatever `MetricsSystem` is at the time: bootstrap first.
    init(_ route: Route) {
        self.init(path: route.path, method: route.method.rawValue)
    }

    init(path: String, method: String) {
        let dimensions = [("method", method), ("route", path)]
        seconds = Timer(label: "http_request_seconds", dimensions: dimensions)
        answers = (1...5).map { Counter(label: "http_answers_total", dimensions: dimensions + [("status", "\($0)xx")]) }
    }

    func record(status: Int, from start: ContinuousClock.Instant) {
        let passed = (ContinuousClock.now - start).components
        seconds.recordNanoseconds(passed.seconds * 1_000_000_000 + passed.attoseconds / 1_000_000_000)
        answers[min(max(status / 100, 1), 5) - 1].increment()
    }
}
