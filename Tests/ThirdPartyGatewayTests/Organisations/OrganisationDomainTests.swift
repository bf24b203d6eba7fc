// What is decided about organisations without a store or a clock: forms, roles, states, quotas.

import Contracts
import Foundation
import Testing

@testable import ThirdPartyGateway

@Suite("Organisation forms")
struct OrganisationFormTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func check(_ form: [String: Any]) throws -> OrganisationForm {
        let value = try JSONTree(Array(JSONSerialization.data(withJSONObject: form)))
        return try OrganisationForm.check(value, version: OrganisationConditions.version, in: .italy, at: Self.now)
    }

    private func pointers(_ form: [String: Any]) throws -> [String] {
        do {
            _ = try check(form)
            return []
        } catch let fault as OrganisationFormFault {
            switch fault {
            case .fields(let errors), .conditionsNotAccepted(let errors), .fixed(let errors): return errors.map(\.pointer)
            }
        }
    }

    @Test("ORG-02 to ORG-05: a right form gives everything that was filled in, spelt one way")
    func right() throws {
        let form = try check(
            OrganisationHarness.form {
                $0["website"] = "https://example.org"
                $0["researchInterests"] = "Sleep"
                $0["language"] = "en"
            })
        let details = form.details
        #expect(details.businessName == "Istituto Ricerche S.p.A." && details.vatNumber == "IT00743110157")
        #expect(
            details.legalAddress == PostalAddress(street: "Via Festa del Perdono 7", city: "Milano", postalCode: "20122", country: "IT"))
        #expect(details.representative?.phone == "+390250311" && details.representative?.fiscalCode == "RSSMRA80A01H501U")
        #expect(details.paymentMethod == .bankTransfer && details.language == .english && details.website == "https://example.org")
        #expect(details.accepted == AcceptedConditions(version: OrganisationConditions.version, at: Self.now))
        #expect(form.password == OrganisationHarness.password)
    }

    @Test("NFR-21: in Germany a form is read as German: VAT number, country of an address, and the representative's identifier")
    func german() throws {
        let form = OrganisationHarness.form { form in
            form["vatNumber"] = "136 695 976"
            var representative = form["representative"] as? [String: Any] ?? [:]
            representative["fiscalCode"] = "86 095 742 719"
            form["representative"] = representative
        }
        func check(_ form: [String: Any], in country: Country) throws -> OrganisationDetails {
            let value = try JSONTree(Array(JSONSerialization.data(withJSONObject: form)))
            return try OrganisationForm.check(value, version: OrganisationConditions.version, in: country, at: Self.now).details
        }
        let details = try check(form, in: Country(.germany))
        #expect(details.vatNumber == "DE136695976" && details.legalAddress.country == "DE")
        #expect(details.representative?.fiscalCode == "86095742719")
        #expect(try pointers(form) == ["/vatNumber", "/representative/fiscalCode"], "in Italy it is wrong")
        let fault = #expect(throws: OrganisationFormFault.self) { try check(OrganisationHarness.form(), in: Country(.germany)) }
        guard case .fields(let errors)? = fault else { return }
        #expect(errors.map(\.pointer) == ["/representative/fiscalCode"], "a VAT number with its country is taken anywhere")
        // What was registered before is changed by what is right now, and keeps the rest.
        let italian = try check(OrganisationHarness.form(), in: .italy)
        let moved = try italian.changed(
            JSONTree(Array(JSONSerialization.data(withJSONObject: ["representative": ["name": "Maria"]]))), in: Country(.germany))
        #expect(moved.representative?.name == "Maria" && moved.representative?.fiscalCode == "RSSMRA80A01H501U")
    }

    static let mandatory = [
        "businessName", "vatNumber", "legalAddress", "billingAddress", "email", "emailAgain", "sector", "description", "representative",
        "paymentMethod",
    ]

    @Test("ORG-02, ORG-03, ORG-04, ORG-07: each missing field is named", arguments: mandatory)
    func missing(field: String) throws {
        #expect(try pointers(OrganisationHarness.form { $0[field] = nil }) == ["/" + field])
    }

    @Test(
        "ORG-03: each missing field of the legal representative is named",
        arguments: ["name", "surname", "officeAddress", "phone", "email", "fiscalCode"])
    func missingOfRepresentative(field: String) throws {
        let form = OrganisationHarness.form { form in
            var representative = form["representative"] as? [String: Any] ?? [:]
            representative[field] = nil
            form["representative"] = representative
        }
        #expect(try pointers(form) == ["/representative/" + field])
    }

    @Test(
        "ORG-02, ORG-07: each invalid field is named, where it stands",
        arguments: [
            ("vatNumber", "00743110158" as any Sendable, "/vatNumber"), ("email", "office", "/email"),
            ("emailAgain", "other@example.org", "/emailAgain"), ("passwordAgain", "other words", "/passwordAgain"),
            ("paymentMethod", "cheque", "/paymentMethod"), ("website", "example.org", "/website"), ("sector", "  ", "/sector"),
            ("businessName", String(repeating: "x", count: 201), "/businessName"), ("language", "de", "/language"),
            ("legalAddress", "Via Roma 1", "/legalAddress"), ("description", 5, "/description"), ("surprise", true, "/surprise"),
        ])
    func invalid(field: String, value: any Sendable, pointer: String) throws {
        #expect(try pointers(OrganisationHarness.form { $0[field] = value }).contains(pointer))
    }

    @Test("ORG-02, UI-14: everything that is wrong is named at once")
    func allAtOnce() throws {
        let named = try pointers([:])
        #expect(Set(Self.mandatory.map { "/" + $0 }).isSubset(of: named))
        #expect(Set(OrganisationForm.acceptances.map { "/" + $0 }).isSubset(of: named))
    }

    @Test("ORG-05: any acceptance that is missing, or of another version, is named alone", arguments: OrganisationForm.acceptances)
    func acceptances(field: String) throws {
        for value in [nil, "2020-01", true] as [Any?] {
            #expect {
                try check(OrganisationHarness.form { $0[field] = value })
            } throws: { error in
                guard case .conditionsNotAccepted(let errors)? = error as? OrganisationFormFault else { return false }
                return errors.map(\.pointer) == ["/" + field]
            }
        }
        #expect(OrganisationConditions.Kind.allCases.map(\.field) == OrganisationForm.acceptances)
    }

    @Test("ORG-08: without a password the form is right as well, for those who are mailed one")
    func noPassword() throws {
        let form = OrganisationHarness.form { form in
            form["password"] = nil
            form["passwordAgain"] = nil
        }
        #expect(try check(form).password == nil)
    }
}

@Suite("Rights, states, quotas")
struct OrganisationRuleTests {
    @Test("ORG-23: an owner may everything, an analyst not money, billing not data")
    func roles() {
        #expect(Role.owner.rights == Set(Right.allCases) && Role.administrator.rights == Set(Right.allCases))
        #expect(Role.analyst.rights.isDisjoint(with: [.paymentsRead, .paymentsWrite, .organisationManage]))
        #expect(Role.billing.rights.isDisjoint(with: [.dataRead, .requestsWrite, .subscriptionsManage, .organisationManage]))
        #expect(Role.owner.mayGive(.owner) && !Role.administrator.mayGive(.owner) && !Role.analyst.mayGive(.billing))
        #expect(Right.named(by: ["data:read", "everything"]) == [.dataRead])
        #expect(Right.written(Set(Right.allCases)).split(separator: " ").count == Right.allCases.count)
    }

    @Test("ORG-08, ORG-16: an organisation goes through its states as it should and through no others")
    func states() throws {
        typealias Event = (name: String, run: (inout OrganisationLife) throws -> Void)
        let events: [Event] = [
            ("registered", { try $0.registered() }), ("confirmed", { try $0.confirmed(needsApproval: false) }),
            ("confirmed, to be approved", { try $0.confirmed(needsApproval: true) }), ("approved", { try $0.approved() }),
            ("suspended", { try $0.suspended() }), ("resumed", { try $0.resumed() }), ("closed", { try $0.closed() }),
            ("vouched for", { try $0.vouchedFor() }),
        ]
        let table: [OrganisationState: [OrganisationState?]] = [
            .registering: [.unconfirmed, nil, nil, nil, nil, nil, nil, nil],
            .unconfirmed: [nil, .active, .awaitingApproval, nil, nil, nil, .closed, .active],
            .awaitingApproval: [nil, .awaitingApproval, .awaitingApproval, .active, .suspended, nil, .closed, .active],
            .active: [nil, .active, .active, .active, .suspended, .active, .closed, .active],
            .suspended: [nil, .suspended, .suspended, nil, .suspended, .active, .closed, nil],
            .closed: [nil, nil, nil, nil, nil, nil, nil, nil],
        ]
        #expect(table.count == OrganisationState.allCases.count)
        for (state, row) in table {
            for (event, expected) in zip(events, row) {
                var life = OrganisationLife(state)
                do {
                    try event.run(&life)
                    #expect(life.state == expected, "\(state) \(event.name)")
                } catch {
                    #expect(expected == nil && life.state == state, "\(state) \(event.name)")
                }
            }
        }
    }

    @Test("calls are counted in the minute and in the day; what is left is told, and each starts anew at a round time")
    func quotas() {
        var quota = CallQuota(perMinute: 3, perDay: 4)
        let start = Timestamp(milliseconds: 1_800_000_000_000 + 20_000)
        for left in [2, 1, 0] {
            let (isAdmitted, state) = quota.take(at: start)
            #expect(isAdmitted && state == .init(limit: 3, remaining: left, resetSeconds: 40))
        }
        #expect(!quota.take(at: start + .seconds(39)).isAdmitted)
        let next = quota.take(at: start + .seconds(40))
        #expect(next.isAdmitted && next.tightest.limit == 4 && next.tightest.remaining == 0)
        let refused = quota.take(at: start + .seconds(41))
        #expect(!refused.isAdmitted && refused.tightest.limit == 4 && refused.tightest.resetSeconds > 1000)
        #expect(!quota.take(at: start - .seconds(3600)).isAdmitted, "a clock that is set back gives nothing back")
        #expect(quota.take(at: start + .seconds(86_400)).isAdmitted)
        #expect(quota.policy == "3;w=60, 4;w=86400")
    }

    @Test("a clock that went back an hour made a minute's calls last for an hour: nobody waits longer than two stretches")
    func quotaAfterTheClockWentBack() {
        var quota = CallQuota(perMinute: 3, perDay: 100)
        let start = Timestamp(milliseconds: 1_800_000_000_000 + 20_000)
        for _ in 0..<3 { #expect(quota.take(at: start).isAdmitted) }
        let back = start - .seconds(3600)
        let refused = quota.take(at: back)
        #expect(!refused.isAdmitted && refused.tightest == .init(limit: 3, remaining: 0, resetSeconds: 40))
        #expect(quota.take(at: back + .seconds(40)).isAdmitted)
        // One that was overtaken gives none back.
        for _ in 0..<2 { #expect(quota.take(at: back + .seconds(39)).isAdmitted) }
        #expect(!quota.take(at: back + .seconds(40)).isAdmitted)
    }
}
