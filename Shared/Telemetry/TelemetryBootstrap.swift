// Where a process says, once, how it logs and counts.

package import Logging
import Metrics
import Synchronization

package enum TelemetryBootstrap {
    private static let registry = Mutex<PrometheusRegistry?>(nil)

    /// Makes swift-log write JSON lines to standard error and swift-metrics count into the registry that is returned. To be called
    /// before anything logs or counts; a second call changes nothing and returns the same registry.
    package static func once(service: String, level: Logger.Level) -> PrometheusRegistry {
        registry.withLock { registry in
            if let registry { return registry }
            let made = PrometheusRegistry()
            LoggingSystem.bootstrap { JSONLinesHandler(service: service, label: $0, level: level) }
            MetricsSystem.bootstrap(made)
            registry = made
            return made
        }
    }
}
