"""What an organisation does before it asks anybody: registers, is confirmed, logs in. Standard library and the documents alone."""
from people import call
from running_suite import await_until

PASSWORD = "corretto cavallo batteria"
LOGIN = "office@example.org"


def registration_form(suite):
    """A form in which everything is right."""
    status, conditions, _ = call("GET", f"{suite.gateway_url}/thirdparty/v1/conditions")
    assert status == 200, (status, conditions)
    version = conditions["version"]
    address = {"street": "Via Festa del Perdono 7", "city": "Milano", "postalCode": "20122"}
    return {
        "businessName": "Istituto Ricerche Mediche", "vatNumber": "IT00743110157", "legalAddress": address, "billingAddress": address,
        "email": LOGIN, "emailAgain": LOGIN, "sector": "medical research", "description": "Studies of the heart rate at rest.",
        "paymentMethod": "card", "password": PASSWORD, "passwordAgain": PASSWORD, "acceptedTerms": version, "acceptedPrivacy": version,
        "acceptedResponsibility": version, "acceptedJurisdiction": version, "representative": {
            "name": "Mario", "surname": "Rossi", "officeAddress": "Via Festa del Perdono 7, Milano", "phone": "+390250311",
            "email": "mario.rossi@example.org", "fiscalCode": "RSSMRA80A01H501U"}}


def register(suite, confirm):
    """The access token of its first member. `confirm` takes the organisation's id and gets the registration confirmed."""
    status, made, _ = call("POST", f"{suite.gateway_url}/thirdparty/v1/organisations", registration_form(suite))
    assert status == 201, (status, made)
    confirm(made["organisation"])
    status, tokens, _ = call("POST", f"{suite.consent_url}/consent/v1/sessions", {"login": LOGIN, "password": PASSWORD})
    assert status == 200, (status, tokens)
    token = tokens["accessToken"]
    profile = f"{suite.gateway_url}/thirdparty/v1/organisation"
    await_until("the gateway knows the log-in", 20, lambda: call("GET", profile, token=token)[0] == 200)
    return token
