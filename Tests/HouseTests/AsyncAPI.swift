// Makes docs/asyncapi.yaml (AsyncAPI 3.0) out of Contracts, so that strangers read what the code says.

import Foundation

enum AsyncAPI {
    static func document() -> String {
        var text = """
            # Made from Shared/Contracts by `make docs`; HouseTests compare. How frames travel, keys and replay: docs/bus.md.
            asyncapi: 3.0.0
            info:
              title: TrackMe on the bus
              version: 1.0.0
              license: { name: Apache-2.0, url: "https://www.apache.org/licenses/LICENSE-2.0" }
              description: >-
                Streams are ZeroMQ PUB/SUB in three frames: stream name, header, payload. Requests are DEALER/ROUTER in one frame: the
                envelope. Everything is UTF-8 JSON under CURVE. See docs/bus.md for a worked example.
            defaultContentType: application/json

            """
        text += servers() + channels() + operations() + components()
        return text
    }

    // MARK: Servers

    /// Services that publish or answer: the owners of streams and requests, in order.
    private static var owners: [String] {
        let named = ContractsReader.families.compactMap { $0["owner"] } + ContractsReader.requests.compactMap { $0.constants["owner"] }
        return Array(Set(named.map(PeerNames.wire))).sorted()
    }

    private static func servers() -> String {
        "servers:\n"
            + owners.map { owner in
                """
                  \(owner):
                    host: \(quoted("\(owner):\(PeerNames.ports[owner] ?? "0")"))
                    protocol: zmtp
                    protocolVersion: "3.1"
                    description: Requests; each stream family has a port of its own. ipc sockets under var/bus on one machine.
                    security: [ { $ref: "#/components/securitySchemes/curve" } ]

                """
            }.joined()
    }

    // MARK: Channels and operations

    private static func channels() -> String {
        "channels:\n" + ContractsReader.families.map(streamChannel).joined() + dispatchChannel + owners.map(requestChannel).joined()
    }

    private static func streamChannel(_ family: Call) -> String {
        let name = family["name"]?.asLiteral ?? ""
        let partitioned = family["streams"]?.contains("partitions") ?? false
        let parameters =
            partitioned
            ? "    parameters:\n      partition: { description: \"00 to 15: facts about one person are in one partition, in order.\" }\n"
            : ""
        return """
              \(name):
                address: \(quoted(partitioned ? "\(name).{partition}" : name))
                description: \(quoted("TCP port \(family["tcpPort"] ?? ""). Heartbeats come on \(name).heartbeat every \(Words.duration(family["heartbeat"])). Snapshot: \(family["keepsState"] == "true" ? "yes" : "no")."))
                servers: [ { $ref: \(quoted("#/servers/\(PeerNames.wire(family["owner"] ?? ""))")) } ]
            \(parameters)    messages:
            \(messages(of: name).map { "      \($0): { $ref: \(quoted("#/components/messages/\($0)")) }\n" }.joined())
            """
    }

    /// Which facts travel in a family: the comment of the fact names the stream.
    static func messages(of family: String) -> [String] {
        ContractsReader.facts.filter { $0.comment.contains("`\(family)`") || $0.comment.contains("`\(family).") }.map(\.name) + [
            "Heartbeat"
        ]
    }

    private static func requests(of owner: String) -> [ContractType] {
        ContractsReader.requests.filter { type in
            type.constants["owner"].map { PeerNames.wire($0) == owner }
                ?? type.constants["answerers"].map { PeerNames.list($0).components(separatedBy: ", ").contains(owner) } ?? publishes(owner)
        }
    }

    private static func publishes(_ owner: String) -> Bool {
        ContractsReader.families.contains { PeerNames.wire($0["owner"] ?? "") == owner }
    }

    private static func requestChannel(_ owner: String) -> String {
        """
          \(owner).questions:
            address: \(quoted(owner + ".requests"))
            servers: [ { $ref: \(quoted("#/servers/\(owner)")) } ]
            messages:
        \(requests(of: owner).flatMap { [$0.name, $0.name + "Answer"] }.map { "      \($0): { $ref: \(quoted("#/components/messages/\($0)")) }\n" }.joined())
        """
    }

    private static func operations() -> String {
        let streams = ContractsReader.families.map { family in
            let name = family["name"]?.asLiteral ?? ""
            return """
                  hear.\(name):
                    action: send
                    summary: \(quoted("Published by \(PeerNames.wire(family["owner"] ?? "")), consumed by \(PeerNames.list(family.consumers))."))
                    channel: { $ref: \(quoted("#/channels/\(name)")) }

                """
        }
        let questions = owners.flatMap { owner in
            requests(of: owner).map { request in
                """
                  \(owner).\(request.constants["method"]?.asLiteral ?? ""):
                    action: receive
                    summary: \(quoted(request.comment))
                    description: \(quoted("Asked by \(PeerNames.clients(of: request))."))
                    channel: { $ref: \(quoted("#/channels/\(owner).questions")) }
                    messages: [ { $ref: \(quoted("#/channels/\(owner).questions/messages/\(request.name)")) } ]
                    reply:
                      channel: { $ref: \(quoted("#/channels/\(owner).questions")) }
                      messages: [ { $ref: \(quoted("#/channels/\(owner).questions/messages/\(request.name)Answer")) } ]

                """
            }
        }
        return "operations:\n" + streams.joined() + dispatchOperation + questions.joined()
    }

    // MARK: Components

    private static func components() -> String {
        var text = """
            components:
              securitySchemes:
                curve: { type: X509, description: "CURVE25519 key pairs in Z85; the server knows the keys of those it allows. See docs/bus.md." }
              messages:

            """
        for fact in ContractsReader.facts {
            text += """
                    \(fact.name):
                      name: \(quoted(fact.constants["type"]?.asLiteral ?? ""))
                      summary: \(quoted(fact.comment))
                      headers: { $ref: "#/components/schemas/StreamHeader" }
                      payload: { $ref: \(quoted("#/components/schemas/\(fact.name)")) }

                """
        }
        text += """
                Heartbeat:
                  name: heartbeat.v1
                  headers: { $ref: "#/components/schemas/StreamHeader" }
                  payload: { $ref: "#/components/schemas/Heartbeat" }

            """
        text += dispatchMessage
        for request in ContractsReader.requests { text += envelopes(of: request) }
        return text + "  schemas:\n" + Schemas.all()
    }

    /// The bus's own bound of an envelope's words.
    static var longestWord: String {
        SourceTree.text("Shared/Bus/BusLimits.swift")?.matches(of: "let wordBytes = (\\d+)").first?[1] ?? "unknown"
    }

    private static func envelopes(of request: ContractType) -> String {
        let reply = ContractsReader.type("\(request.name).Reply")?.name ?? "Nothing"
        return """
                \(request.name):
                  name: \(request.constants["method"]?.asLiteral ?? "")
                  payload:
                    type: object
                    required: [v, id, method, deadline, trace, body]
                    properties:
                      v: { const: 1 }
                      id: { $ref: "#/components/schemas/RequestId" }
                      method: { const: \(request.constants["method"]?.asLiteral ?? "") }
                      deadline: { $ref: "#/components/schemas/Timestamp" }
                      trace: { type: string, maxLength: \(longestWord) }
                      body: { $ref: \(quoted("#/components/schemas/\(request.name)")) }
                \(request.name)Answer:
                  name: \(quoted("answer to \(request.constants["method"]?.asLiteral ?? "")"))
                  payload:
                    type: object
                    required: [v, id]
                    description: Exactly one of ok and failure.
                    properties:
                      v: { const: 1 }
                      id: { $ref: "#/components/schemas/RequestId" }
                      ok: { $ref: \(quoted("#/components/schemas/\(reply)")) }
                      failure: { $ref: "#/components/schemas/Failure" }

            """
    }

    static func quoted(_ text: String) -> String {
        "\"" + text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"") + "\""
    }
}
