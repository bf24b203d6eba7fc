// The most used passwords of this country and of this service, and the shapes that no list can hold.

/// A short list of our own, in lower case, beside the long one of `PublishedPasswords`, which is English.
enum MostUsedPasswords {
    /// - Parameter folded: in lower case, without white space.
    static func contain(_ folded: String) -> Bool {
        words.contains(folded) || isMonotonous(folded) || isRow(folded)
    }

    /// Built of at most two characters: `aaaaaaaa`, `12121212`.
    private static func isMonotonous(_ text: String) -> Bool {
        Set(text).count <= 2
    }

    /// Neighbours in the alphabet or among the digits all the way: `23456789`, `hgfedcba`.
    private static func isRow(_ text: String) -> Bool {
        let values = text.unicodeScalars.map { Int($0.value) }
        let steps = Set(zip(values, values.dropFirst()).map { $1 - $0 })
        return steps == [1] || steps == [-1]
    }

    private static let words = Set(
        """
        0123456789 0987654321 11223344 123123123 123321123 12341234 12344321 12345678 123456789 1234567890 123456qwerty 1234qwer
        123qweasd 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qazxsw2 87654321 987654321 a1b2c3d4 aa123456 aa12345678 abc12345 abc123456
        abcd1234 abcdefgh acmilan1 admin123 admin1234 administrator administrator1 alessandra alessandro alexander alexandra
        amore123 amoremio amoremio1 andrea123 angel123 antonella antonio1 arsenal1 asd123456 asdfasdf asdfghjk asdfghjkl
        automatedsos barcelona baseball baseball1 basketball batman123 bellissima benvenuto blessing blink182 buongiorno
        butterfly cambiami changeme changeme1 charlie1 cheesecake chelsea1 chocolate ciao1234 ciao12345 ciaociao computer
        computer1 corvette danielle data4help default1 diamond1 diamonds dragon123 elizabeth facebook facebook1 federica ferrari1
        ferrari123 football football1 forever1 forzainter forzajuve forzamilan forzanapoli forzaroma francesca francesco freedom1
        giovanni giuseppe google123 guest123 harleydavidson hello123 hellohello iloveyou iloveyou1 iloveyou2 instagram inter1908
        internazionale internet internet1 italia123 italiano jennifer jessica1 jonathan jordan23 juventus juventus1 letmein1
        letmein123 linkedin liverpool lovelove loveyou1 mammamia manchester master123 mercedes metallica michael1 michaeljordan
        michelle midnight milan1899 minecraft monkey123 mustang1 napoli123 napoli1926 nicholas nintendo nirvana1 p@ssw0rd
        p@ssword pa$$word passw0rd password password1 password12 password123 password1234 passwordpassword playstation pokemon1
        pokemon123 porsche911 princess princess1 principessa q1w2e3r4 q1w2e3r4t5 qazwsxedc qwe123456 qwerty12 qwerty123
        qwerty1234 qwertyui qwertyuiop qwertz123 qwertzuiop rainbow1 realmadrid salvatore samsung1 samsung123 secret123 segreto1
        shadow123 snowball spiderman starwars stefania stellina strawberry sunshine sunshine1 superman superman1 temp1234
        test1234 testing1 testing123 testtest tiamo123 tiamotanto track4run trackme1 trackme123 trustno1 valentina veronica
        welcome1 welcome123 whatever whatever1 whatsapp1 yamaha123 zxc123456 zxcvbnm1 zxcvbnm123
        """.split { $0 == " " || $0 == "\n" }.map(String.init))
}
