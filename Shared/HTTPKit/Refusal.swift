// A refusal with what its answer says in headers.

package import Contracts
package import HTTPTypes

/// An error of a module below the doors that knows what a caller is told of it: no route has to translate it.
package protocol ErrorForCallers: Error {
    /// Nil where it is a fault of the service: the caller is told `internal`, the log its reason.
    var refusal: Refusal? { get }
}

/// A problem with something to say in the headers as well. Throw it, or throw the `Problem` alone.
package struct Refusal: Error, Sendable {
    package var problem: Problem
    /// Seconds after which it is worth asking again, rounded up; written as `Retry-After`.
    package var retryAfter: Duration?
    /// The methods that the path does take; written as `Allow`.
    var allow: String?
    /// Further headers of the answer.
    package var headers: HTTPFields

    /// Every 429 and 503 says when to come again, also where whoever refused did not know.
    static func usualWait(_ status: Int) -> Duration? {
        status == 429 || status == 503 ? .seconds(5) : nil
    }

    package init(_ problem: Problem, retryAfter: Duration? = nil, headers: HTTPFields = HTTPFields()) {
        (self.problem, self.retryAfter, self.headers) = (problem, retryAfter, headers)
    }
}
