// All figures of a process, for swift-metrics to count into and Prometheus to read.

package import CoreMetrics
import Synchronization

/// Counters become counters, meters and recorders that do not aggregate gauges, timers histograms in seconds, aggregating recorders
/// histograms. Labels of swift-metrics are names of Prometheus, characters that it does not know become `_`. Label values must not be
/// personal, and there must be few of them: a name beyond `mostSeries` of them counts into a cell that nobody reads.
package final class PrometheusRegistry: MetricsFactory {
    /// Of one name, over all its labels.
    package static let mostSeries = 1000

    private struct Family {
        var kind: Kind
        var series: [Series: Cell] = [:]
    }

    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    /// Names and values in the order of the names, already escaped.
    struct Series: Hashable {
        let labels: [String]
    }

    enum Cell {
        case counter(CounterCell)
        case gauge(GaugeCell)
        case histogram(HistogramCell)
    }

    private struct State {
        var families: [String: Family] = [:]
        var help: [String: String] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// What `# HELP` says of a metric, instead of its name.
    package func describe(_ name: String, _ help: String) {
        state.withLock { $0.help[PrometheusText.name(name)] = help }
    }
}

// MARK: Counting into it

extension PrometheusRegistry {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counter(label, dimensions)
    }

    package func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        counter(label, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate { histogram(label, dimensions, HistogramCell.sizeBounds) } else { gauge(label, dimensions) }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, HistogramCell.timeBounds)
    }

    /// A cell lives as long as the process: what it counted is still asked for.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> CounterCell {
        let cell = cell(label, dimensions, .counter) { .counter(CounterCell()) }
        if case .counter(let counter) = cell { return counter }
        return CounterCell()
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeCell {
        let cell = cell(label, dimensions, .gauge) { .gauge(GaugeCell()) }
        if case .gauge(let gauge) = cell { return gauge }
        return GaugeCell()
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)], _ bounds: [Double]) -> HistogramCell {
        let cell = cell(label, dimensions, .histogram) { .histogram(HistogramCell(bounds)) }
        if case .histogram(let histogram) = cell { return histogram }
        return HistogramCell(bounds)
    }

    /// The cell of that name and those labels; a new one that nobody reads where the name is taken by another kind or is full.
    private func cell(_ label: String, _ dimensions: [(String, String)], _ kind: Kind, make: () -> Cell) -> Cell {
        let name = PrometheusText.name(label)
        let series = Series(labels: dimensions.sorted { $0.0 < $1.0 }.map(PrometheusText.label))
        return state.withLock { state in
            var family = state.families[name] ?? Family(kind: kind)
            if family.kind == kind, let known = family.series[series] { return known }
            let cell = make()
            guard family.kind == kind, family.series.count < Self.mostSeries else { return cell }
            family.series[series] = cell
            state.families[name] = family
            return cell
        }
    }
}

// MARK: Reading it

extension PrometheusRegistry {
    /// Text exposition 0.0.4, in the order of names and labels.
    package var text: String {
        let (families, help) = state.withLock { ($0.families, $0.help) }
        var text = PrometheusText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text.begin(name, family.kind, help[name] ?? name)
            for (series, cell) in family.series.sorted(by: { $0.key.labels.lexicographicallyPrecedes($1.key.labels) }) {
                switch cell {
                case .counter(let counter): text.sample(name, series.labels, counter.value)
                case .gauge(let gauge): text.sample(name, series.labels, gauge.value)
                case .histogram(let histogram): text.histogram(name, series.labels, histogram.bounds, histogram.reading)
                }
            }
        }
        return text.text
    }
}
