// What Contracts declare of the conversation on the bus is what the services do.

import Testing

@Suite("Conversations")
struct ConversationTests {
    /// Whoever may listen without confirming: no log waits for it.
    private static let listener = "trackme"

    @Test("S13: consent.people waited for dispatchers that do not follow it, and grew for ever: who is named as a consumer follows")
    func consumers() {
        for family in Conversations.families {
            for peer in family.consumers where peer != Self.listener {
                let follows = Conversations.folder(of: peer).map { Conversations.isFollowed(family, in: $0) } ?? false
                #expect(follows, "\(peer) does not follow \(family.name), whose log waits for it: take it out of StreamFamily")
            }
            // A deputy follows what its first does, but for the streams between the two.
            let dispatchers = Conversations.folder(of: "sos-dispatcher")
            let pair = family.consumers.filter { Conversations.folder(of: $0) == dispatchers }
            #expect(pair.count != 1 || Conversations.folder(of: family.owner) == dispatchers, "\(family.name)")
        }
    }

    @Test("who follows streams is named as their consumer")
    func followers() {
        for family in Conversations.families {
            for folder in GeneratedTables.executables.map(\.folder) where Conversations.does(Conversations.following(family), in: folder) {
                #expect(
                    Conversations.peers(of: folder).contains { family.consumers.contains($0) || family.owner == $0 },
                    "\(folder) follows \(family.name), which does not name it")
            }
        }
    }

    @Test("every request is answered by its owner alone")
    func answers() {
        for request in ContractsReader.requests {
            guard let owner = request.constants["owner"].map(PeerNames.wire) else { continue }
            let answering = GeneratedTables.executables.map(\.folder).filter { Conversations.isAnswered(request, in: $0) }
            #expect(answering == [Conversations.folder(of: owner)].compactMap(\.self), "\(request.name)")
        }
    }

    @Test("who may ask does, or it is written down why the right is there")
    func clients() {
        var unused: Set<String> = []
        for request in ContractsReader.requests {
            for peer in PeerNames.all(request.constants["clients"]) {
                guard let folder = Conversations.folder(of: peer), !Conversations.isAsked(request, in: folder) else { continue }
                let right = "\(request.name) \(peer)"
                unused.insert(right)
                #expect(Exceptions.unusedRights[right] != nil, "\(peer) never asks \(request.name)")
            }
        }
        for right in Exceptions.unusedRights.keys { #expect(unused.contains(right), "\(right) needs no exception") }
    }
}
