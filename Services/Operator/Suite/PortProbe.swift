// Whether a port of loopback can be listened on, and if not, why.

import Foundation

struct PortProbe: Sendable {
    func state(of port: Int, isEdge: Bool) async -> PortState {
        let failure = PortProbe.bindingFailure(port)
        if failure == 0 { return .free }
        if failure == EACCES { return .forbidden }
        let holder = PortHolder.find(port)
        return await Readiness().answers(port: port, isEdge: isEdge) ? .ours(by: holder) : .taken(by: holder)
    }

    /// For what is to listen at once or not at all. Whatever else hinders it is seen when it listens.
    /// - Parameter option: names the port on the command line.
    /// - Throws: where another process has the port, naming it.
    static func requireFree(_ port: Int, at host: String, option: String) throws(OperatorError) {
        guard bindingFailure(port, at: host == "localhost" ? "127.0.0.1" : host) == EADDRINUSE else { return }
        let holder = PortHolder.find(port)
        throw OperatorError(
            .failed, "port \(port) is taken by \(holder?.description ?? "another process")",
            mend: "stop \(holder.map { "process \($0.process)" } ?? "it"), or choose another \(option)")
    }

    /// The error number of binding, 0 where it succeeds. The socket is closed again at once.
    private static func bindingFailure(_ port: Int, at host: String = "127.0.0.1") -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        return bound == 0 ? 0 : errno
    }
}
