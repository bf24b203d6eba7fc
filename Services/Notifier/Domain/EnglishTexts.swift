// The messages in English.

import Contracts

extension MessageText {
    static let english = englishAccount.merging(englishEmergency) { account, _ in account }.merging(englishOrganisation) { other, _ in other
    }
    .merging(englishRequests) { other, _ in other }.merging(englishPayments) { other, _ in other }
    .merging(englishEndpoints) { other, _ in other }

    private static let englishAccount: [MessageTemplate: MessageText] = [
        .accountCreated: MessageText(
            subject: "Your TrackMe account has been created",
            body: "your account has been created and can be used at once.\n\nPlease confirm that this address is yours:\n{link}",
            short: "TrackMe: the account of {name} has been created. Please confirm your address with the link in our e-mail.",
            title: "Account created"),
        .confirmAddress: MessageText(
            subject: "Confirm your e-mail address",
            body: "please confirm within {hours} h that this address is yours:\n{link}\n\n"
                + "If you did not register with TrackMe, ignore this message.",
            short: "TrackMe: please confirm your address within {hours} h with the link in our e-mail.", title: "Confirm your address"),
        .alreadyRegistered: MessageText(
            subject: "You have a TrackMe account already",
            body:
                "on {time} somebody gave your address or your fiscal code for another TrackMe account. You have one already, and it stays "
                + "as it is.\n\nIf it was you, log in; if you do not remember the password, choose a new one here:\n{link}\n\n"
                + "If it was not you, there is nothing to do: nobody has learnt from us that you are registered.",
            short: "TrackMe: on {time} somebody gave your address or fiscal code for another account. Yours stays as it is.",
            title: "You are registered already"),
        .temporaryPassword: MessageText(
            subject: "Your temporary password",
            body: "this is your temporary password:\n\n    {password}\n\n"
                + "It is valid for {hours} h and must be changed at the first log-in.",
            short: "TrackMe: temporary password {password}, valid for {hours} h. Change it at the first log-in.",
            title: "Temporary password"),
        .recoverPassword: MessageText(
            subject: "Choose a new password",
            body: "somebody, probably you, asked for a new password. Choose it within {hours} h here:\n{link}\n\n"
                + "If it was not you, ignore this message: your password stays as it is.",
            short: "TrackMe: you can choose a new password within {hours} h with the link in our e-mail. Not you? Ignore this.",
            title: "New password"),
        .passwordChanged: MessageText(
            subject: "Your password was changed",
            body: "your password was changed on {time}.\n\nIf it was not you, choose a new one at once with \"Forgot password?\".",
            short: "TrackMe: your password was changed on {time}. Not you? Choose a new one at once.", title: "Password changed"),
        .failedLogIns: MessageText(
            subject: "Wrong passwords for your account",
            body: "somebody entered a wrong password for your account {count} times in a row, the last time on {time}.\n\n"
                + "If it was you, there is nothing to do. If not, choose a stronger password and look at your open sessions.",
            short: "TrackMe: {count} wrong passwords in a row for your account, last on {time}. Not you? Change your password.",
            title: "Wrong passwords for your account"),
        .changeAddress: MessageText(
            subject: "Confirm your new e-mail address",
            body: "please confirm within {hours} h that your account shall use this address from now on:\n{link}\n\n"
                + "Until then the old one is used. If you did not ask for it, ignore this message.",
            short: "TrackMe: please confirm your new address within {hours} h with the link in our e-mail.",
            title: "Confirm your new address"),
        .addressChangeAsked: MessageText(
            subject: "Another e-mail address was asked for",
            body:
                "on {time} somebody who is logged in to your account asked that it use another address. Until that one is confirmed, this "
                + "one is used.\n\nIf it was not you, stop it here, now or within seven days of the change; everybody is logged out "
                + "then:\n{link}",
            short: "TrackMe: on {time} another address was asked for your account. Not you? Stop it with the link in our e-mail.",
            title: "Another address was asked for"),
        .secondFactorChanged: MessageText(
            subject: "Your second factor was changed",
            body: "on {time} {change}.\n\nIf it was not you, choose a new password at once with \"Forgot password?\".",
            short: "TrackMe: on {time} {change}. Not you? Choose a new password at once.", title: "Second factor changed"),
        .addressChanged: MessageText(
            subject: "Your e-mail address was changed",
            body: "the e-mail address of your account was changed on {time}; this one is no longer used.\n\n"
                + "If it was not you, take it back within seven days here; everybody is logged out then:\n{link}",
            short: "TrackMe: the e-mail address of your account was changed on {time}. Not you? Undo it with the link in our e-mail.",
            title: "E-mail address changed"),
        .phoneChanged: MessageText(
            subject: "Your telephone number was changed",
            body: "the telephone number in your profile was changed or removed on {time}. Emergency services call it back.\n\n"
                + "If it was not you, correct it in TrackMe, log out everywhere and choose a new password.",
            short: "TrackMe: your telephone number was changed on {time}. Not you? Correct it and choose a new password.",
            title: "Telephone number changed"),
        .guardianConsent: MessageText(
            subject: "Your consent is needed for {child}",
            body: "{child} wants to use TrackMe and has named you as parent or guardian. No data are collected before you consent.\n\n"
                + "Read what it is about and answer within {hours} h:\n{link}",
            short: "TrackMe: your consent as guardian is needed within {hours} h. Please use the link in our e-mail.",
            title: "Your consent is needed"),
        .guardianAnswered: MessageText(
            subject: "Your guardian has answered",
            body: "your parent or guardian {answer} to your use of TrackMe.",
            short: "TrackMe: your guardian {answer} to your use of TrackMe.", title: "Your guardian has answered"),
        .memberInvited: MessageText(
            subject: "Invitation to work for {organisation} on TrackMe",
            body: "{organisation} invites you to work for it on TrackMe. Accept within {hours} h and choose your password here:\n{link}",
            short: "TrackMe: {organisation} invites you. Please accept within {hours} h with the link in our e-mail.", title: "Invitation"),
        .requestReceived: MessageText(
            subject: "{organisation} asks for some of your data",
            body: "{organisation} asks for some of your data. Stated purpose:\n\n    {purpose}\n\n"
                + "Nobody sees anything unless you accept. See exactly what is asked for, and accept or refuse, in TrackMe; "
                + "without an answer within {hours} h the request is refused.",
            short: "TrackMe: {organisation} asks for some of your data. Accept or refuse in the app within {hours} h.",
            title: "Somebody asks for your data"),
        .requestExpired: MessageText(
            subject: "A request has expired",
            body: "you did not answer the request of {organisation} in time, so it was refused. Nobody has seen anything.",
            short: "TrackMe: the request of {organisation} has expired and was refused.", title: "A request has expired"),
        .accessGiven: MessageText(
            subject: "{organisation} was given access to some of your data",
            body: "a request of {organisation} for some of your data was accepted. See in TrackMe what it gets, and for how long.\n\n"
                + "If it was not you, withdraw it there, log out everywhere and choose a new password.",
            short: "TrackMe: {organisation} was given access to some of your data. Not you? Withdraw it and choose a new password.",
            title: "An access was given"),
        .grantEnded: MessageText(
            subject: "{organisation} no longer has access",
            body: "the access of {organisation} to your data has ended. From now on it gets nothing more.",
            short: "TrackMe: the access of {organisation} to your data has ended.", title: "An access has ended"),
        .devicePaired: MessageText(
            subject: "A device was paired with your account",
            body: "the device \"{device}\" was paired with your account and can now deliver your data.\n\n"
                + "If it was not you, remove it in TrackMe and change your password.",
            short: "TrackMe: the device {device} was paired with your account. Not you? Remove it and change your password.",
            title: "A device was paired"),
        .trackingMoved: MessageText(
            subject: "Something is measured by another device now",
            body: "a device of yours was removed. Another one of yours now delivers: {what}.\n\n"
                + "If that is not what you want, choose otherwise under Devices in TrackMe.",
            short: "TrackMe: a device was removed. Another one of yours now delivers: {what}. You may choose otherwise.",
            title: "Another device measures now"),
        .monitoringPaused: MessageText(
            subject: "Monitoring is paused",
            body: "the monitoring of your data has been paused since {time}. As long as it is paused nothing is recorded, "
                + "and AutomatedSOS cannot call for help.",
            short: "TrackMe: monitoring paused since {time}. Nothing is recorded and AutomatedSOS cannot call for help.",
            title: "Monitoring is paused"),
        .watchedLess: MessageText(
            subject: "You are watched over less than before",
            body: "on {time} {change}.\n\n"
                + "If it was not you, undo it in TrackMe, log out everywhere and choose a new password.",
            short: "TrackMe: on {time} {change}. Not you? Undo it and choose a new password.", title: "Less is watched than before"),
        .rescueChanged: MessageText(
            subject: "What helpers are given was changed",
            body: "on {time} {change}. Further changes within the hour are not told one by one.\n\n"
                + "If it was not you, undo it in TrackMe, log out everywhere and choose a new password.",
            short: "TrackMe: on {time} {change}. Not you? Undo it and choose a new password.", title: "What helpers are given was changed"),
        .pushEndpointAdded: MessageText(
            subject: "Your messages go to one more app",
            body: "since {time} push messages for you also go to an address at {host}.\n\n"
                + "If it was not you, remove it in TrackMe, log out everywhere and choose a new password: whoever gets these messages can "
                + "answer in your name whether you are well.",
            short: "TrackMe: since {time} your push messages also go to {host}. Not you? Remove it and choose a new password.",
            title: "One more app gets your messages"),
        .pushEndpointRemoved: MessageText(
            subject: "Your messages go to one app less",
            body: "since {time} push messages for you no longer go to the address at {host}: it was removed, or its app was logged out.\n\n"
                + "If that app shall wake you or call you, log in there again. If it was not you, choose a new password as well.",
            short: "TrackMe: since {time} your push messages no longer go to {host}. Not you? Log in there again.",
            title: "One app less gets your messages"),
        .erasureOrdered: MessageText(
            subject: "Your data are being erased",
            body: "as you asked, your data can no longer be read from now on, and are erased everywhere within {hours} h. "
                + "This cannot be undone.",
            short: "TrackMe: as you asked, your data are being erased, everywhere within {hours} h.", title: "Your data are being erased"),
        .erasureCompleted: MessageText(
            subject: "Certificate of erasure",
            body: "your data have been erased. This is the certificate, with every place where they were:\n\n{certificate}",
            short: "TrackMe: your data have been erased. The certificate is in our e-mail.", title: "Your data have been erased"),
        .exportReady: MessageText(
            subject: "Your export is ready",
            body: "the export of your data is ready. It can be fetched in TrackMe for {hours} h.",
            short: "TrackMe: the export of your data is ready and can be fetched for {hours} h.", title: "Your export is ready"),
        .announcement: MessageText(subject: "{title}", body: "{text}", short: "TrackMe: {title}. {text}", title: "News from TrackMe"),
        .dataBreach: MessageText(
            subject: "About the safety of your data: {title}", body: "this is about the safety of your personal data.\n\n{text}",
            short: "TrackMe, about the safety of your data: {title}. {text}", title: "About the safety of your data"),
        .sosDispatch: MessageText(subject: "Emergency call", body: "Emergency call: {text}", short: "{text}", title: "Emergency call"),
    ]
}
