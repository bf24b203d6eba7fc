// Slow questions of many never take the slots that rescue needs.

import Contracts
import Testing

@testable import Bus

@Suite("Answer slots")
struct AnswerSlotsTests {
    private func filled(by peer: Peer) -> (slots: AnswerSlots, taken: Int) {
        var slots = AnswerSlots(total: BusLimits.questionsInWork)
        var taken = 0
        while slots.admits(peer) {
            slots.began(peer)
            taken += 1
        }
        return (slots, taken)
    }

    @Test(
        "S10: 64 slots were shared by all peers: slow reads of third parties kept record-entries and read-latest of rescue waiting",
        arguments: [Peer.thirdPartyGateway, .consent, .trackme, Peer("a-stranger")])
    func rescueFirst(peer: Peer) {
        var (slots, taken) = filled(by: peer)
        #expect(taken >= BusLimits.questionsInWork / 2, "what is shared is most of it: \(taken)")
        for other in Peer.suite where other != peer {
            let kept = AnswerSlots.kept(for: other)
            #expect(kept >= 1)
            for _ in 0..<kept {
                #expect(slots.admits(other))
                slots.began(other)
            }
            #expect(!slots.admits(other))
        }
        slots.ended(peer)
        #expect(slots.admits(.sosDispatcher), "what is free again anybody may take")
    }

    @Test("Whoever asks, no more are in work than there are slots, and each that ends makes room for one")
    func bounded() {
        var random = SystemRandomNumberGenerator()
        var slots = AnswerSlots(total: BusLimits.questionsInWork)
        var working: [Peer] = []
        for _ in 0..<2000 {
            let peer = Peer.suite.randomElement(using: &random) ?? .ingest
            if Bool.random(using: &random), !working.isEmpty {
                slots.ended(working.remove(at: Int.random(in: working.indices, using: &random)))
            } else if slots.admits(peer) {
                slots.began(peer)
                working.append(peer)
            }
            #expect(working.count <= BusLimits.questionsInWork)
        }
        for peer in working { slots.ended(peer) }
        #expect(slots.admits(.trackme))
    }
}
