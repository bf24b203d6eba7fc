// Messages in an emergency, in both languages: short, and without a word that could be misheard.

import Contracts

extension MessageText {
    static let englishEmergency: [MessageTemplate: MessageText] = [
        .sosPrompt: MessageText(
            subject: "Are you all right?",
            body: "your values became critical on {time}. Are you all right?\n\nAnswer here, without logging in:\n{link}\n\n"
                + "Without an answer TrackMe calls an ambulance.",
            short: "TrackMe SOS: critical values on {time}. Are you all right? {link}",
            spoken: "This is TrackMe. Your values became critical on {time}. Open TrackMe and answer, or an ambulance is called.",
            title: "Are you all right?"),
        .sosQuestion: MessageText(
            subject: "Are you all right?",
            body: "your device reported something on {time} that may be an emergency. Are you all right?\n\n"
                + "Answer here, without logging in:\n{link}\n\nWithout an answer TrackMe looks for help.",
            short: "TrackMe SOS: something may be wrong, {time}. Are you all right? {link}",
            spoken: "This is TrackMe. Your device reported on {time} that something may be wrong. Open TrackMe and answer.",
            title: "Are you all right?"),
        .sosHelpCalled: MessageText(
            subject: "You called for help",
            body: "you called for help on {time}. An emergency service is being called.\n\n"
                + "See how far it is, or call it off, without logging in:\n{link}",
            short: "TrackMe SOS: you called for help on {time}. Help is being called. {link}",
            spoken: "This is TrackMe. You called for help on {time}. An emergency service is being called.", title: "You called for help"),
        .sosContactConcern: MessageText(
            subject: "Something may be wrong: {name}",
            body: "the device of {name}, who has named you as emergency contact, reported something on {time} that may be an emergency. "
                + "TrackMe is asking {name}; please ask too.\n\nLast known place: {place}\nWhere, and what you can do: {link}",
            short: "SOS {name}: something may be wrong, {time}, at {place}. {link}",
            spoken: "This is TrackMe. The device of {name} reports on {time}, at {place}, that something may be wrong. "
                + "Please ask whether everything is all right.",
            title: "Something may be wrong"),
        .sosContactWorse: MessageText(
            subject: "It became worse: {name}",
            body: "the state of {name} became worse on {time}. The emergency service is being told.",
            short: "TrackMe SOS: the state of {name} became worse on {time}. The emergency service is being told.", title: "It became worse"
        ),
        .sosParameterSilent: MessageText(
            subject: "AutomatedSOS no longer receives everything",
            body: "your device has delivered nothing of this since {time}: {what}. Check that it is worn, charged and connected: "
                + "until it comes again AutomatedSOS does not watch it.",
            short: "TrackMe: not received since {time}: {what}. Check your device.", title: "Check your device"),
        .sosContactAlert: MessageText(
            subject: "Emergency: {name}",
            body: "{name} has named you as emergency contact and may be in danger since {time}. An emergency service is being called.\n\n"
                + "Last known place: {place}\nWhere, and what you can do: {link}",
            short: "SOS {name}: emergency {time}, at {place}. {link}",
            spoken: "Emergency. This is TrackMe. {name} may be in danger since {time}, at {place}. "
                + "An emergency service is being called. Please look at the text message.",
            title: "Emergency"),
        .sosContactFalseAlarm: MessageText(
            subject: "False alarm: {name}",
            body: "the emergency of {name} of {time} is called off: {name} has said that there is no danger.",
            short: "TrackMe: false alarm. {name} has called off the emergency of {time}.", title: "False alarm"),
        .sosContactInformed: MessageText(
            subject: "{who} is on the way to {name}",
            body: "{who} is on the way to {name}. The emergency goes on: whoever can help is still welcome.",
            short: "TrackMe SOS: {who} is on the way to {name}. The emergency goes on.", title: "Somebody is on the way"),
        .sosAmbulanceInformed: MessageText(
            subject: "The emergency service is informed: {name}",
            body: "the emergency service took the call for {name} on {time}.",
            short: "TrackMe SOS: the emergency service took the call for {name} on {time}.", title: "The emergency service is informed"),
        .sosShaking: MessageText(
            subject: "Shaking movements: {name}",
            body: "the device of {name}, who has named you as emergency contact, reports repeated shaking since {time}, "
                + "as in a seizure.\n\nLast known place: {place}\nWhere, and what you can do: {link}",
            short: "SOS {name}: shaking as in a seizure, {time}, at {place}. {link}",
            spoken: "Emergency. This is TrackMe. The device of {name} reports shaking as in a seizure since {time}, at {place}. "
                + "Please look at the text message.",
            title: "Shaking movements"),
        .sosSilenceContacts: MessageText(
            subject: "No signal from {name}",
            body: "nothing has been heard from the device of {name} since {time}; {name} has named you as emergency contact. "
                + "It may be an empty battery. Please ask whether everything is all right.\n\nLast known place: {place}\n"
                + "What you can do: {link}",
            short: "No signal from {name} since {time}, last at {place}. {link}",
            spoken: "This is TrackMe. There is no signal from the device of {name} since {time}, last at {place}. "
                + "Please check whether everything is all right.",
            title: "No signal"),
        .sosSignalLost: MessageText(
            subject: "AutomatedSOS receives no data",
            body: "your device has delivered nothing since {time}. Check that it is worn, charged and connected: "
                + "until data arrive again AutomatedSOS cannot call for help.",
            short: "TrackMe: no data from your device since {time}. Check it: AutomatedSOS cannot call for help now.",
            title: "Check your device"),
        .sosCharging: MessageText(
            subject: "Your device is on charge",
            body: "your device has been on charge since {time}. Until you wear it again AutomatedSOS does not protect you.",
            short: "TrackMe: your device is on charge since {time}. AutomatedSOS does not protect you meanwhile.",
            title: "Your device is on charge"),
        .sosPauseReminder: MessageText(
            subject: "AutomatedSOS is still paused",
            body: "you paused AutomatedSOS on {time}. As long as it is paused no emergency is detected and nobody is called.",
            short: "TrackMe: AutomatedSOS has been paused since {time}. No emergency is detected.", title: "AutomatedSOS is paused"),
    ]

    static let italianEmergency: [MessageTemplate: MessageText] = [
        .sosPrompt: MessageText(
            subject: "Va tutto bene?",
            body: "i tuoi valori sono diventati critici il {time}. Va tutto bene?\n\nRispondi qui, senza accesso:\n{link}\n\n"
                + "Senza risposta TrackMe chiama un'ambulanza.",
            short: "TrackMe SOS: valori critici il {time}. Va tutto bene? {link}",
            spoken: "Qui TrackMe. I tuoi valori sono diventati critici il {time}. Apri TrackMe e rispondi, o viene chiamata un'ambulanza.",
            title: "Va tutto bene?"),
        .sosQuestion: MessageText(
            subject: "Va tutto bene?",
            body: "il {time} il tuo dispositivo ha segnalato qualcosa che può essere un'emergenza. Va tutto bene?\n\n"
                + "Rispondi qui, senza accesso:\n{link}\n\nSenza risposta TrackMe cerca aiuto.",
            short: "TrackMe SOS: forse qualcosa non va, {time}. Va tutto bene? {link}",
            spoken: "Qui TrackMe. Il {time} il tuo dispositivo ha segnalato che forse qualcosa non va. Apri TrackMe e rispondi.",
            title: "Va tutto bene?"),
        .sosHelpCalled: MessageText(
            subject: "Hai chiesto aiuto",
            body: "hai chiesto aiuto il {time}. Si sta chiamando un servizio di emergenza.\n\n"
                + "Guarda a che punto è, o annulla la chiamata, senza accesso:\n{link}",
            short: "TrackMe SOS: hai chiesto aiuto il {time}. Si sta chiamando aiuto. {link}",
            spoken: "Qui TrackMe. Hai chiesto aiuto il {time}. Si sta chiamando un servizio di emergenza.", title: "Hai chiesto aiuto"),
        .sosContactConcern: MessageText(
            subject: "Forse qualcosa non va: {name}",
            body: "il {time} il dispositivo di {name}, che ti ha indicato come contatto di emergenza, ha segnalato qualcosa che può essere "
                + "un'emergenza. TrackMe lo sta chiedendo a {name}; chiedi anche tu.\n\n"
                + "Ultimo luogo noto: {place}\nDove si trova e che cosa puoi fare: {link}",
            short: "SOS {name}: forse qualcosa non va, {time}, a {place}. {link}",
            spoken:
                "Qui TrackMe. Il dispositivo di {name} segnala il {time}, a {place}, che forse qualcosa non va. Chiedi se va tutto bene.",
            title: "Forse qualcosa non va"),
        .sosContactWorse: MessageText(
            subject: "È peggiorato: {name}",
            body: "lo stato di {name} è peggiorato il {time}. Il servizio di emergenza viene avvisato.",
            short: "TrackMe SOS: lo stato di {name} è peggiorato il {time}. Il servizio di emergenza viene avvisato.",
            title: "È peggiorato"),
        .sosParameterSilent: MessageText(
            subject: "AutomatedSOS non riceve più tutto",
            body: "dal {time} il tuo dispositivo non consegna questo: {what}. Controlla che sia indossato, carico e collegato: "
                + "finché non torna AutomatedSOS non lo sorveglia.",
            short: "TrackMe: non ricevuto dal {time}: {what}. Controlla il dispositivo.", title: "Controlla il tuo dispositivo"),
        .sosContactAlert: MessageText(
            subject: "Emergenza: {name}",
            body: "{name} ti ha indicato come contatto di emergenza e può essere in pericolo dal {time}. "
                + "Si sta chiamando un servizio di emergenza.\n\n"
                + "Ultimo luogo noto: {place}\nDove si trova e che cosa puoi fare: {link}",
            short: "SOS {name}: emergenza {time}, a {place}. {link}",
            spoken: "Emergenza. Qui TrackMe. {name} può essere in pericolo dal {time}, a {place}. "
                + "Si sta chiamando un servizio di emergenza. Guarda il messaggio di testo.",
            title: "Emergenza"),
        .sosContactFalseAlarm: MessageText(
            subject: "Falso allarme: {name}",
            body: "l'emergenza di {name} del {time} è annullata: {name} ha detto che non c'è pericolo.",
            short: "TrackMe: falso allarme. {name} ha annullato l'emergenza del {time}.", title: "Falso allarme"),
        .sosContactInformed: MessageText(
            subject: "{who} sta andando da {name}",
            body: "{who} sta andando da {name}. L'emergenza continua: chi può aiutare è sempre benvenuto.",
            short: "TrackMe SOS: {who} sta andando da {name}. L'emergenza continua.", title: "Qualcuno sta arrivando"),
        .sosAmbulanceInformed: MessageText(
            subject: "Il servizio di emergenza è informato: {name}",
            body: "il servizio di emergenza ha preso in carico la chiamata per {name} il {time}.",
            short: "TrackMe SOS: il servizio di emergenza ha preso la chiamata per {name} il {time}.",
            title: "Il servizio di emergenza è informato"),
        .sosShaking: MessageText(
            subject: "Movimenti di scuotimento: {name}",
            body: "il dispositivo di {name}, che ti ha indicato come contatto di emergenza, segnala dal {time} uno scuotimento ripetuto, "
                + "come in una crisi convulsiva.\n\nUltimo luogo noto: {place}\nDove si trova e che cosa puoi fare: {link}",
            short: "SOS {name}: scuotimento come in una crisi, {time}, a {place}. {link}",
            spoken: "Emergenza. Qui TrackMe. Il dispositivo di {name} segnala uno scuotimento come in una crisi dal {time}, a {place}. "
                + "Guarda il messaggio di testo.",
            title: "Movimenti di scuotimento"),
        .sosSilenceContacts: MessageText(
            subject: "Nessun segnale da {name}",
            body: "dal {time} il dispositivo di {name}, che ti ha indicato come contatto di emergenza, non dà segnale. "
                + "Può essere la batteria scarica. Chiedi se va tutto bene.\n\nUltimo luogo noto: {place}\nChe cosa puoi fare: {link}",
            short: "Nessun segnale da {name} dal {time}, a {place}. {link}",
            spoken: "Qui TrackMe. Non c'è segnale dal dispositivo di {name} dal {time}, ultimo luogo {place}. Chiedi se va tutto bene.",
            title: "Nessun segnale"),
        .sosSignalLost: MessageText(
            subject: "AutomatedSOS non riceve dati",
            body: "dal {time} il tuo dispositivo non consegna nulla. Controlla che sia indossato, carico e collegato: "
                + "finché non arrivano dati AutomatedSOS non può chiamare aiuto.",
            short: "TrackMe: nessun dato dal tuo dispositivo dal {time}. Controllalo: AutomatedSOS ora non chiama aiuto.",
            title: "Controlla il tuo dispositivo"),
        .sosCharging: MessageText(
            subject: "Il tuo dispositivo è in carica",
            body: "il tuo dispositivo è in carica dal {time}. Finché non lo indossi di nuovo AutomatedSOS non ti protegge.",
            short: "TrackMe: il tuo dispositivo è in carica dal {time}. Intanto AutomatedSOS non ti protegge.",
            title: "Dispositivo in carica"),
        .sosPauseReminder: MessageText(
            subject: "AutomatedSOS è ancora in pausa",
            body: "hai messo in pausa AutomatedSOS il {time}. Finché è in pausa nessuna emergenza viene rilevata "
                + "e nessuno viene chiamato.",
            short: "TrackMe: AutomatedSOS è in pausa dal {time}. Nessuna emergenza viene rilevata.", title: "AutomatedSOS è in pausa"),
    ]
}
