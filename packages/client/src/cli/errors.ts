/** Wrong usage; exit code 2. */
export class UsageError extends Error {}

/** The setup is incomplete: there is no key, or a file cannot be read. */
export class SetupError extends Error {}

/** A user's file cannot be read, or its content is invalid. */
export class FileError extends Error {}
