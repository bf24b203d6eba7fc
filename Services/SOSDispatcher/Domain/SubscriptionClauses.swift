// What a person must have read and accepted before AutomatedSOS watches over them (SOS-01, SOS-30), in Italian and English.

import Contracts

/// The clauses in force. A new wording is a new version: it is shown and accepted anew by whoever subscribes from then on.
enum SubscriptionClauses {
    static let version = "2026-11-21"

    /// Paragraphs, separated by an empty line.
    static func text(_ language: Language) -> String {
        language == .italian ? italian : english
    }

    /// SOS-30: said wherever somebody subscribes or looks at thresholds.
    static func notice(_ language: Language) -> String {
        language == .italian
            ? """
            Le soglie predefinite presuppongono che non ci siano malattie che alterano la frequenza cardiaca. Se ne ha una, imposti le \
            sue soglie insieme a un medico.
            """
            : """
            The default thresholds assume no illness that alters the heart rate. If you have one, set your own thresholds together with \
            a doctor.
            """
    }

    /// SOS-04: what a pause means.
    static func pauseWarning(_ language: Language, reminderHours: String) -> String {
        language == .italian
            ? """
            AutomatedSOS è in pausa: nessuna emergenza sarà rilevata e nessuno sarà chiamato finché non riprende. Glielo ricorderemo \
            ogni \(reminderHours) ore.
            """
            : """
            AutomatedSOS is paused: no emergency will be detected and nobody will be called until you resume. You will be reminded \
            every \(reminderHours) hours.
            """
    }

    private static let english = """
        AutomatedSOS compares what your devices measure with your thresholds, continuously. When a value is critical for three seconds it \
        calls an emergency service and your contacts, unless you say within that time that you are fine. You can call it off at any time.

        It works as long as a device that delivers a vital parameter and a position is worn, charged and connected. When nothing arrives \
        you are warned. It replaces neither a physician nor a monitored medical device.

        In an emergency the service that is called gets your position, the critical values and their recent course, your name, telephone \
        number, year of birth and sex, where no position is known your address, and your medical notes only if you allow it.

        The default thresholds assume no illness that alters the heart rate. If you have one, set your own thresholds together with a \
        doctor. Thresholds may be fitted to your own last 30 days; you can switch that off, and your own thresholds always come first.

        You can pause and leave at any time; nobody watches over you then. An emergency that is running is completed.
        """

    private static let italian = """
        AutomatedSOS confronta di continuo ciò che i suoi dispositivi misurano con le sue soglie. Quando un valore resta critico per tre \
        secondi chiama un servizio di emergenza e i suoi contatti, a meno che entro quel tempo lei non dica di stare bene. Può annullare \
        la chiamata in ogni momento.

        Funziona finché un dispositivo che fornisce un parametro vitale e la posizione è indossato, carico e connesso. Se non arriva più \
        nulla, lei viene avvisato. Non sostituisce un medico né un dispositivo medico sorvegliato.

        In emergenza il servizio chiamato riceve la sua posizione, i valori critici e il loro andamento recente, il suo nome, il numero \
        di telefono, l'anno di nascita e il sesso, l'indirizzo se nessuna posizione è nota, e le sue note mediche solo se lei lo permette.

        Le soglie predefinite presuppongono che non ci siano malattie che alterano la frequenza cardiaca. Se ne ha una, imposti le sue \
        soglie insieme a un medico. Le soglie possono adattarsi ai suoi ultimi 30 giorni; può disattivarlo, e le soglie impostate da lei \
        hanno sempre la precedenza.

        Può mettere in pausa e lasciare il servizio in ogni momento; allora nessuno veglia su di lei. Un'emergenza in corso viene \
        portata a termine.
        """
}
