// Streams that Contracts makes as they are needed: one for each integrator. For docs/asyncapi.yaml.

extension AsyncAPI {
    static let dispatchChannel = """
          dispatch:
            address: "dispatch.{integrator}"
            description: "TCP port 5760 and upwards, one for each integrator. Heartbeats come on dispatch.{integrator}.heartbeat every 250 ms. Snapshot: no."
            servers: [ { $ref: "#/servers/sos-dispatcher" } ]
            parameters:
              integrator: { description: "The integrator's name; nobody hears it but its own peer." }
            messages:
              Dispatch: { $ref: "#/components/messages/Dispatch" }
              Heartbeat: { $ref: "#/components/messages/Heartbeat" }

        """

    static let dispatchOperation = """
          hear.dispatch:
            action: send
            summary: "Said by sos-dispatcher, heard by the integrator's peer. See docs/integrators/stream.md."
            channel: { $ref: "#/channels/dispatch" }

        """

    static let dispatchMessage = """
            Dispatch:
              name: dispatch.v1
              summary: "Every message to one integrator, once. Personal. If lost, replayed from the log."
              headers: { $ref: "#/components/schemas/StreamHeader" }
              payload: { $ref: "integrators/dispatch.schema.json" }

        """
}
