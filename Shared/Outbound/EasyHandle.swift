// libcurl's easy handle: one transfer's options and callbacks.

import CCurl
import Contracts
import Foundation

/// Made once and used for one transfer after the other. Belongs to the loop's thread.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private(set) var transfer: Transfer?
    private var policy = AddressPolicy.publicOnly
    /// Header lines of a request, recipients of a mail.
    private var lines: UnsafeMutablePointer<curl_slist>?

    init() {
        guard let pointer = curl_easy_init() else { preconditionFailure("out of memory for libcurl") }
        self.pointer = pointer
    }

    deinit {
        curl_slist_free_all(lines)
        curl_easy_cleanup(pointer)
    }

    func prepare(_ transfer: Transfer, _ settings: OutboundSettings, remaining: Duration) {
        self.transfer = transfer
        policy = settings.policy
        setBounds(transfer.command, remaining)
        setSecurity(settings)
        switch transfer.command {
        case .request(let request): setRequest(request)
        case .mail(let mail, let server): setMail(mail, server)
        }
        setCallbacks()
    }

    /// Ready for the next one.
    func reset() {
        transfer = nil
        curl_easy_reset(pointer)
        curl_slist_free_all(lines)
        lines = nil
    }

    var status: Int {
        var status = 0
        _ = trackme_curl_get_long(pointer, CURLINFO_RESPONSE_CODE, &status)
        return status
    }

    private func set(_ option: CURLoption, _ value: Int) {
        _ = trackme_curl_set_long(pointer, option, value)
    }

    private func set(_ option: CURLoption, _ text: String) {
        _ = text.withCString { trackme_curl_set_pointer(pointer, option, $0) }
    }

    /// Bytes of the request that have been sent, its head included.
    var requestBytes: Int {
        var bytes = 0
        _ = trackme_curl_get_long(pointer, CURLINFO_REQUEST_SIZE, &bytes)
        return bytes
    }

    private func setBounds(_ command: TransferCommand, _ remaining: Duration) {
        let connect = min(command.connectTimeout, remaining)
        set(CURLOPT_TIMEOUT_MS, max(1, Int(remaining.wholeMilliseconds)))
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(connect.wholeMilliseconds)))
        set(CURLOPT_NOSIGNAL, 1)
        // A transfer that ends while its name is being looked up leaves the look-up behind; else one dead name server would stop all.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    private func setSecurity(_ settings: OutboundSettings) {
        set(CURLOPT_FOLLOWLOCATION, 0)
        // Not even one that the environment names: it would connect in our place, past the policy.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        if let authorities = settings.authorities { set(CURLOPT_CAINFO, authorities) }
        set(CURLOPT_USERAGENT, settings.userAgent)
    }

    private func setRequest(_ request: OutboundRequest) {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_URL, request.url)
        if request.method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
        } else if request.body.isEmpty, request.method == "GET" {
            set(CURLOPT_HTTPGET, 1)
        } else {
            set(CURLOPT_POST, 1)
            set(CURLOPT_POSTFIELDSIZE, request.body.count)
            // libcurl copies: the array's bytes need not stay where they are.
            if request.body.isEmpty {
                set(CURLOPT_COPYPOSTFIELDS, "")
            } else {
                _ = request.body.withUnsafeBytes { trackme_curl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
            }
            set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        // No "100 Continue" round trip, and no type that nobody gave.
        for line in ["Expect:"] + (request.headers.contains { $0.name.lowercased() == "content-type" } ? [] : ["Content-Type:"]) {
            lines = curl_slist_append(lines, line)
        }
        for header in request.headers {
            // A header without a value is written with a semicolon; a colon alone would remove it.
            lines = curl_slist_append(lines, header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
        }
        _ = trackme_curl_set_pointer(pointer, CURLOPT_HTTPHEADER, lines)
    }

    private func setMail(_ mail: OutboundMail, _ server: MailServer) {
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        set(CURLOPT_URL, "\(server.url)/\(server.greeting)")
        // With `smtp://` this is STARTTLS: without it, or with a certificate that is not trusted, nothing is said.
        set(CURLOPT_USE_SSL, Int((server.isEncrypted ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
        if let credentials = server.credentials {
            set(CURLOPT_USERNAME, credentials.name)
            set(CURLOPT_PASSWORD, credentials.password)
        }
        set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
        lines = curl_slist_append(lines, "<\(mail.recipient)>")
        _ = trackme_curl_set_pointer(pointer, CURLOPT_MAIL_RCPT, lines)
        set(CURLOPT_UPLOAD, 1)
        // A connection that the server has tired of would cost an attempt whose outcome is unknown.
        set(CURLOPT_FORBID_REUSE, 1)
        set(CURLOPT_FRESH_CONNECT, 1)
        _ = trackme_curl_set_read(pointer, readMail)
        let this = Unmanaged.passUnretained(self).toOpaque()
        _ = trackme_curl_set_pointer(pointer, CURLOPT_READDATA, this)
        set(CURLOPT_NOPROGRESS, 0)
        _ = trackme_curl_set_progress(pointer, watchMail)
        _ = trackme_curl_set_pointer(pointer, CURLOPT_XFERINFODATA, this)
    }

    private func setCallbacks() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        _ = trackme_curl_set_write(pointer, CURLOPT_WRITEFUNCTION, receiveBody)
        _ = trackme_curl_set_pointer(pointer, CURLOPT_WRITEDATA, this)
        _ = trackme_curl_set_header(pointer, receiveHead)
        _ = trackme_curl_set_pointer(pointer, CURLOPT_HEADERDATA, this)
        _ = trackme_curl_set_opensocket(pointer, openSocket)
        _ = trackme_curl_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, this)
    }

    /// The address is what is about to be connected to: between this look and the connection no name is asked again.
    fileprivate func open(_ target: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard let address = NetworkAddress(target), policy.permits(address) else {
            transfer?.refuseAddress()
            return -1
        }
        transfer?.permitAddress()
        return socket(target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), target.pointee.`protocol`)
    }
}

// MARK: Callbacks, on the loop's thread, while the handle is in the multi handle

private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle? {
    context.map { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
}

private let receiveBody: curl_write_callback = { bytes, size, count, context in
    let length = size * count
    let taken = handle(context)?.transfer?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: length)) ?? false
    return taken ? length : 0
}

private let receiveHead: curl_write_callback = { bytes, size, count, context in
    let length = size * count
    let taken = handle(context)?.transfer?.receiveHead(UnsafeRawBufferPointer(start: bytes, count: length)) ?? false
    return taken ? length : 0
}

private let readMail: curl_read_callback = { buffer, size, count, context in
    handle(context)?.transfer?.readMail(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count)) ?? 0
}

private let watchMail: curl_xferinfo_callback = { context, _, _, _, _ in
    handle(context)?.transfer?.isOver == true ? 1 : 0
}

private let openSocket: curl_opensocket_callback = { context, _, address in
    guard let address, let handle = handle(context) else { return -1 }
    return handle.open(address)
}

extension NetworkAddress {
    /// nil for what is neither IPv4 nor IPv6.
    init?(_ target: UnsafeMutablePointer<curl_sockaddr>) {
        let bytes = UnsafeRawPointer(target).advanced(by: MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
        switch target.pointee.family {
        case AF_INET:
            let address = bytes.loadUnaligned(as: sockaddr_in.self)
            self = .v4(UInt32(bigEndian: address.sin_addr.s_addr))
        case AF_INET6:
            let address = bytes.loadUnaligned(as: sockaddr_in6.self)
            let bits = withUnsafeBytes(of: address.sin6_addr) { $0.reduce(UInt128(0)) { $0 << 8 | UInt128($1) } }
            self = .v6(bits)
        default:
            return nil
        }
    }
}
