/** A body that is no export of spans in OTLP/JSON, or none of the size of one. */
export class MalformedExport extends Error {}
