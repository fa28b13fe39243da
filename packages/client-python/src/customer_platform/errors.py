"""What a call can raise."""

from __future__ import annotations


class CustomerPlatformError(Exception):
    """Base of all errors of this package, but for ValueError and TypeError where it is used wrongly."""


class ApiError(CustomerPlatformError):
    """
    An error response of the API. Each code that this client knows has a class of its own, such as SlotTaken; a newer
    platform may have further codes, which are plain ApiErrors.
    """

    status: int
    """The HTTP status."""
    code: str
    """What kind of error it is, such as `slot_taken`: decide by it, or by the class."""
    message: str
    """What was wrong, and what would be right."""
    field: str | None
    """The body field, query parameter or header at fault."""
    request_id: str | None
    """Id of the request in the platform's logs: quote it when you report an `internal_error`."""
    retry_after: float | None
    """Seconds after which another attempt makes sense, where the platform says so."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        field = f" (field: {self.field})" if self.field else ""
        return f"{self.status} {self.code}: {self.message}{field}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions pickle their positional arguments alone, which are not these: process pools would lose the error.
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[ApiError], fields: dict[str, object]) -> ApiError:
    error = kind.__new__(kind)
    error.__dict__.update(fields)
    return error


class ApiConnectionError(CustomerPlatformError):
    """
    The connection failed, or broke before the whole response had come. A write may have happened: send it again with
    the same `idempotency_key`.
    """


class ApiTimeoutError(CustomerPlatformError):
    """There was no whole response in time. A write may have happened: send it again with the same `idempotency_key`."""


class WaitError(CustomerPlatformError):
    """What was waited for cannot happen any more, or has not happened in time."""


class ResponseError(CustomerPlatformError):
    """A response that is none of this API, such as a proxy's page."""

    status: int
    """The HTTP status."""
    body: str
    """Beginning of the body, at most 500 characters."""

    def __init__(self, message: str, status: int, body: str = "") -> None:
        super().__init__(message, status, body[:500])
        self.status = status
        self.body = body[:500]

    def __str__(self) -> str:
        return str(self.args[0])
