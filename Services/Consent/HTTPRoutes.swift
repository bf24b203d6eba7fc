// The doors of consent over HTTP, of all subjects together.

import Contracts
import HTTPKit

struct ConsentRoutes: Sendable {
    let accounts: AccountModule
    let logIns: LogInModule
    let sharing: SharingModule
    let erasure: ErasureModule

    var all: [Route] {
        let answersForChild: GuardianAnswersRequest = { [service = sharing.service] request, child, accept, trace in
            switch try await service.answer(request, of: child, accept: accept, by: .guardian, trace: trace) {
            case .done, .unchanged: true
            case .refused, .guardianMustAnswer, .notFound: false
            }
        }
        return accounts.routes(answerRequest: answersForChild) + logIns.routes + sharing.routes + erasure.routes
    }
}
