// Whoever adds a service is told here what is still missing.

import Testing

@Suite("Services")
struct ServiceTests {
    private static let services = SourceTree.services

    @Test("every service is a product, in the table of README.md, and has a README, an entry point and tests", arguments: services)
    func completeness(service: String) throws {
        let product = try #require(
            GeneratedTables.executables.first { $0.folder == "Services/\(service)" }?.product, "Package.swift has no product of \(service)")
        #expect(SourceTree.text("README.md")?.contains("| `\(product)` |") == true, "README.md's table lacks \(product)")
        let readme = SourceTree.text("Services/\(service)/README.md") ?? ""
        #expect(readme.count > 400, "Services/\(service)/README.md says next to nothing")
        #expect(SourceTree.exists("Services/\(service)/App.swift"))
        let tests = SourceTree.swift.filter { $0.isUnder("Tests/\(service)Tests") && $0.code.contains { $0.contains("@Test") } }
        #expect(!tests.isEmpty, "Tests/\(service)Tests proves nothing")
    }

    @Test("docker-compose.yml runs every service in the order of README.md's table, as an image of this repository")
    func compose() {
        let compose = SourceTree.text("docker-compose.yml") ?? ""
        for (product, folder) in GeneratedTables.executables where folder != "Services/Operator" {
            let entry = compose.matches(of: "^  \(product):\\n(?: {4,}.*\\n)+").first?[0]
            #expect(entry != nil, "docker-compose.yml lacks \(product)")
            let isLikeOthers = entry?.contains("<<: *service") == true && entry?.contains("healthcheck: *health") == true
            #expect(isLikeOthers, "docker-compose.yml does not check or confine \(product) as it does others")
        }
        let products = GeneratedTables.executables.map(\.product)
        let order = compose.matches(of: "^  ([a-z-]+):\\n").map { $0[1] }.filter(products.contains)
        #expect(order == products, "docker-compose.yml has them in the order \(order)")
        for promise in ["read_only: true", "tmpfs: [ /tmp ]", "cap_drop: [ ALL ]", "no-new-privileges:true"] {
            #expect(compose.contains(promise), "docker-compose.yml does not say \(promise)")
        }
        #expect(
            !compose.contains("service_healthy"),
            "docker-compose.yml has one service wait for another, which may refuse to start: rescue would wait too")
        let dockerfile = SourceTree.text("deploy/Dockerfile") ?? ""
        #expect(dockerfile.matches(of: "^USER 10001$").count == 2, "the services and the edge run as a user without rights")
        for base in dockerfile.matches(of: "^FROM +(\\S+)").map({ $0[1] }) {
            let known = ["debian:bookworm-slim", "swift:6.3-bookworm", "swift:6.3-bookworm-slim"]
            let stages = dockerfile.matches(of: "^FROM .* [Aa][Ss] +(\\S+)").map { $0[1] }
            #expect((known + stages).contains(base), "deploy/Dockerfile builds from \(base)")
        }
    }

    @Test("App.swift of a service is at most 25 lines: the rest is Assembly's", arguments: services)
    func entryPoints(service: String) throws {
        let file = try #require(SourceTree.swift.first { $0.path == "Services/\(service)/App.swift" })
        #expect(file.lines.count - 1 <= 25)
    }

    @Test("every module of Shared has tests that prove something", arguments: SourceTree.folders(in: "Shared"))
    func modules(module: String) {
        let isOurs = !SourceTree.files(under: "Shared/\(module)", ending: ".swift").isEmpty && module != "TestKit"
        guard isOurs else { return }
        let tests = SourceTree.swift.filter { $0.isUnder("Tests/\(module)Tests") && $0.code.contains { $0.contains("@Test") } }
        #expect(!tests.isEmpty, "Tests/\(module)Tests proves nothing")
    }

    @Test("a test's display name is a sentence, not the function's name again")
    func sentences() {
        for file in SourceTree.swift where file.isUnder("Tests") {
            for (index, line) in file.code.enumerated() where !line.matches(of: "^ *@Test\\b").isEmpty {
                let text = file.lines[index...].prefix(3).joined(separator: " ")
                let name = text.matches(of: "@Test\\(\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").first?[1]
                let words = (name ?? "").split(separator: " ").count
                #expect(words >= 3, "\(file.path):\(index + 1) \(name ?? "has no display name")")
            }
        }
    }
}
