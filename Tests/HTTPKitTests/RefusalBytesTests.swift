// What a refusal is written as, without a general encoder, and a page without a template around its template.

import Contracts
import Foundation
import NIOCore
import Testing

@testable import HTTPKit

@Suite("Refusals as bytes")
struct RefusalBytesTests {
    @Test(
        "X2: a problem that is written by hand, since refusing must cost little, is the JSON that a general encoder makes of it",
        arguments: [
            Problem("bare", status: 404, title: "Nothing"),
            Problem("full", status: 422, title: "A \"title\" \\ with / and <b>", detail: "Line\nand\u{1}tab\t, è – 👩‍👧", errors: []),
            Problem(
                "fields", status: 422, title: "Fields",
                errors: [
                    .init(pointer: "/a\"b\\c\u{0}", .required), .init(pointer: "/\u{7F}\u{2028}", .unknownField),
                ]),
        ])
    func asEncoded(problem: Problem) throws {
        var problem = problem
        for requestId in [nil, "r-1\""] {
            problem.requestId = requestId
            let written = Data(problem.json.readableBytesView)
            let (one, other) = try (
                JSONSerialization.jsonObject(with: written), JSONSerialization.jsonObject(with: JSONEncoder().encode(problem))
            )
            #expect(one as? NSDictionary == other as? NSDictionary)
        }
    }

    @Test("a page's title never becomes markup, not behind a combining mark either")
    func titles() {
        #expect(PageLayout.escaped("a<\u{301}b>&\"'") == "a&lt;\u{301}b&gt;&amp;&quot;&#39;")
        let page = PageLayout(language: .italian).document(title: "<i>", content: "<p>x</p>", nonce: "n1", script: nil)
        #expect(page.contains("<h1>&lt;i&gt;</h1>") && page.contains("<p>x</p>") && !page.contains("<script"))
    }
}
