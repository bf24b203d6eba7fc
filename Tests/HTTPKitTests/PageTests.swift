// Pages and event streams as a browser gets them.

import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Pages and events")
struct PageTests {
    private static func route(script: String? = nil) -> Route {
        Route(.get, "/page", access: .anyone, summary: "Page", answers: [.page(200, "A page")]) { exchange in
            try .page(
                title: "Hello <b>", template: "<p>{{name}}</p>{{#rows}}<li>{{.}}</li>{{/rows}}",
                values: ["name": "<script>alert(1)</script>", "rows": ["a", "b"]], language: exchange.language, script: script)
        }
    }

    @Test("a page is whole, in the reader's language, with a way past its head, and no value becomes markup")
    func page() async throws {
        try await withServer(Self.route()) { port in
            let answer = try await ask(port, "GET", "/page", headers: ["Accept-Language": "it"])
            #expect(answer.headers["content-type"] == "text/html; charset=utf-8")
            #expect(answer.headers["content-language"] == "it")
            #expect(answer.text.contains(#"<html lang="it">"#))
            #expect(answer.text.contains(##"<a class="skip" href="#content">Vai al contenuto</a>"##))
            #expect(answer.text.contains(#"<main id="content" tabindex="-1">"#))
            #expect(answer.text.contains("width=device-width"))
            #expect(answer.text.contains("&lt;script&gt;") && !answer.text.contains("<script"))
            #expect(answer.text.contains("Hello &lt;b&gt;"))
            #expect(answer.text.contains("<li>a</li><li>b</li>"))
            #expect(answer.text.contains("focus-visible"))
        }
    }

    /// How often a combining mark stands there, and whether each follows an entity.
    private static func marks(in text: String) -> (count: Int, areHarmless: Bool) {
        let scalars = Array(text.unicodeScalars)
        let places = scalars.indices.filter { scalars[$0] == "\u{301}" }
        return (places.count, places.allSatisfy { scalars[$0 - 1] == ";" })
    }

    @Test("a quotation mark before a combining mark ended an attribute: wherever a page shows a value, it is escaped by code points")
    func combiningMarks() async throws {
        let value = ["\"", "'", "<", ">", "&"].map { $0 + "\u{301}" }.joined(separator: "x")
        let shown = Route(.get, "/page", access: .anyone, summary: "Page", answers: [.page(200, "A page")]) { exchange in
            try .page(
                title: value,
                template: """
                    <input value="{{typed}}">{{#has}}{{typed}}{{/has}}{{^hasNot}}{{typed}}{{/hasNot}}
                    {{#rows}}<li>{{.}}</li>{{/rows}}
                    {{#pairs}}<b>{{name}}</b>{{#has}}{{typed}}{{/has}}{{/pairs}}
                    """,
                values: ["typed": value, "has": true, "hasNot": false, "rows": [value], "pairs": [["name": value]]],
                language: exchange.language)
        }
        let notice = Route(.get, "/notice", access: .anyone, summary: "Notice", answers: [.page(200, "A page")]) { exchange in
            .page(title: "Notice", notice: value, language: exchange.language)
        }
        let refused = Route(.get, "/refused", access: .anyone, summary: "Refused", answers: [.page(200, "A page")]) { _ in
            throw Problem.invalidBody([.init(pointer: "/" + value, .required)])
        }
        try await withServer(shown, notice, refused) { port in
            // The title stands twice.
            for (path, places) in [("/page", 8), ("/notice", 1), ("/refused", 1)] {
                let found = Self.marks(in: try await ask(port, "GET", path, headers: ["Accept": "text/html"]).text)
                #expect(found.areHarmless && found.count == 5 * places, "\(path)")
            }
        }
    }

    @Test("a browser may do nothing with a page but show it and send its forms home")
    func policy() async throws {
        try await withServer(Self.route()) { port in
            let answer = try await ask(port, "GET", "/page")
            let policy = try #require(answer.headers["content-security-policy"])
            let nonce = try #require(answer.text.firstMatch(of: /<style nonce="([0-9a-z]+)">/)?.1)
            #expect(policy.hasPrefix("default-src 'none'; style-src 'nonce-\(nonce)';"))
            #expect(
                policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'") && policy.contains("base-uri 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("script-src"))
            #expect(answer.headers["referrer-policy"] == "same-origin")
            #expect(answer.headers["cache-control"] == "no-store")
            let other = try await ask(port, "GET", "/page")
            #expect(other.headers["content-security-policy"] != policy)
        }
        try await withServer(Self.route(script: "1 < 2 && go()")) { port in
            let answer = try await ask(port, "GET", "/page")
            let nonce = try #require(answer.text.firstMatch(of: /<script nonce="([0-9a-z]+)">1 < 2 && go\(\)<\/script>/)?.1)
            #expect(answer.headers["content-security-policy"]?.contains("script-src 'nonce-\(nonce)'") == true)
        }
    }

    @Test("the layout's colours differ by at least 7 : 1 from what they stand on")
    func contrast() {
        func luminance(_ hex: String) -> Double {
            let long = hex.count == 3 ? hex.map { "\($0)\($0)" }.joined() : hex
            let parts = stride(from: 0, to: 6, by: 2).map { index -> Double in
                let start = long.index(long.startIndex, offsetBy: index)
                let value = Double(Int(long[start..<long.index(start, offsetBy: 2)], radix: 16) ?? 0) / 255
                return value <= 0.03928 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
            }
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        }
        func ratio(_ one: String, _ other: String) -> Double {
            let (a, b) = (luminance(one), luminance(other))
            return (max(a, b) + 0.05) / (min(a, b) + 0.05)
        }
        let pairs = [
            ("1a1a1a", "fff"), ("00427a", "fff"), ("003f6f", "fff"), ("404040", "fff"), ("8a0000", "fff"), ("1a1a1a", "eef4fa"),
            ("1a1a1a", "fdf0f0"),
        ]
        for (one, other) in pairs { #expect(ratio(one, other) >= 7, "\(one) on \(other)") }
        // What is not text needs 3 : 1.
        #expect(ratio("a03800", "fff") >= 3 && ratio("404040", "fff") >= 3)
    }

    @Test("a refusal on the way to a page is a page for a browser and JSON for a program")
    func refusals() async throws {
        let route = Route(.get, "/page", access: .device, summary: "Page", answers: [.page(200, "A page")]) { _ in .empty() }
        try await withServer(route) { port in
            let browser = try await ask(
                port, "GET", "/page", headers: ["Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language": "it"])
            #expect(browser.status == 401)
            #expect(browser.headers["content-type"] == "text/html; charset=utf-8")
            #expect(browser.text.contains("Non è possibile") && browser.text.contains("Non si sa chi chiede"))
            for accept in ["*/*", "application/json", nil] {
                let program = try await ask(port, "GET", "/page", headers: accept.map { ["Accept": $0] } ?? [:])
                #expect(program.headers["content-type"] == "application/problem+json")
            }
        }
    }

    @Test("events travel with id, name and data, whatever line ends they hold")
    func eventText() {
        #expect(ServerEvent(id: "7", event: "moved", data: "one\ntwo").text == "event: moved\nid: 7\ndata: one\ndata: two\n\n")
        #expect(ServerEvent(id: "7\n8", data: "a\r\nb\rc").text == "id: 78\ndata: a\ndata: b\ndata: c\n\n")
        #expect(ServerEvent(data: "").text == "data: \n\n")
    }

    @Test("an event stream says that it lives while nothing happens, goes on from where a browser was, and ends with its source")
    func events() async throws {
        let waited = Mutex(0)
        let route = Route.events("/events", access: .anyone, summary: "Events", events: "Numbers") { exchange in
            let next = Mutex(Int(exchange.lastEventID ?? "0") ?? 0)
            return EventSource {
                let number = next.withLock { value in
                    value += 1
                    return value
                }
                guard number <= 3 else { return nil }
                // Quiet until the stream has said that it lives.
                if number == 2 { try await Task.sleep(for: .milliseconds(300)) }
                waited.withLock { $0 += 1 }
                return ServerEvent(id: "\(number)", data: "n\(number)")
            }
        }
        var limits = HTTPLimits()
        (limits.eventHeartbeat, limits.sweepInterval) = (.milliseconds(5), .milliseconds(5))
        try await withServer(route, limits: limits) { port in
            let all = try await ask(port, "GET", "/events")
            #expect(all.headers["content-type"] == "text/event-stream")
            #expect(all.headers["cache-control"] == "no-store")
            #expect(all.text.hasPrefix(": connected\n\n"))
            #expect(all.text.contains("id: 1\ndata: n1\n\n") && all.text.hasSuffix("id: 3\ndata: n3\n\n"))
            #expect(all.text.contains("\n\n:\n\n"))
            let rest = try await ask(port, "GET", "/events", headers: ["Last-Event-ID": "2"])
            #expect(rest.text == ": connected\n\nid: 3\ndata: n3\n\n")
        }
    }
}
