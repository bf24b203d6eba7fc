// How the machine's supervisor sees a service: alive, ready, and its figures. On the service's own port; the edge does not route them.

import HTTPTypes

/// For `/health/live`, `/health/ready` and `/metrics`, which ask nobody who they are.
package struct Health: Sendable {
    /// What is missing before work can be taken, one short phrase each, without personal data; empty is ready. May be asked each second.
    package let missing: @Sendable () async -> [String]
    /// What does not go as it should although work is taken, told together with readiness; same form.
    package let remarks: @Sendable () async -> [String]
    /// Prometheus text exposition 0.0.4.
    package let metrics: @Sendable () -> String

    package init(
        missing: @escaping @Sendable () async -> [String], remarks: @escaping @Sendable () async -> [String] = { [] },
        metrics: @escaping @Sendable () -> String
    ) {
        (self.missing, self.remarks, self.metrics) = (missing, remarks, metrics)
    }

    static let metricsType = "text/plain; version=0.0.4; charset=utf-8"

    func routes(isDraining: @escaping @Sendable () -> Bool) -> [Route] {
        let live = Result { try HTTPAnswer.json(Liveness(status: "live")) }
        return [
            Route(
                .get, "/health/live", as: "getLiveness", access: .anyone, summary: "The process answers",
                answers: [.json(200, "Alive", Liveness.self)],
                isInternal: true
            ) { _ in try live.get() },
            Route(
                .get, "/health/ready", as: "getReadiness", access: .anyone, summary: "The service takes work",
                answers: [.json(200, "Ready", Liveness.self), .json(503, "Not ready, and why", Liveness.self)], isInternal: true
            ) { _ in
                let missing = isDraining() ? ["stopping"] : await missing()
                let state = Liveness(
                    status: missing.isEmpty ? "ready" : "not-ready", missing: missing, remarks: await remarks())
                return try missing.isEmpty ? .json(state) : HTTPAnswer.json(state, status: 503).with(.retryAfter, "1")
            },
            Route(
                .get, "/metrics", as: "getProcessMetrics", access: .anyone, summary: "Figures for Prometheus",
                answers: [Answer(200, "Text exposition 0.0.4", contents: [.init(Self.metricsType, .string())])], isInternal: true
            ) { _ in .text(metrics(), contentType: Self.metricsType) },
        ]
    }
}

private struct Liveness: Codable, Sendable, Documented {
    var status: String
    var missing: [String] = []
    var remarks: [String] = []

    static var schema: JSONSchema {
        .object(
            .required("status", .oneOf(["live", "ready", "not-ready"])),
            .required("missing", .array(of: .string()), "What is missing before work can be taken."),
            .required("remarks", .array(of: .string()), "What does not go as it should although work is taken.")
        ).named("Health")
    }
}
