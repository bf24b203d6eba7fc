// Figures as Prometheus reads them.

import CoreMetrics
import Metrics
import Testing

@testable import Telemetry

@Suite("Prometheus registry")
struct PrometheusTests {
    @Test("Counters, gauges, timers and recorders are written as the exposition format 0.0.4 has it")
    func golden() {
        let registry = PrometheusRegistry()
        registry.describe("uploads_total", "Uploads, by outcome\nsince the start \\ o/")
        registry.makeCounter(label: "uploads_total", dimensions: [("result", "ok"), ("door", "http")]).increment(by: 3)
        registry.makeCounter(label: "uploads_total", dimensions: [("door", "http"), ("result", "a\"b\\c\nd")]).increment(by: 1)
        registry.makeMeter(label: "queue.depth", dimensions: []).set(2.5)
        registry.makeRecorder(label: "lag", dimensions: [], aggregate: false).record(Int64(-4))
        let timer = registry.makeTimer(label: "commit_seconds", dimensions: [("store", "ingest")])
        for nanoseconds: Int64 in [400_000, 2_500_000, 2_500_001, 60_000_000_000] { timer.recordNanoseconds(nanoseconds) }
        #expect(
            registry.text == """
                # HELP commit_seconds commit_seconds
                # TYPE commit_seconds histogram
                commit_seconds_bucket{store="ingest",le="0.0005"} 1
                commit_seconds_bucket{store="ingest",le="0.001"} 1
                commit_seconds_bucket{store="ingest",le="0.0025"} 2
                commit_seconds_bucket{store="ingest",le="0.005"} 3
                commit_seconds_bucket{store="ingest",le="0.01"} 3
                commit_seconds_bucket{store="ingest",le="0.025"} 3
                commit_seconds_bucket{store="ingest",le="0.05"} 3
                commit_seconds_bucket{store="ingest",le="0.1"} 3
                commit_seconds_bucket{store="ingest",le="0.25"} 3
                commit_seconds_bucket{store="ingest",le="0.5"} 3
                commit_seconds_bucket{store="ingest",le="1"} 3
                commit_seconds_bucket{store="ingest",le="2.5"} 3
                commit_seconds_bucket{store="ingest",le="5"} 3
                commit_seconds_bucket{store="ingest",le="10"} 3
                commit_seconds_bucket{store="ingest",le="+Inf"} 4
                commit_seconds_sum{store="ingest"} 60.005400001
                commit_seconds_count{store="ingest"} 4
                # HELP lag lag
                # TYPE lag gauge
                lag -4
                # HELP queue_depth queue_depth
                # TYPE queue_depth gauge
                queue_depth 2.5
                # HELP uploads_total Uploads, by outcome\\nsince the start \\\\ o/
                # TYPE uploads_total counter
                uploads_total{door="http",result="a\\"b\\\\c\\nd"} 1
                uploads_total{door="http",result="ok"} 3

                """)
    }

    @Test("The same name and labels are the same cell, in whatever order the labels come")
    func sameCell() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "c", dimensions: [("a", "1"), ("b", "2")]).increment(by: 1)
        registry.makeCounter(label: "c", dimensions: [("b", "2"), ("a", "1")]).increment(by: 1)
        #expect(registry.text.contains("c{a=\"1\",b=\"2\"} 2\n"))
    }

    @Test("A name that is already of another kind changes nothing that is read")
    func otherKind() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "x", dimensions: []).increment(by: 5)
        registry.makeMeter(label: "x", dimensions: []).set(9.0)
        #expect(registry.text.hasSuffix("# TYPE x counter\nx 5\n"))
    }

    @Test(
        "Names with foreign characters become names of Prometheus",
        arguments: [("a.b-c", "a_b_c"), ("9a", "_9a"), ("è", "_"), ("", "_"), ("a:b", "a:b")])
    func names(label: String, name: String) {
        #expect(PrometheusText.name(label) == name)
    }

    @Test("Series without end are not kept")
    func bounded() {
        let registry = PrometheusRegistry()
        for number in 0..<2000 { registry.makeCounter(label: "c", dimensions: [("n", "\(number)")]).increment(by: 1) }
        #expect(registry.text.split(separator: "\n").count == 2 + PrometheusRegistry.mostSeries)
    }

    @Test("Counts from many tasks are all there")
    func parallel() async {
        let registry = PrometheusRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let counter = registry.makeCounter(label: "c", dimensions: [])
                    let timer = registry.makeTimer(label: "t", dimensions: [])
                    for _ in 0..<1000 {
                        counter.increment(by: 1)
                        timer.recordNanoseconds(1)
                    }
                }
            }
        }
        #expect(registry.text.contains("\nc 8000\n"))
        #expect(registry.text.contains("t_count 8000\n"))
    }
}
