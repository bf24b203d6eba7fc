// From a path and a method to the route: exact paths by hash, paths with parameters segment by segment.

struct RouteTable: Sendable {
    /// A route with what is made once for all its requests. A class, so that handing it on costs one reference.
    final class Entry: Sendable {
        let route: Route
        let parameterNames: [String]
        let meter: RouteMeter
        /// Whether the route answers with pages for people.
        let hasPages: Bool

        init(_ route: Route, parameterNames: [String], meter: RouteMeter) {
            (self.route, self.parameterNames, self.meter) = (route, parameterNames, meter)
            hasPages = route.answers.contains { $0.contents.contains { $0.mediaType == MediaType.html } }
        }
    }

    enum Finding {
        case found(Entry, values: [Substring])
        /// The path exists, the method does not; `allow` names those that do.
        case otherMethods(allow: String)
        case nothing

        /// How many requests may be under way with this one.
        func room(_ limits: HTTPLimits) -> Int {
            guard case .found(let entry, _) = self else { return limits.concurrentRequests }
            return limits.room(entry.route.yields) + (entry.route.usesReserve ? limits.reserve : 0)
        }

        var usesReserve: Bool {
            guard case .found(let entry, _) = self else { return false }
            return entry.route.usesReserve
        }

        var hasPages: Bool {
            guard case .found(let entry, _) = self else { return false }
            return entry.hasPages
        }
    }

    fileprivate struct Place: Sendable {
        let segments: [Segment]
        var entries: [Entry] = []
    }

    fileprivate enum Segment: Hashable, Sendable {
        case text(String)
        case parameter
    }

    /// By what requests hold, so that looking up copies nothing.
    private var exact: [Substring: Place] = [:]
    private var patterns: [Place] = []

    /// Two routes with the same method and path, or a path that is none, are mistakes of the programmer and stop the process.
    init(_ routes: [Route], meter: (Route) -> RouteMeter = RouteMeter.init) {
        precondition(Set(routes.map(\.operationID)).count == routes.count, "two operations have the same id")
        for route in routes {
            let texts = Self.split(route.path[...])
            precondition(route.path.hasPrefix("/") && !texts.contains(""), "\(route.path) is not a path")
            let names = Self.parameterNames(of: route.path)
            precondition(Set(names).count == names.count, "\(route.path) has a parameter twice")
            let segments = texts.map { $0.hasPrefix("{") ? Segment.parameter : .text(String($0)) }
            let entry = Entry(route, parameterNames: names, meter: meter(route))
            if names.isEmpty {
                exact[route.path[...], default: Place(segments: segments)].add(entry)
            } else if let index = patterns.firstIndex(where: { $0.segments == segments }) {
                patterns[index].add(entry)
            } else {
                var place = Place(segments: segments)
                place.add(entry)
                patterns.append(place)
            }
        }
    }

    /// HEAD is found where GET is.
    func find(method: String, path: Substring) -> Finding {
        let wanted = method == "HEAD" ? "GET" : method
        if let place = exact[path] { return place.finding(wanted, []) }
        let segments = Self.split(path)
        for place in patterns {
            if let values = place.match(segments) { return place.finding(wanted, values) }
        }
        return .nothing
    }

    /// In the order of the path.
    static func parameterNames(of path: String) -> [String] {
        split(path[...]).filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }

    /// By bytes, which costs a fraction of characters; of the paths of a service most requests have one with parameters.
    private static func split(_ path: Substring) -> [Substring] {
        path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { Substring($0) }
    }
}

fileprivate extension RouteTable.Place {
    mutating func add(_ entry: RouteTable.Entry) {
        precondition(
            !entries.contains { $0.route.method == entry.route.method }, "\(entry.route.method.rawValue) \(entry.route.path) is there twice"
        )
        entries.append(entry)
    }

    /// The values of the parameters; nil where the path is another one. A parameter is never empty.
    func match(_ path: [Substring]) -> [Substring]? {
        guard path.count == segments.count else { return nil }
        // The paths of one service begin alike: they are told apart from their ends.
        for place in path.indices.reversed() {
            switch segments[place] {
            case .text(let expected): guard path[place] == expected else { return nil }
            case .parameter: guard !path[place].isEmpty else { return nil }
            }
        }
        return path.indices.filter { segments[$0] == .parameter }.map { path[$0] }
    }

    func finding(_ method: String, _ values: [Substring]) -> RouteTable.Finding {
        if let entry = entries.first(where: { $0.route.method.rawValue == method }) { return .found(entry, values: values) }
        let methods = entries.map(\.route.method.rawValue)
        return .otherMethods(allow: (methods.contains("GET") ? methods + ["HEAD"] : methods).joined(separator: ", "))
    }
}
