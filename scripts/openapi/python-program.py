"""Customer program that uses the output of openapi-python-client. mypy checks it with all models and operations."""

import os

from customer_platform_api_client import AuthenticatedClient
from customer_platform_api_client.api.calendar import update_staff
from customer_platform_api_client.api.cdp import create_contact
from customer_platform_api_client.models import CreateContactBody, ErrorEnvelope, UpdateStaffBody, UpdateStaffBodyHours
from customer_platform_api_client.types import UNSET

client = AuthenticatedClient(base_url="http://127.0.0.1:8080", token=os.environ.get("CUSTOMER_PLATFORM_KEY", ""))


def create(name: str) -> str:
    contact = create_contact.sync(client=client, body=CreateContactBody(name=name), idempotency_key=UNSET)
    if isinstance(contact, ErrorEnvelope):
        raise SystemExit(contact.error.message)
    if contact is None:
        raise SystemExit("The document does not name the response's status")
    return str(contact.id)


def open_on_mondays(email: str) -> None:
    hours = UpdateStaffBodyHours(mon=[["09:00", "12:00"], ["13:00", "17:00"]])
    update_staff.sync(email, client=client, body=UpdateStaffBody(hours=hours))
