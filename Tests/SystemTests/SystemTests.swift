// The suite of all tests with real processes: one after the other, since each wants a core for itself. `make test` begins them first.

import Testing

/// Everything below it runs serially. Sizes come by environment, for the runs that the issue names: `TRACKME_FAULT_CYCLES` kills of one
/// service (6), `TRACKME_FAULT_SEEDS` courses of sharing (2), `TRACKME_FAULT_POWER_CUTS` (2), `TRACKME_FAULT_OUTAGE_S` of the desk (8),
/// `TRACKME_FAULT_BACKLOG` facts behind (11,000),
/// `TRACKME_FAULT_RANDOM_KILLS` of any service (5), `TRACKME_FAULT_FLUSHES` that fail (3), `TRACKME_FAULT_STORM` people at once (40), `TRACKME_FAULT_HALTS` of each
/// process (1), and `TRACKME_FAULT_FULL` = 1 for every kind of fault; `make chaos` sets them. `TRACKME_FAULT_DEADLINE_S` (5) is for machines that are too
/// busy to keep the promise of five seconds. Each test prints one line of figures; a name that begins with F and a number is that row of
/// the fault matrix.
///
/// What third parties are promised (folder `ThirdParties`) is not in that matrix. In full, with a receiver that is down for two minutes,
/// ten kills of the gateway (`TRACKME_FAULT_GATEWAY_KILLS`, else 3) and five histories (`TRACKME_FAULT_HISTORIES`, else 1):
/// `TRACKME_FAULT_FULL=1 TRACKME_FAULT_CYCLES=20 Tests/run --filter '/(Delivery|Revocation|History)Tests'`.
@Suite("The suite as real processes", .serialized)
struct SystemTests {}
