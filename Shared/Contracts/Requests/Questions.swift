// Every question of the suite, so that rights and documents are made from one list.

package enum Questions {
    /// What is not in this list nobody of the suite may ask.
    package static let all: [any BusRequest.Type] = [
        AddDevice.self, RevokeDevice.self, ReadLatest.self, RecordEntries.self, ReadSamples.self, ReadSampleRanges.self,
        ReadAbilities.self, ReadHistory.self, ReadEmergencyCards.self,
        OpenRequest.self, ReadRequest.self, EndRequest.self,
        MakeFirstMember.self, ChangeMemberAddress.self, CloseOrganisation.self,
        ListOrganisations.self, ShowOrganisation.self, ReopenThirdParties.self, JudgeOrganisation.self,
        SetOrganisationTier.self,
        ReadPrices.self, SetPrices.self, ListPayments.self, MarkPaid.self, RefundPayment.self,
        MakeOperator.self, EndSessions.self, InviteMember.self, RemoveMember.self, ConfirmErasure.self, SendMessage.self, ReadMessage.self,
        SubscribePerson.self, UnsubscribePerson.self, PauseSupervision.self, ReadSupervision.self, AnswerPrompt.self,
        ListEmergencies.self, ReadTimeline.self, VerifyAudit.self, ReadAvailability.self, ReadUnstored.self,
        ReleaseGroup.self, ReadGroupRelease.self, ReadGroupCatalogue.self, FindGroupPlaces.self, EndGroupSubscription.self,
        AddIntegrator.self, ListIntegrators.self, RemoveIntegrator.self, RotateIntegrator.self,
        AcknowledgeDispatch.self, AcknowledgeByCode.self, AcknowledgeByHand.self, RunDrill.self, ScheduleDrill.self, ReadDrills.self,
    ]

    /// The methods of `owner` that this peer may ask; a deputy may be asked the same as whom it stands in for. Replay, snapshot and
    /// confirmation follow from the right to hear instead.
    package static func methods(of answerer: Peer, askedBy peer: Peer) -> Set<String> {
        let owner = answerer.deputyOf ?? answerer
        var methods = Set(all.filter { $0.owner == owner && $0.clients.contains(peer) }.map { $0.method })
        if ForgetConsumer.clients.contains(peer) { methods.insert(ForgetConsumer.method) }
        if ListJobs.answerers.contains(answerer), ListJobs.clients.contains(peer) {
            methods.formUnion([ListJobs.method, ResendJobs.method])
        }
        return methods
    }
}
