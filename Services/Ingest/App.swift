// Where the process `ingest` begins.

import ServiceKit

@main
struct App {
    static func main() async {
        await ServiceCommand<IngestAssembly>.start()
    }
}
