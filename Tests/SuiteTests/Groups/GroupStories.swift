// Organisations ask for the data of groups of thousands, and get them or are refused; judged by what the test alone knows of everybody.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator

@Suite("Stories of groups", .serialized, .timeLimit(.minutes(15)))
struct GroupStories {
    private static let day = GroupDay(before: 2)

    /// Who lives somewhere, with one heart rate each.
    private static func residents(
        _ count: Int, of home: String, ages: ClosedRange<Int>, _ amend: (inout GroupPerson) -> Void = { _ in }
    ) -> [GroupPerson] {
        [GroupPerson](count) { number in
            var person = GroupPerson(age: ages.lowerBound + number % ages.count)
            (person.home, person.sex) = (home, number.isMultiple(of: 2) ? "female" : "male")
            person.samples = [day.heartRate(60 + Double(number * 7 % 31), hour: number % 24)]
            amend(&person)
            return person
        }
    }

    @Test(
        "SC-31, SC-32, ANO-01, ANO-06, ANO-08, ANO-12: students of a region are released, paid and fetched as CSV; a town's group that is too small is refused without its number, and costs nothing"
    )
    func students() async throws {
        try await Hospital.withRegistered { firm in
            _ = try await firm.suite.ask(SetPrices(prices: Hospital.groupPrices))
            let students = ["F205", "B157"].flatMap { city in
                Self.residents(550, of: city, ages: 18...24) { $0.occupation = "student" }
            }
            let others = Self.residents(200, of: "F205", ages: 18...24) { $0.samples = [Self.day.heartRate(150)] }
            let moved = Self.residents(300, of: "D969", ages: 30...59) { $0.birthPlace = "A944" }
            let known = students + others + moved
            try await firm.suite.gather(known + GroupSizes.others(beside: known.count, on: Self.day))

            let filters = #"{"age":{"from":18,"to":24},"occupation":["student"],"residence":["IT-25"]}"#
            let accepted = try await firm.askForGroup(filters, on: Self.day)
            #expect(accepted.status == 201 && accepted.json["delivery"] as? String == "payment-outstanding", "\(accepted.text)")
            #expect(accepted.released["individuals"] as? Int == 1100)
            #expect((accepted.json["price"] as? [String: Any])?["minor"] as? Int == 510)
            #expect(try await firm.fetchGroup(accepted, as: "text/csv").problem == "payment-outstanding")

            try await firm.payForGroup(accepted)
            let table = try await firm.fetchGroup(accepted, as: "text/csv").expect(status: 200)
            let records = table.text.components(separatedBy: "\r\n").filter { !$0.isEmpty }
            #expect(records[0].hasPrefix("id,type,from,to,age,sex,value1,"), "\(records[0])")
            #expect(records.count - 1 == accepted.released["entries"] as? Int)
            // Ten to nineteen people an entry, and nobody beside the students.
            #expect((1100 / 19...110).contains(records.count - 1))
            let entries = try await firm.entries(accepted)
            let values = entries.flatMap(\.values)
            #expect(abs(values.reduce(0, +) / Double(values.count) - students.mean(.heartRate)) < 2)
            #expect(values.allSatisfy { (60...90).contains($0) })

            let refused = try await firm.askForGroup(#"{"birth":["A944"],"residence":["D969"]}"#, on: Self.day)
            #expect(firm.isTooSmall(refused), "\(refused.text)")
            #expect(!refused.text.contains("300") && (refused.json["message"] as? String)?.contains("less restrictive") == true)
            let path = refused.header("location")?.replacing("/thirdparty/v1", with: "") ?? ""
            let kept = try await firm.call("GET", path)
            #expect(kept.json["status"] as? String == "refused" && kept.json["price"] == nil && kept.json["payment"] == nil)
            #expect(try await firm.call("GET", "/payments?show=open").items.isEmpty, "a refusal costs nothing")
        }
    }

    @Test(
        "SC-02, SC-48, ANO-03, ANO-08, ANO-12: a pharmaceutical study under 30 in one country is too small, keeps its filters, and is released with wider ones; a sports centre gets the young of its town by weight and height"
    )
    func studies() async throws {
        try await Hospital.withRegistered(["TRACKME_ANO_MIN_AGE": "6"]) { company in
            _ = try await company.suite.ask(SetPrices(prices: Hospital.groupPrices))
            let young = Self.residents(300, of: "Z110", ages: 20...29)
            let older = Self.residents(1100, of: "Z110", ages: 30...59)
            var pupils: [GroupPerson] = []
            for (age, weight, height) in [(8, 28.0, 128.0), (12, 42.5, 152.0), (17, 65.0, 175.0)] {
                pupils += Self.residents(370, of: "D612", ages: age...age) { ($0.weight, $0.height) = (weight, height) }
            }
            let known = young + older + pupils
            try await company.suite.gather(known + GroupSizes.others(beside: known.count, on: Self.day))

            let refused = try await company.askForGroup(#"{"age":{"to":29},"residence":["Z110"]}"#, on: Self.day)
            #expect(company.isTooSmall(refused), "\(refused.text)")
            let path = refused.header("location")?.replacing("/thirdparty/v1", with: "") ?? ""
            let form = try await company.call("GET", path).json["form"] as? [String: Any]
            let kept = form?["filters"] as? [String: Any]
            #expect((kept?["age"] as? [String: Int]) == ["to": 29] && kept?["residence"] as? [String] == ["Z110"])
            let accepted = try await company.askForGroup(#"{"age":{"to":59},"residence":["Z110"]}"#, on: Self.day)
            #expect(accepted.status == 201 && accepted.released["individuals"] as? Int == 1400, "\(accepted.text)")
            try await company.payForGroup(accepted)
            let page = try await company.fetchGroup(accepted, "?limit=50").expect(status: 200)
            #expect(page.items.count == 50 && page.header("data-responsibility") != nil)
            #expect(page.items.allSatisfy { ($0["individuals"] as? Int ?? 0) >= 10 })

            let centre = try await company.askForGroup(
                #"{"age":{"from":6,"to":19},"residence":["D612"]}"#, on: Self.day, by: "day", #","attributes":["age","height","weight"]"#)
            #expect(centre.status == 201 && centre.released["individuals"] as? Int == 1100, "\(centre.text)")
            try await company.payForGroup(centre)
            let classes = Set(try await company.entries(centre).map { $0.classes })
            #expect(
                classes == [
                    ["age": "5-9", "height": "<150", "weight": "<50"], ["age": "10-14", "height": "150-159", "weight": "<50"],
                    ["age": "15-19", "height": "170-179", "weight": "60-69"],
                ])
            let text = try await company.fetchGroup(centre, as: "application/x-ndjson").text
            #expect(!pupils.contains { text.contains("\($0.id)") }, "nobody is named")
        }
    }

    @Test(
        "SC-06, ANO-04, ANO-05, ANO-17: a gym asks for at least 2000 people in the square of a park, and sees by hour of day when it is most visited; for days to come it is told to leave the square out, and listens to windows without one"
    )
    func gym() async throws {
        try await Hospital.withRegistered { gym in
            let park = try #require(GridCell(latitude: 45.4722, longitude: 9.1733))
            let visitors = [GroupPerson](2200) { Self.visitor($0, park) }
            let elsewhere = [GroupPerson](100) { Self.visitor($0, GridCell(x: park.x, y: park.y + 20)) }
            let known = visitors + elsewhere
            try await gym.suite.gather(known + GroupSizes.others(beside: known.count, on: Self.day))

            let middle = park.middle
            let area = #""area":{"latitude":\#(middle.latitude),"longitude":\#(middle.longitude)}"#
            let filters = #"{"age":{"from":20,"to":60},\#(area)}"#
            let few = try await gym.askForGroup(filters, types: ["position"], on: Self.day, by: "hour", #","minIndividuals":999"#)
            #expect(few.status == 422 && few.pointers == ["/minIndividuals"], "\(few.text)")
            let many = try await gym.askForGroup(filters, types: ["position"], on: Self.day, by: "hour", #","minIndividuals":2201"#)
            #expect(gym.isTooSmall(many), "\(many.text)")
            let accepted = try await gym.askForGroup(filters, types: ["position"], on: Self.day, by: "hour", #","minIndividuals":2000"#)
            #expect(accepted.status == 201 && accepted.released["granularity"] as? String == "hour", "\(accepted.text)")
            #expect(accepted.released["individuals"] as? Int == 2200 && accepted.released["tables"] as? Int == 24)
            #expect(accepted.json["delivery"] as? String == "ready", "nothing is due without a price for groups")

            // Squares of a kilometre, each of at least fifty people, floored to tens.
            let entries = try await gym.entries(accepted)
            let label = "1km:\(park.x):\(park.y)"
            #expect(entries.allSatisfy { $0.values.isEmpty && $0.individuals >= 50 && $0.individuals.isMultiple(of: 10) })
            let homes = (0..<8).map { "1km:\(park.x + Int32($0) + 2):\(park.y)" }
            #expect(Set(entries.compactMap(\.place)) == Set(homes + [label]))
            let visits = entries.filter { $0.place == label }
            #expect(visits.max { $0.individuals < $1.individuals }.flatMap(\.hour).map { (18..<20).contains($0) } == true)

            let evening = try await gym.entries(accepted, "?hourFrom=18&hourTo=20")
            #expect(Set(evening.compactMap(\.hour)) == [18, 19])
            #expect(evening.filter { $0.place == label }.map(\.individuals) == [550, 550])
            #expect(evening.count == entries.filter { (18..<20).contains($0.hour ?? 0) }.count)

            let end = Timestamp.now + .seconds(3 * 86_400)
            let square = try await gym.askForGroup(filters, types: ["position"], on: Self.day, until: end, by: "hour")
            #expect(square.status == 422 && square.pointers == ["/filters/area"], "\(square.text)")
            #expect(square.text.contains("closed-days-only") && square.text.contains("by a request of its own"))
            let opened = try await gym.askForGroup(#"{"age":{"from":70,"to":90}}"#, on: Self.day, until: end, by: "hour")
            #expect(opened.status == 201 && opened.json["subscription"] != nil, "\(opened.text)")
            let listener = try gym.listenToWindows(of: opened)
            defer { listener.stop() }
            try await eventually("the stream of its windows lives") { listener.events.first?.name == "heartbeat" }
        }
    }

    /// Somebody whose telephone tells every other hour where it is: in a square of eight, and once a day in the park; every second of them
    /// comes at six or seven in the evening.
    private static func visitor(_ number: Int, _ park: GridCell) -> GroupPerson {
        var person = GroupPerson(age: 20 + number % 41)
        person.shares = [.position]
        let home = GridCell(x: park.x + Int32(number / 2 % 8) + 2, y: park.y).middle
        let hours = number / 2 % 2 == 0 ? [18] : [8, 10, 12, 14]
        let visit = hours[number / 4 % hours.count] + number % 2
        person.samples = stride(from: number % 2, to: 24, by: 2).map { hour in
            let place = hour == visit ? park.middle : home
            return Sample(
                type: .position, at: day.time(hour), value: nil,
                position: Position(latitude: place.latitude, longitude: place.longitude))
        }
        return person
    }

    @Test(
        "ANO-06, ANO-09, CON-01, INV-21: of 1000 people who share and measured all types that are asked for nothing is released, of 1001 everything; no table holds anybody who does not share its type, or did so later"
    )
    func boundary() async throws {
        try await Hospital.withRegistered { city in
            let vitals = [Metric.heartRate, .oxygenSaturation]
            func measured(_ person: inout GroupPerson, _ number: Int, _ rate: Double? = nil) {
                person.shares = vitals
                person.samples = [
                    Self.day.heartRate(rate ?? 60 + Double(number % 31)),
                    Sample(type: .oxygenSaturation, at: Self.day.time(9), value: 92 + Double(number % 8)),
                ]
            }
            var people: [GroupPerson] = []
            for (home, count) in [("D969", 1000), ("D612", 1001)] {
                for number in 0..<count + 80 {
                    var person = GroupPerson(age: 30 + number % 20)
                    person.home = home
                    measured(&person, number, number < count ? nil : 180)
                    switch number - count {
                    case 0..<20: person.shares = []
                    case 20..<40: person.since = Self.day.end
                    case 40..<60: person.samples = []
                    case 60..<80: person.shares = [.oxygenSaturation]
                    default: break
                    }
                    people.append(person)
                }
            }
            try await city.suite.gather(people + GroupSizes.others(beside: people.count, on: Self.day))

            // What the test alone knows: distinct people who share each type and measured it while they did.
            func individuals(_ home: String) -> [GroupPerson] {
                people.filter { person in
                    person.home == home && person.since <= Self.day.begin
                        && vitals.allSatisfy { person.shares.contains($0) && !person.values($0).isEmpty }
                }
            }
            let types = vitals.map(\.code)
            for home in ["D969", "D612"] {
                let answer = try await city.askForGroup(#"{"residence":["\#(home)"]}"#, types: types, on: Self.day)
                let group = individuals(home)
                guard group.count > 1000 else {
                    #expect(city.isTooSmall(answer), "\(answer.text)")
                    continue
                }
                #expect(group.count == 1001)
                #expect(answer.status == 201 && answer.released["individuals"] as? Int == 1000, "\(answer.text)")
                let entries = try await city.entries(answer)
                for (metric, code) in zip(vitals, types) {
                    let ofType = entries.filter { $0.type == code }
                    #expect((1001 / 19...102).contains(ofType.count) && ofType.allSatisfy { $0.individuals >= 10 })
                    let values = ofType.flatMap(\.values)
                    #expect(abs(values.reduce(0, +) / Double(values.count) - group.mean(metric)) < 1)
                }
                // Sixty hearts at 180 that are not shared, or not yet, would be six entries.
                #expect(entries.flatMap(\.values).allSatisfy { $0 <= 100 })
            }
        }
    }

    @Test(
        "ANO-14: who opts out is in no later release, and who is erased neither; the certificate names the anonymiser's stores, in which nothing of the erased is left"
    )
    func leaving() async throws {
        try await Hospital.withRegistered { city in
            let suite = city.suite
            let (earlier, later) = (GroupDay(before: 3), Self.day)
            let (bruno, carla) = (
                try await GroupGuest(in: suite, named: "Bruno", home: "D969"), try await GroupGuest(in: suite, named: "Carla", home: "D612")
            )
            var people = [bruno, carla].map { GroupPerson($0.person) }
            for (home, count) in [("D969", 1000), ("D612", 1000), ("L219", 1001)] {
                people += Self.residents(count, of: home, ages: 30...59)
            }
            for number in people.indices {
                let rate = 60 + Double(number * 7 % 31)
                people[number].samples = [earlier.heartRate(rate), later.heartRate(rate + 0.28125)]
            }
            try await suite.gather(people + GroupSizes.others(beside: people.count, on: earlier, later))

            for home in ["D969", "D612"] {
                let answer = try await city.askForGroup(#"{"residence":["\#(home)"]}"#, on: earlier)
                #expect(answer.status == 201 && answer.released["individuals"] as? Int == 1000, "\(answer.text)")
            }
            #expect(try await bruno.share(.heartRate, false, in: suite) == 200)
            try await suite.knowEverybody()
            let before = try await suite.keptOfGroups()

            let ordered = try await suite.erase(.account, as: carla.token, password: GroupGuest.password)
            #expect(ordered.status == 202, "\(ordered.text)")
            let certificate = try await suite.certificate(of: ordered.decoded())
            let stores = certificate.services.first { $0.service == "anonymiser" }?.stores.map(\.store)
            #expect(stores == ["anonymiser.db", "anonymiser-keys.db", "anonymiser-keys.db backups"])

            // Both groups have lost the one person that made them large enough; the third shows that the day has data.
            for (home, isReleased) in [("D969", false), ("D612", false), ("L219", true)] {
                let answer = try await city.askForGroup(#"{"residence":["\#(home)"]}"#, on: later)
                #expect(isReleased ? answer.status == 201 : city.isTooSmall(answer), "\(home): \(answer.text)")
            }
            let again = try await city.askForGroup(#"{"residence":["D969"]}"#, on: earlier)
            #expect(again.status == 201, "what was released is released for ever")

            let after = try await suite.keptOfGroups()
            let erased = before.rows.filter { $0.value.pseudonym != nil && after.rows[$0.key]?.pseudonym == nil }
            #expect(erased.count == 1)
            let overwritten = before.chunks.subtracting(after.chunks)
            let rows = erased.values.flatMap { [$0.pseudonym, $0.sealed] }.compactMap { $0 }
            // Hours and days of her heart rate, and who has data on each of them.
            #expect(overwritten.count >= 6)
            let hunt = CanaryHunt(
                texts: [carla.email, carla.surname, "\(carla.person)"], numbers: [], fragments: (rows + overwritten).map { $0.suffix(28) })
            let found = hunt.findings(in: suite.layout.data.appendingPathComponent("anonymiser")).found
            #expect(found.isEmpty, "\(found)")
        }
    }
}
