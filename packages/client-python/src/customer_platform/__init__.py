"""The customer platform's API: `Client`, and `AsyncClient` for asyncio."""

from . import _error_codes, events, inputs, models
from ._client import AsyncClient, Client
from ._error_codes import *  # noqa: F403
from ._model import UnknownObject
from ._requests import ResponseInfo
from ._stream import Reconnect
from ._values import NOT_GIVEN, NotGiven
from ._version import VERSION as __version__
from .errors import ApiConnectionError, ApiError, ApiTimeoutError, CustomerPlatformError, ResponseError, WaitError
from .events import Event
from .pages import AsyncPages, Page, Pages
from .webhooks import WebhookVerificationError, sign_webhook, verify_webhook

__all__ = [
    "NOT_GIVEN",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AsyncClient",
    "AsyncPages",
    "Client",
    "CustomerPlatformError",
    "Event",
    "NotGiven",
    "Page",
    "Pages",
    "Reconnect",
    "ResponseError",
    "ResponseInfo",
    "UnknownObject",
    "WaitError",
    "WebhookVerificationError",
    "__version__",
    "events",
    "inputs",
    "models",
    "sign_webhook",
    "verify_webhook",
]
__all__ += _error_codes.__all__
