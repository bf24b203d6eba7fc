// The steps of several subjects of one service as those of the service.

import Contracts
import GRDB

extension ErasureSteps {
    /// Each step of all subjects in their order. The person's key goes unless every subject can spare that.
    package static func all(_ subjects: [ErasureSteps]) -> ErasureSteps {
        let kept = subjects.compactMap(\.kept)
        return ErasureSteps(
            shut: { order in
                for subject in subjects { try await subject.shut(order) }
            },
            destroysKey: { order in subjects.contains { $0.destroysKey(order) } },
            delete: { db, order in try subjects.reduce(0) { try $0 + $1.delete(db, order) } },
            streams: { order in subjects.flatMap { $0.streams(order) } },
            finish: { order in
                for subject in subjects { try await subject.finish(order) }
            }, kept: kept.isEmpty ? nil : kept.joined(separator: "; "), further: subjects.flatMap(\.further),
            keptKey: subjects.compactMap(\.keptKey).first)
    }
}
