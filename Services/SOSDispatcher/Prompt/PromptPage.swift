// The words and the form of the person's page, in both languages: large, short, and the same buttons at the same places.

import Contracts
import HTTPKit

struct PromptPage: Sendable {
    let language: Language
    let country: Country

    /// Whom to call without the suite: `112`, or `144 or 112`.
    private var number: String { country.emergencyNumbers.joined(separator: say(" or ", " o il ")) }

    private func say(_ english: String, _ italian: String) -> String {
        language == .italian ? italian : english
    }

    func page(_ page: PromptService.Page, at now: Timestamp) throws -> HTTPAnswer {
        switch page {
        case .open(let prompt): try open(prompt, at: now)
        case .over(let state, let dispatched, let mutedUntil): try over(state, dispatched, mutedUntil, at: now)
        }
    }

    func tooLate() -> HTTPAnswer {
        .page(
            title: say("This link does not open anything", "Questo link non apre nulla"),
            notice: say(
                "It may be over, or the address is not complete. If you need help now, call \(number).",
                "Può essere finito tutto, o l'indirizzo è incompleto. Se hai bisogno di aiuto adesso, chiama il \(number)."),
            language: language, status: 404)
    }

    private func open(_ prompt: PromptState, at now: Timestamp) throws -> HTTPAnswer {
        let leftMs = prompt.callAt.map { max(0, ($0 - now).wholeMilliseconds) } ?? 0
        let counts = prompt.sound != nil && prompt.phase != .calling && prompt.callAt != nil
        let answers = prompt.answers(at: now)
        let values: [String: any Sendable] = [
            "state": state(prompt), "isAsking": counts, "left": String((leftMs + 999) / 1000),
            "leftMs": String(leftMs), "sound": prompt.sound?.rawValue ?? "", "hold": say("hold for 2 seconds", "tieni premuto 2 secondi"),
            "countdown": say("Call in", "Chiamata tra"), "seconds": say("seconds", "secondi"), "version": prompt.version,
            "group": say("Your answer", "La tua risposta"), "hasAnswers": !answers.isEmpty,
            "buttons": answers.map { answer in
                [
                    "value": answer.rawValue, "label": label(answer), "style": style(answer, prompt, at: now), "isHeld": answer == .help,
                ] as [String: any Sendable]
            },
            "hint": hint(prompt),
        ]
        return try .page(
            title: title(prompt.phase), template: Self.template, values: values, language: language, script: Self.script)
    }

    private func over(
        _ state: EmergencyRecord.State, _ dispatched: Bool, _ mutedUntil: Timestamp?, at now: Timestamp
    ) throws -> HTTPAnswer {
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
        let muted = mutedUntil.flatMap { until -> String? in
            let time = "\(until.rfc3339.dropFirst(11).prefix(5)) UTC"
            return until > now ? say("You are asked about it again from \(time) on.", "Ti verrà chiesto di nuovo dalle \(time).") : nil
        }
        let help: [String: any Sendable] = [
            "value": AnswerPrompt.Answer.help.rawValue, "label": label(.help), "style": "danger", "isHeld": true,
        ]
        return try .page(
            title: say("It is over", "È finita"), template: Self.overTemplate,
            values: [
                "text": [text, muted].compactMap(\.self).joined(separator: " "), "buttons": [help],
                "group": say("Call for help", "Chiedi aiuto"), "hold": say("hold for 2 seconds", "tieni premuto 2 secondi"),
                "hint": say(
                    "If you need help now, press here or call \(number).",
                    "Se hai bisogno di aiuto adesso, premi qui o chiama il \(number)."),
            ], language: language, script: Self.holdScript)
    }

    // MARK: Words

    private func title(_ phase: PromptState.Phase) -> String {
        switch phase {
        case .asking, .askingAgain, .fell, .doubtful: say("Are you all right?", "Va tutto bene?")
        case .calling: say("Help is being called", "Si sta chiamando aiuto")
        case .informed: say("Help is informed", "Il soccorso è informato")
        case .helpIsHere: say("Help is here", "Il soccorso è qui")
        case .calledOff: say("Called off", "Annullato")
        }
    }

    private func state(_ prompt: PromptState) -> String {
        switch prompt.phase {
        case .asking:
            reason(prompt.trigger) + " "
                + say("Without an answer an ambulance is called.", "Senza risposta viene chiamata un'ambulanza.")
        case .askingAgain:
            reason(prompt.trigger) + " "
                + say(
                    "You said that you are fine, and it is so still or again. Without an answer an ambulance is called.",
                    "Hai detto che stai bene, ed è ancora o di nuovo così. Senza risposta viene chiamata un'ambulanza.")
        case .fell:
            say(
                "Your device felt a fall. Without an answer your contacts are told and help is called.",
                "Il tuo dispositivo ha sentito una caduta. Senza risposta vengono avvisati i contatti e chiamati i soccorsi.")
        case .doubtful where prompt.callAt == nil:
            say(
                "A critical value of some minutes ago has only come now. Your contacts are told.",
                "È arrivato solo ora un valore critico di qualche minuto fa. I tuoi contatti vengono avvisati.")
        case .doubtful:
            say(
                "One of your values is critical, or the sensor came off. Without an answer an ambulance is called.",
                "Un tuo valore è critico, o il sensore si è staccato. Senza risposta viene chiamata un'ambulanza.")
        case .calling where prompt.asksBackCallingOff, .informed where prompt.asksBackCallingOff,
            .helpIsHere where prompt.asksBackCallingOff:
            say(
                "Help was called for after you had said so. Do you really need none? Then press it once more.",
                "Dopo che l'avevi detto è stato chiesto aiuto. Davvero non ti serve? Allora premi ancora una volta.")
        case .calling where prompt.asksBack:
            say(
                "No emergency service has taken the call yet. Is help really with you? Then press it once more.",
                "Nessun servizio di emergenza ha ancora preso la chiamata. Il soccorso è davvero con te? Allora premi ancora una volta.")
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
        }
    }

    private func reason(_ trigger: Trigger.Kind) -> String {
        switch trigger {
        case .threshold: say("Your values are critical.", "I tuoi valori sono critici.")
        case .shaking: say("Your device feels repeated shaking.", "Il tuo dispositivo sente uno scuotimento ripetuto.")
        case .fall: say("Your device felt a fall.", "Il tuo dispositivo ha sentito una caduta.")
        case .manual: say("You called for help.", "Hai chiesto aiuto.")
        case .silence: say("Nothing is heard from your device.", "Dal tuo dispositivo non arriva nulla.")
        }
    }

    private func hint(_ prompt: PromptState) -> String {
        switch prompt.phase {
        case .asking, .askingAgain, .fell, .doubtful: ""
        case .calling, .informed, .helpIsHere:
            say(
                "A false alarm can be reported until the emergency is closed.",
                "Un falso allarme può essere segnalato finché l'emergenza non è chiusa.")
        case .calledOff: say("You can still ask for help.", "Puoi ancora chiedere aiuto.")
        }
    }

    private func label(_ answer: AnswerPrompt.Answer) -> String {
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
        <p class="notice" role="status" id="state" data-version="{{version}}" data-sound="{{sound}}">{{state}}</p>
        {{#isAsking}}<p class="count">{{countdown}} <strong id="left" role="timer" data-left="{{leftMs}}">{{left}}</strong> {{seconds}}</p>
        {{/isAsking}}
        <form method="post" class="answers" aria-label="{{group}}">
        {{#buttons}}<button type="submit" name="answer" value="{{value}}" class="{{style}}"{{#isHeld}} data-hold="{{hold}}"{{/isHeld}}>{{label}}</button>
        {{/buttons}}
        </form>
        <p>{{hint}}</p>
        """

    private static let overTemplate = """
        <p class="notice" role="status">{{text}}</p>
        <p>{{hint}}</p>
        <form method="post" class="answers" aria-label="{{group}}">
        {{#buttons}}<button type="submit" name="answer" value="{{value}}" class="{{style}}" data-hold="{{hold}}">{{label}}</button>
        {{/buttons}}
        </form>
        """

    /// A call for help is held for two seconds, by finger or key, so that no pocket makes it (SOS-35). Without scripts a press counts.
    private static let holdScript = """
        (() => {
          for (const button of document.querySelectorAll('button[data-hold]')) {
            button.append(' (' + button.dataset.hold + ')');
            let timer = null;
            let isHeld = false;
            const begin = () => {
              if (timer || isHeld) return;
              button.classList.add('held');
              timer = setTimeout(() => { isHeld = true; button.form.requestSubmit(button); }, 2000);
            };
            const end = () => { clearTimeout(timer); timer = null; button.classList.remove('held'); };
            button.addEventListener('pointerdown', begin);
            for (const name of ['pointerup', 'pointerleave', 'pointercancel', 'keyup', 'blur']) button.addEventListener(name, end);
            button.addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === ' ') begin(); });
            button.addEventListener('click', event => { if (!isHeld) event.preventDefault(); });
          }
        })();
        """

    /// Counts down and looks again when there is something new; the page works without it.
    private static let script =
        holdScript + """

            (() => {
              const left = document.getElementById('left');
              if (left) {
                const end = performance.now() + Number(left.dataset.left);
                setInterval(() => { left.textContent = Math.max(0, Math.ceil((end - performance.now()) / 1000)); }, 200);
              }
              const state = document.getElementById('state');
              const version = state.dataset.version;
              // Three sounds that nobody confuses (IEC 60601-1-8): a call, a question, silence.
              const tones = { call: [880, 880, 880, 0, 880, 880], question: [660, 0, 660], silence: [440] }[state.dataset.sound];
              try {
                const audio = tones && new AudioContext();
                tones && tones.forEach((tone, index) => {
                  if (!tone) return;
                  const note = new OscillatorNode(audio, { frequency: tone });
                  note.connect(audio.destination);
                  note.start(audio.currentTime + index * 0.25);
                  note.stop(audio.currentTime + index * 0.25 + 0.15);
                });
              } catch { /* No sound is allowed before the page was touched. */ }
              const events = new EventSource(location.pathname + '/events?after=' + encodeURIComponent(version));
              const again = () => { events.close(); location.replace(location.pathname); };
              events.addEventListener('prompt', again);
              events.addEventListener('removed', again);
            })();
            """
}
