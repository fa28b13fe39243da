"""Objects as the API returns them."""

from __future__ import annotations

from typing import Any

CONTACT: dict[str, Any] = {
    "id": "0193f0a0-0000-7000-8000-000000000001",
    "number": 1,
    "external_id": None,
    "name": "Zoë 😀",
    "phone": None,
    "email": "zoe@example.com",
    "tags": ["vip"],
    "fields": {"visits": 3, "rating": 4.5, "member": True},
    "merged_into": None,
    "created_at": "2026-11-20T09:00:00+01:00",
    "updated_at": "2026-11-20T09:00:00+01:00",
}

EVENT: dict[str, Any] = {
    "id": "0193f0a0-0000-7000-8000-000000000002",
    "type": "contact.created",
    "timestamp": "2026-11-20T09:00:00+01:00",
    "account": "0193f0a0-0000-7000-8000-000000000003",
    "mode": "test",
    "data": {"contact": CONTACT},
}
