// The words and the form of the contacts' page, in both languages.

import Contracts
import Foundation
import HTTPKit

struct ContactPage: Sendable {
    /// A place measured longer ago is said to be old.
    private static let fresh = Duration.seconds(60)

    let language: Language
    let country: Country

    /// Whom to call without the suite: `112`, or `144 or 112`.
    private var number: String { country.emergencyNumbers.joined(separator: say(" or ", " o il ")) }

    private func say(_ english: String, _ italian: String) -> String {
        language == .italian ? italian : english
    }

    func tooLate() -> HTTPAnswer {
        .page(
            title: say("This link does not open anything", "Questo link non apre nulla"),
            notice: say(
                "The alarm is over, or the address is not complete. If somebody needs help now, call \(number).",
                "L'allarme è finito, o l'indirizzo è incompleto. Se qualcuno ha bisogno di aiuto adesso, chiama il \(number)."),
            language: language, status: 404)
    }

    /// - Parameter place: nil where none is known, or where it is nobody's business any more.
    func page(_ alarm: ContactCase, seenBy position: Int, place: LatestPlaces.Place?, at now: Timestamp) throws -> HTTPAnswer {
        let own = alarm.contacts[position].answer
        let others = alarm.contacts.indices.filter { $0 != position }.map { index in
            ["name": alarm.contacts[index].who.name, "says": says(alarm.contacts[index].answer)]
        }
        var values: [String: any Sendable] = [
            "what": what(alarm), "call": call(alarm), "hasCall": alarm.kind == .emergency, "whenLabel": say("When", "Quando"),
            "when": alarm.happenedAt.rfc3339, "whenText": written(alarm.happenedAt), "whereLabel": say("Where", "Dove"),
            "isOpen": alarm.end == nil, "others": others, "hasOthers": !others.isEmpty, "othersTitle": say("The others", "Gli altri"),
            "buttonsLabel": say("Your answer", "La tua risposta"),
            "own": own == nil
                ? say("You have not answered yet.", "Non hai ancora risposto.") : say("You said: ", "Hai detto: ") + says(own),
            "buttons": ContactCase.Answer.allCases.map { answer in
                ["value": answer.rawValue, "label": label(answer), "style": answer == .onMyWay ? "" : "second"]
            },
        ]
        if let place {
            let coordinates = place.position.written
            let parts = coordinates.split(separator: ",")
            values["hasPlace"] = true
            values["coordinates"] = coordinates
            values["geo"] = "geo:\(coordinates)"
            values["map"] = "https://www.openstreetmap.org/?mlat=\(parts[0])&mlon=\(parts[1])#map=17/\(parts[0])/\(parts[1])"
            values["mapLabel"] = say("Show on a map", "Mostra sulla mappa")
            values["geoLabel"] = say("Open in the map app", "Apri nell'app delle mappe")
            values["measured"] = place.at.rfc3339
            values["measuredText"] = written(place.at)
            values["measuredLabel"] =
                now - place.at <= Self.fresh ? say("measured", "misurato") : say("not current, measured", "non attuale, misurato")
        } else {
            values["noPlace"] = alarm.end == nil
            values["noPlaceText"] = say("No position is known.", "Nessuna posizione è nota.")
        }
        return try .page(
            title: title(alarm), template: Self.template, values: values, language: language,
            script: alarm.end == nil ? Self.script : nil)
    }

    // MARK: Words

    private func who(_ alarm: ContactCase) -> String {
        alarm.name.isEmpty ? say("A person watched by TrackMe", "Una persona seguita da TrackMe") : alarm.name
    }

    private func title(_ alarm: ContactCase) -> String {
        switch (alarm.end, alarm.kind) {
        case (.falseAlarm, _): say("False alarm", "Falso allarme")
        case (.over, _): say("It is over", "È finita")
        case (nil, .emergency): say("Emergency", "Emergenza") + ": " + who(alarm)
        case (nil, .shaking): say("Shaking movements", "Movimenti di scuotimento") + ": " + who(alarm)
        case (nil, .silence): say("No signal", "Nessun segnale") + ": " + who(alarm)
        case (nil, .concern): say("Something may be wrong", "Forse qualcosa non va") + ": " + who(alarm)
        case (nil, .fall): say("A fall", "Una caduta") + ": " + who(alarm)
        }
    }

    private func what(_ alarm: ContactCase) -> String {
        let who = who(alarm)
        return switch (alarm.end, alarm.kind) {
        case (.falseAlarm, _): say("\(who) has called it off: there is no danger.", "\(who) ha annullato: non c'è pericolo.")
        case (.over, .silence): say("\(who): the device gives signals again.", "\(who): il dispositivo dà di nuovo segnale.")
        case (.over, _): say("The alarm about \(who) is closed.", "L'allarme per \(who) è chiuso.")
        case (nil, .emergency): say("\(who) may be in danger.", "\(who) può essere in pericolo.")
        case (nil, .shaking):
            say(
                "The device of \(who) reports repeated shaking, as in a seizure.",
                "Il dispositivo di \(who) segnala uno scuotimento ripetuto, come in una crisi convulsiva.")
        case (nil, .concern):
            say(
                "The device of \(who) reported something that may be an emergency. \(who) is being asked: please ask too.",
                "Il dispositivo di \(who) ha segnalato qualcosa che può essere un'emergenza. Lo si sta chiedendo a \(who): chiedi anche tu."
            )
        case (nil, .fall):
            say("\(who) may have fallen and has not answered.", "\(who) può essere caduto e non ha risposto.")
        case (nil, .silence):
            say(
                "Nothing is heard from the device of \(who). It may be an empty battery: please ask whether everything is all right.",
                "Il dispositivo di \(who) non dà segnale. Può essere la batteria scarica: chiedi se va tutto bene.")
        }
    }

    private func call(_ alarm: ContactCase) -> String {
        if let informed = alarm.informedAt {
            return say("The ambulance is informed since", "L'ambulanza è informata dal") + " \(written(informed))."
        }
        return alarm.end == nil
            ? say("Still trying to reach the emergency service.", "Si sta ancora cercando di raggiungere il servizio di emergenza.")
            : say("The emergency service had not answered by the end.", "Alla fine il servizio di emergenza non aveva ancora risposto.")
    }

    private func label(_ answer: ContactCase.Answer) -> String {
        switch answer {
        case .seen: say("Seen", "Visto")
        case .onMyWay: say("I am on my way", "Sto arrivando")
        case .onScene: say("I am there", "Sono sul posto")
        case .cannot: say("I cannot help", "Non posso aiutare")
        }
    }

    private func says(_ answer: ContactCase.Answer?) -> String {
        switch answer {
        case nil: say("no answer yet", "ancora nessuna risposta")
        case .seen: say("has seen it", "ha visto")
        case .onMyWay: say("on the way", "sta arrivando")
        case .onScene: say("is there", "è sul posto")
        case .cannot: say("cannot help", "non può aiutare")
        }
    }

    /// `2026-01-10, 00:31:07 UTC`; a browser that runs scripts says it in its own time.
    private func written(_ time: Timestamp) -> String {
        let text = time.rfc3339
        return "\(text.prefix(10)), \(text.dropFirst(11).prefix(8)) UTC"
    }

    // MARK: Form

    private static let template = """
        {{#isOpen}}<noscript><meta http-equiv="refresh" content="15"></noscript>{{/isOpen}}
        <p class="notice" role="status">{{what}}</p>
        {{#hasCall}}<p><strong>{{call}}</strong></p>{{/hasCall}}
        <p><strong>{{whenLabel}}</strong>: <time datetime="{{when}}">{{whenText}}</time></p>
        {{#hasPlace}}<p><strong>{{whereLabel}}</strong>: {{coordinates}} ({{measuredLabel}} <time datetime="{{measured}}">{{measuredText}}</time>)</p>
        <p class="links"><a href="{{map}}">{{mapLabel}}</a> <a href="{{geo}}">{{geoLabel}}</a></p>{{/hasPlace}}
        {{#noPlace}}<p><strong>{{whereLabel}}</strong>: {{noPlaceText}}</p>{{/noPlace}}
        {{#isOpen}}<form method="post" class="answers" aria-label="{{buttonsLabel}}">
        {{#buttons}}<button type="submit" name="answer" value="{{value}}" class="{{style}}">{{label}}</button>
        {{/buttons}}
        </form>
        <p>{{own}}</p>{{/isOpen}}
        {{#hasOthers}}<h2>{{othersTitle}}</h2>
        <ul>{{#others}}<li>{{name}}: {{says}}</li>{{/others}}</ul>{{/hasOthers}}
        """

    /// Says times as the reader's clock does, and looks again; the page works without it.
    private static let script = """
        (() => {
          for (const time of document.querySelectorAll('time')) {
            time.textContent = new Date(time.dateTime).toLocaleString(document.documentElement.lang);
          }
          setTimeout(() => location.replace(location.pathname), 15000);
        })();
        """
}
