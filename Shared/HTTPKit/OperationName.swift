// What an operation is called in the OpenAPI document, and so what its method is called in clients that are generated from it.

/// `listRequests` of `GET /thirdparty/v1/requests`. A route says its own name where this one is not what a person would write.
enum OperationName {
    static func derived(_ method: Route.Method, _ path: String) -> String {
        let segments = path.split(separator: "/")
        let isWholes = segments.last.map { isPlural($0) } ?? false
        let isOfOne = segments.last?.hasPrefix("{") ?? false
        return switch method {
        case .get: (isWholes ? "list" : "get") + words(path)
        case .post: (isOfOne ? "submit" : "create") + words(path, lastIsOne: true)
        case .put: "set" + words(path)
        case .patch: "update" + words(path)
        case .delete: "delete" + words(path)
        }
    }

    /// Of the events at a path that ends so.
    static func ofEvents(_ path: String) -> String {
        "stream" + words(path.hasSuffix("/events") ? String(path.dropLast("/events".count)) : path)
    }

    /// The segments behind the service and its version, in camel case; what stands before a parameter in the singular.
    private static func words(_ path: String, lastIsOne: Bool = false) -> String {
        var segments = path.split(separator: "/")
        if segments.count > 2, segments[1].first == "v", segments[1].dropFirst().allSatisfy(\.isNumber) { segments.removeFirst(2) }
        return segments.indices.filter { !segments[$0].hasPrefix("{") }.map { index in
            let isOne = index + 1 < segments.count ? segments[index + 1].hasPrefix("{") : lastIsOne
            let word = isOne ? singular(segments[index]) : String(segments[index])
            return word.split { !$0.isLetter && !$0.isNumber }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        }.joined()
    }

    private static func isPlural(_ word: Substring) -> Bool {
        word.hasSuffix("s") && !word.hasSuffix("ss") && !word.hasSuffix("status")
    }

    private static func singular(_ word: Substring) -> String {
        if word.hasSuffix("ies") { return word.dropLast(3) + "y" }
        if word.hasSuffix("sses") { return String(word.dropLast(2)) }
        return String(isPlural(word) ? word.dropLast() : word)
    }
}
