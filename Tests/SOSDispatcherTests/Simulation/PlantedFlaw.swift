// What can be wrong with the simulated suite on purpose, to show that the simulation notices.

enum PlantedFlaw: String, CaseIterable, Sendable {
    /// Ingest answers the device before the entries are on disk.
    case acknowledgesBeforeCommit = "acknowledges-before-commit"
    /// The consumer goes on behind a gap instead of asking for what is missing.
    case dropsOnGap = "drops-on-gap"
    /// What was judged is judged again when it is heard again.
    case hearsTwice = "hears-twice"
    /// An emergency's name is drawn at random instead of being derived from its trigger.
    case randomNames = "random-names"
    /// A message is not sent a fourth time.
    case givesUpAfterThree = "gives-up-after-three"
    /// Timers and attempts go by the wall clock.
    case wallClockTimers = "wall-clock-timers"
    /// Whatever acknowledgement comes back counts for the message that was sent.
    case believesAnyAcknowledgement = "believes-any-acknowledgement"
    /// After a restart the stream is followed from its head.
    case skipsReplayAfterRestart = "skips-replay-after-restart"
    /// How far the stream was heard is stored before what came of it.
    case positionBeforeEffect = "position-before-effect"
    /// After a restart only new messages are sent.
    case forgetsOutbox = "forgets-outbox"
    /// A call waits for the disk as long as the disk likes.
    case waitsForTheDisk = "waits-for-the-disk"
    /// A call is cancelled by values alone.
    case cancelsOnRecovery = "cancels-on-recovery"
    /// An acknowledged message is sent on.
    case repeatsAcknowledged = "repeats-acknowledged"
}
