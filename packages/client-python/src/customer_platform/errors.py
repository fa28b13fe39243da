"""Errors that a call can raise."""

from __future__ import annotations


class CustomerPlatformError(Exception):
    """Base of all errors of this package, except ValueError and TypeError for wrong arguments."""


class ApiError(CustomerPlatformError):
    """
    An error response of the API. Each known code has its own class, such as SlotTaken. Codes of a newer platform are
    plain ApiErrors.
    """

    status: int
    """The HTTP status."""
    code: str
    """The error code, such as `slot_taken`. Handle errors by this code or by their class."""
    message: str
    """What is wrong, and what would be right."""
    field: str | None
    """The invalid body field, query parameter or header."""
    request_id: str | None
    """Id of the request in the platform's logs. Quote it when you report an `internal_error`."""
    retry_after: float | None
    """Seconds to wait before the next attempt, from the Retry-After header."""

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
        # By default, exceptions pickle only their positional arguments, so a process pool would lose the error.
        return _restored, (type(self), self.__dict__)


def _restored(kind: type[ApiError], fields: dict[str, object]) -> ApiError:
    error = kind.__new__(kind)
    error.__dict__.update(fields)
    return error


class ApiConnectionError(CustomerPlatformError):
    """
    The connection failed, or broke before the response was complete. A write may have been applied: send it again with
    the same `idempotency_key`.
    """


class ApiTimeoutError(CustomerPlatformError):
    """The response was too late. A write may have been applied: send it again with the same `idempotency_key`."""


class WaitError(CustomerPlatformError):
    """The resource can no longer reach the status, or did not reach it in time."""


class ResponseError(CustomerPlatformError):
    """A response that does not come from the API, such as a proxy's error page."""

    status: int
    """The HTTP status."""
    body: str
    """The first 500 characters of the body."""

    def __init__(self, message: str, status: int, body: str = "") -> None:
        super().__init__(message, status, body[:500])
        self.status = status
        self.body = body[:500]

    def __str__(self) -> str:
        return str(self.args[0])
