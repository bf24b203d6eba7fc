// How thresholds are refused, and what the person is told to do.

import Contracts

extension Problem {
    /// SOS-08.
    static func invalidBounds(_ errors: [Problem.FieldError]) -> Problem {
        Problem(
            "invalid-bounds", status: 422, title: "These thresholds are not possible", italianTitle: "Queste soglie non sono possibili",
            detail: "Nothing was changed. Correct the named thresholds; each says the allowed range.",
            italianDetail: "Nulla è stato cambiato. Corregga le soglie indicate; ognuna dice l'intervallo ammesso.", errors: errors)
    }
}

extension OwnBounds {
    /// - Throws: `invalid-bounds`, with a pointer to each wrong metric.
    static func checked(_ asked: [String: Bounds], under pointer: String) throws(Problem) -> [Metric: Bounds] {
        var checked: [Metric: Bounds] = [:]
        var faults: [Problem.FieldError] = []
        for (code, bounds) in asked.sorted(by: { $0.key < $1.key }) {
            if let fault = fault(of: bounds, for: code) {
                // What somebody typed as a name is cut, so that an answer does not echo a book.
                let step = code.prefix(40).replacing("~", with: "~0").replacing("/", with: "~1")
                faults.append(.init(pointer: "\(pointer)/\(step)", fault))
            } else if let metric = Metric(code: code), bounds.low != nil || bounds.high != nil {
                checked[metric] = bounds
            }
        }
        guard faults.isEmpty else { throw .invalidBounds(faults) }
        return checked
    }
}
