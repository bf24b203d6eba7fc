// The texts of the conditions, in Italian and English. Paragraphs are separated by an empty line.

enum ConditionTexts {
    static let englishTerms = """
        TrackMe keeps what your devices measure, shows it to you, and serves three purposes: Data4Help, by which you may share data, \
        AutomatedSOS, which calls for help when your vital signs are critical, and Track4Run, for runs. One account serves all three.

        The service is free of charge for you. You must give true data about yourself. The account is yours alone; keep its password \
        to yourself.

        AutomatedSOS starts only when you join it and accept its clauses. It cannot replace a physician or a monitored medical device, \
        and it depends on your device, on its battery, and on a connection.

        You may leave at any time: deleting the profile ends all three services and removes your personal data. You may also have all \
        data that were collected erased and keep the account.

        Below the age that the law sets for your own consent, a parent or guardian consents for you.
        """

    static let italianTerms = """
        TrackMe conserva ciò che i suoi dispositivi misurano, glielo mostra e serve a tre scopi: Data4Help, con cui può condividere \
        dati, AutomatedSOS, che chiama i soccorsi quando i parametri vitali sono critici, e Track4Run, per le corse. Un solo account \
        vale per tutti e tre.

        Il servizio è gratuito per lei. I dati che fornisce su di sé devono essere veri. L'account è personale; tenga per sé la password.

        AutomatedSOS parte soltanto se lei vi aderisce e ne accetta le clausole. Non sostituisce un medico né un dispositivo medico \
        sorvegliato, e dipende dal suo dispositivo, dalla sua batteria e dalla connessione.

        Può lasciare il servizio in ogni momento: eliminare il profilo termina tutti e tre i servizi e rimuove i suoi dati personali. \
        Può anche far cancellare tutti i dati raccolti e conservare l'account.

        Sotto l'età che la legge fissa per il consenso proprio, acconsente un genitore o un tutore.
        """

    static let englishPrivacy = """
        What is collected: the data of your profile; what your devices measure, which includes your POSITION and HEALTH DATA such as \
        heart rate, blood pressure and oxygen saturation; what you enter by hand. Nothing is collected before you accept this text.

        What for: to show it to you, to share it as you decide, and, if you join AutomatedSOS, to watch over you.

        How it is shared. With one organisation, under your name: only after you accept its request, which says which types, which \
        period and what for; you may withdraw at any time, for each type, and it ends at once. Anonymously, in groups of more than \
        1000 people: only the types that you switch on; all are off unless you choose them. In an emergency, if you joined \
        AutomatedSOS: your position and the critical values go to the emergency service. Nothing is sold without your acceptance.

        How it is kept: encrypted, under a key of your own, until you have it erased. Who runs the service cannot read your health data.

        Your rights: to see, correct, export and erase your data, to pause the collection, and to see every consent you gave or withdrew. \
        All of it is in your profile.
        """

    static let italianPrivacy = """
        Che cosa si raccoglie: i dati del profilo; ciò che i suoi dispositivi misurano, compresi la POSIZIONE e i DATI SULLA SALUTE \
        come frequenza cardiaca, pressione e saturazione; ciò che inserisce a mano. Nulla si raccoglie prima che lei accetti questo testo.

        Per che cosa: per mostrarglielo, per condividerlo come decide lei e, se aderisce ad AutomatedSOS, per vegliare su di lei.

        Come si condivide. Con una singola organizzazione, a suo nome: solo dopo che lei ha accettato la richiesta, che dice quali tipi, \
        quale periodo e a quale scopo; può revocare in ogni momento, per ogni tipo, con effetto immediato. In forma anonima, in gruppi \
        di oltre 1000 persone: solo i tipi che lei attiva; tutti sono disattivati se non li sceglie. In emergenza, se ha aderito ad \
        AutomatedSOS: posizione e valori critici vanno al servizio di soccorso. Nulla si vende senza il suo consenso.

        Come si conserva: cifrato, con una chiave solo sua, finché non lo fa cancellare. Chi gestisce il servizio non può leggere i suoi \
        dati sulla salute.

        I suoi diritti: vedere, correggere, esportare e cancellare i dati, sospendere la raccolta e vedere ogni consenso dato o revocato. \
        Tutto è nel suo profilo.
        """
}
