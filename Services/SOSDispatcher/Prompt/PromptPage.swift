// The words and the form of the person's page, in both languages: large, short, and the same buttons at the same places.

import Contracts
import HTTPKit

struct PromptPage: Sendable {
    let language: Language

    private func say(_ english: String, _ italian: String) -> String {
        language == .italian ? italian : english
    }

    func page(_ page: PromptDesk.Page, at now: Timestamp) throws -> HTTPAnswer {
        switch page {
        case .open(let prompt): try open(prompt, at: now)
        case .over(let state, let dispatched): try over(state, dispatched)
        }
    }

    func tooLate() throws -> HTTPAnswer {
        try .page(
            title: say("This link does not open anything", "Questo link non apre nulla"), template: "<p class=\"notice\">{{text}}</p>",
            values: [
                "text": say(
                    "It may be over, or the address is not complete. If you need help now, call 112.",
                    "Può essere finito tutto, o l'indirizzo è incompleto. Se hai bisogno di aiuto adesso, chiama il 112.")
            ], language: language, status: 404)
    }

    private func open(_ prompt: PromptState, at now: Timestamp) throws -> HTTPAnswer {
        let left = max(0, ((prompt.callAt - now).wholeMilliseconds + 999) / 1000)
        let answers = prompt.answers(at: now)
        let values: [String: any Sendable] = [
            "state": state(prompt), "isAsking": prompt.phase == .asking, "left": String(left),
            "leftMs": String((prompt.callAt - now).wholeMilliseconds),
            "countdown": say("Call in", "Chiamata tra"), "seconds": say("seconds", "secondi"), "version": prompt.version,
            "group": say("Your answer", "La tua risposta"), "hasAnswers": !answers.isEmpty,
            "buttons": answers.map { answer in
                ["value": answer.rawValue, "label": label(answer, prompt.phase), "style": style(answer, prompt, at: now)]
            },
            "hint": hint(prompt),
        ]
        return try .page(
            title: title(prompt.phase), template: Self.template, values: values, language: language, script: Self.script)
    }

    private func over(_ state: EmergencyRecord.State, _ dispatched: Bool) throws -> HTTPAnswer {
        let text =
            switch (state, dispatched) {
            case (.transient, _):
                say("Your values are normal again. Nobody was called.", "I tuoi valori sono tornati normali. Nessuno è stato chiamato.")
            case (_, false): say("Nobody was called.", "Nessuno è stato chiamato.")
            case (_, true):
                say(
                    "The emergency is closed. The emergency service had been called.",
                    "L'emergenza è chiusa. Il servizio di emergenza era stato chiamato.")
            }
        return try .page(
            title: say("It is over", "È finita"), template: "<p class=\"notice\" role=\"status\">{{text}}</p><p>{{hint}}</p>",
            values: ["text": text, "hint": say("If you need help now, call 112.", "Se hai bisogno di aiuto adesso, chiama il 112.")],
            language: language)
    }

    // MARK: Words

    private func title(_ phase: PromptState.Phase) -> String {
        switch phase {
        case .asking: say("Are you all right?", "Va tutto bene?")
        case .calling: say("Help is being called", "Si sta chiamando aiuto")
        case .informed: say("Help is informed", "Il soccorso è informato")
        case .helpIsHere: say("Help is here", "Il soccorso è qui")
        case .calledOff: say("Called off", "Annullato")
        case .muted: say("You are fine", "Stai bene")
        }
    }

    private func state(_ prompt: PromptState) -> String {
        switch prompt.phase {
        case .asking:
            reason(prompt.trigger) + " "
                + say("Without an answer an ambulance is called.", "Senza risposta viene chiamata un'ambulanza.")
        case .calling:
            say(
                "The call has gone out. Still trying until the emergency service answers.",
                "La chiamata è partita. Si continua a provare finché il servizio di emergenza risponde.")
        case .informed: say("The ambulance is informed.", "L'ambulanza è informata.")
        case .helpIsHere: say("You said that help is here.", "Hai detto che il soccorso è arrivato.")
        case .calledOff:
            say(
                "The call had already gone out. The emergency service is being told that it is not needed.",
                "La chiamata era già partita. Si sta dicendo al servizio di emergenza che non serve.")
        case .muted: say("Nobody was called.", "Nessuno è stato chiamato.")
        }
    }

    private func reason(_ trigger: Trigger.Kind) -> String {
        switch trigger {
        case .threshold: say("Your values are critical.", "I tuoi valori sono critici.")
        case .shaking: say("Your device feels repeated shaking.", "Il tuo dispositivo sente uno scuotimento ripetuto.")
        case .silence: say("Nothing is heard from your device.", "Dal tuo dispositivo non arriva nulla.")
        }
    }

    private func hint(_ prompt: PromptState) -> String {
        switch prompt.phase {
        case .asking: ""
        case .calling, .informed, .helpIsHere:
            say(
                "A false alarm can be reported until the emergency is closed.",
                "Un falso allarme può essere segnalato finché l'emergenza non è chiusa.")
        case .calledOff, .muted: say("You can still ask for help.", "Puoi ancora chiedere aiuto.")
        }
    }

    private func label(_ answer: AnswerPrompt.Answer, _ phase: PromptState.Phase) -> String {
        switch answer {
        case .fine: say("I am fine", "Sto bene")
        case .help: say("I need help", "Ho bisogno di aiuto")
        case .falseAlarm: say("False alarm", "Falso allarme")
        case .helpIsHere: say("Help is here", "Il soccorso è qui")
        }
    }

    /// Calling it off stands out while the window for it is open.
    private func style(_ answer: AnswerPrompt.Answer, _ prompt: PromptState, at now: Timestamp) -> String {
        switch answer {
        case .help: "danger"
        case .fine: now < prompt.abortUntil ? "" : "second"
        case .falseAlarm, .helpIsHere: "second"
        }
    }

    // MARK: Form

    private static let template = """
        <noscript><meta http-equiv="refresh" content="3"></noscript>
        <p class="notice" role="status" id="state" data-version="{{version}}">{{state}}</p>
        {{#isAsking}}<p class="count">{{countdown}} <strong id="left" role="timer" data-left="{{leftMs}}">{{left}}</strong> {{seconds}}</p>
        {{/isAsking}}
        <form method="post" class="answers" aria-label="{{group}}">
        {{#buttons}}<button type="submit" name="answer" value="{{value}}" class="{{style}}">{{label}}</button>
        {{/buttons}}
        </form>
        <p>{{hint}}</p>
        """

    /// Counts down and looks again when there is something new; the page works without it.
    private static let script = """
        (() => {
          const left = document.getElementById('left');
          if (left) {
            const end = performance.now() + Number(left.dataset.left);
            setInterval(() => { left.textContent = Math.max(0, Math.ceil((end - performance.now()) / 1000)); }, 200);
          }
          const version = document.getElementById('state').dataset.version;
          const events = new EventSource(location.pathname + '/events?after=' + encodeURIComponent(version));
          const again = () => { events.close(); location.replace(location.pathname); };
          events.addEventListener('prompt', again);
          events.addEventListener('removed', () => { if (!version.endsWith('.muted')) again(); });
        })();
        """
}
