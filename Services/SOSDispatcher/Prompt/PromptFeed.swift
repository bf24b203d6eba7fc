// One open event stream of a person's prompt: what there is to see, whenever that changes.

import Contracts
import Foundation
import HTTPKit
import ServiceKit

/// The prompt is a state: who reconnects gets what it is now, if that is not what they have seen last.
actor PromptFeed {
    /// Polls in case a wake-up was lost.
    private static let look = Duration.seconds(10)
    /// The event's id where there is nothing to see.
    static let nothing = "none"

    private let person: PersonID
    private let service: PromptService
    private let watcher: Watchers<PersonID>.Watcher
    private var seen: String?

    /// - Parameter seen: the id of the event that was seen last.
    /// - Returns: nil where the person has as many streams open as they may.
    init?(of person: PersonID, seen: String?, service: PromptService) {
        guard let watcher = service.watchers.watch(person) else { return nil }
        (self.person, self.seen, self.service, self.watcher) = (person, seen, service, watcher)
    }

    /// nil when the task is cancelled.
    func next() async throws -> ServerEvent? {
        while !Task.isCancelled {
            let prompt = await service.prompt(of: person)
            let id = prompt?.version ?? PromptFeed.nothing
            if id != seen {
                seen = id
                guard let prompt else { return ServerEvent(id: id, event: "removed", data: "{}") }
                let encoder = JSONEncoder()
                encoder.outputFormatting = .withoutEscapingSlashes
                return ServerEvent(id: id, event: "prompt", data: String(decoding: try encoder.encode(PromptBody(prompt)), as: UTF8.self))
            }
            await watcher.wait(atMost: PromptFeed.look)
        }
        return nil
    }
}
