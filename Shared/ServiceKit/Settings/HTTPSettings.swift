// What the door of every service allows its callers, as settings.

import Contracts
package import HTTPKit

extension HTTPLimits {
    /// Read under the prefix `http`; what is not named here stays as HTTPKit has it.
    package init(_ reader: inout SettingsReader) {
        self.init()
        connections = reader.read(
            .integer("http.connections", default: connections, in: 16...100_000, "Connections that may be open at once."))
        concurrentRequests = reader.read(
            .integer(
                "http.requests", default: concurrentRequests, in: 1...100_000,
                "Requests being worked on at once, event streams among them; with the reserve fewer than connections."))
        reserve = reader.read(
            .integer(
                "http.reserve", default: reserve, in: 0...10_000,
                "Requests and bodies beyond those limits that only uploads of devices, acknowledgements of integrators and answers to the prompt may use."
            ))
        eventStreams = reader.read(
            .integer("http.event_streams", default: eventStreams, in: 1...100_000, "Event streams that may be open at once."))
        bodies = reader.read(
            .integer("http.bodies", default: bodies, in: 1...100_000, "Bodies that may be on their way at once."))
        bodyBytes = reader.read(.mebibytes("http.body_mib", default: bodyBytes, "MiB of such bodies that may be in memory at once."))
        requestsPerCaller = reader.read(
            .integer("http.caller_requests", default: requestsPerCaller, in: 1...100_000, "Requests of one caller being worked on at once.")
        )
        requestsPerOrganisation = reader.read(
            .integer(
                "http.organisation_requests", default: requestsPerOrganisation, in: 1...100_000,
                "Requests of one organisation being worked on at once, and event streams that it may have open."))
        streamsPerCaller = reader.read(
            .integer(
                "http.caller_event_streams", default: streamsPerCaller, in: 1...100_000, "Event streams that one caller may have open."))
        bodiesPerCaller = reader.read(
            .integer("http.caller_bodies", default: bodiesPerCaller, in: 1...100_000, "Bodies of one caller that may be on their way."))
        bodyBytesPerCaller = reader.read(
            .mebibytes("http.caller_body_mib", default: bodyBytesPerCaller, "MiB of bodies of one caller that may be in memory at once."))
        processorsPerCaller = reader.read(
            .decimal(
                "http.caller_processors", default: processorsPerCaller, in: 0...1024,
                "Processors that one caller may use in the long run; 0 does not count."))
        processorBurst = reader.read(
            .seconds(
                "http.caller_processor_burst_s", default: 20, in: 0.1...3600, "Processor time that a caller may use beyond that at once."))
        refusalsPerAddress = reader.read(
            .integer(
                "http.wrong_tokens", default: refusalsPerAddress, in: 1...100_000,
                "Wrong tokens and secrets of one address before it is told to wait; one is forgiven each second."))
        connectionsPerAddress = reader.read(
            .integer(
                "http.address_connections", default: connectionsPerAddress, in: 1...100_000,
                "Connections of one address; loopback and private networks, where the edge is, are not counted."))
        headArrival = reader.read(
            .seconds("http.head_s", default: 10, in: 0.1...600, "From a connection's beginning to the end of its first request's head."))
        idle = reader.read(
            .seconds("http.idle_s", default: 75, in: 1...3600, "Silence after which a connection is closed."))
        bodyArrival = reader.read(
            .seconds("http.body_grace_s", default: 10, in: 0.1...600, "What a body may take whatever its pace."))
        bodyLongest = reader.read(
            .seconds("http.body_longest_s", default: 60, in: 0.1...3600, "What a body that is read whole may take however much has come."))
        slowestBody = reader.read(
            .integer("http.body_bytes_per_s", default: slowestBody, in: 1...10_000_000, "Pace below which a body is ended (408)."))
        if concurrentRequests + reserve >= connections {
            reader.refuse("http.connections", "must be more than http.requests and http.reserve together")
            let usual = HTTPLimits()
            (connections, concurrentRequests, reserve) = (usual.connections, usual.concurrentRequests, usual.reserve)
        }
    }
}

extension Setting where Value == Int {
    /// Read in MiB, kept in bytes.
    fileprivate static func mebibytes(_ key: String, default fallback: Int, _ meaning: String) -> Setting {
        Setting(key, default: fallback, allowed: "a whole number from 1 to 65536", meaning) {
            String($0 >> 20)
        } parse: { text in
            Int(text).flatMap { (1...65_536).contains($0) ? $0 << 20 : nil }
        }
    }
}
