import type { ClientOptions } from '../../requests/send.ts';
import { refusalOfUser } from './agreement.ts';
import { type Api, apiReader } from './api.ts';
import { type CallArguments, callOperation, operationNamed, type PreparedCall, pagingOf, prepare } from './calls.ts';
import { describe } from './describe.ts';
import { readPage } from './guides.ts';
import { int, McpServer, record, strictObject, string, unknown } from './packages.ts';
import { errorResult, failure, pageResult, resultOf, type ToolResult } from './results.ts';
import { findGuides, findOperations } from './search.ts';

/** How the server handles writes. */
export interface ServerOptions {
  /** Whether it offers no writes. */
  isReadOnly: boolean;
  /** Whether it sends writes without asking. */
  isConfirmed: boolean;
  /** Whether the key acts on the live account, not on the sandbox. */
  isLive: boolean;
  /** Aborts the calls in progress. */
  signal: AbortSignal;
}

const operationArgument = string()
  .min(1)
  .describe('An operation id such as createContact, or a name in the clients such as cdp.contacts.create');
const callArguments = strictObject({
  operation: operationArgument,
  params: record(string(), unknown()).optional().describe('Path parameters by name'),
  query: record(string(), unknown()).optional().describe('Query parameters by name'),
  body: record(string(), unknown()).optional().describe('The JSON body, as describe_operation shows it'),
});

/** Returns a server whose tools find, describe and call the API's operations. */
export function createServer(client: ClientOptions, options: ServerOptions): McpServer {
  const server = new McpServer(
    { name: 'customer-platform', version: '1.0.0' },
    { instructions: instructionsOf(options) },
  );
  const readApi = apiReader(client);
  /** Wraps a tool's handler: passes it the API, and turns its errors into results. */
  const withApi =
    <Arguments>(act: (api: Api, given: Arguments, signal: AbortSignal) => Promise<ToolResult> | ToolResult) =>
    async (given: Arguments, extra: { signal: AbortSignal }): Promise<ToolResult> => {
      const signal = AbortSignal.any([extra.signal, options.signal]);
      try {
        return await act(await readApi(signal), given, signal);
      } catch (error) {
        return errorResult(error);
      }
    };
  const reads = { readOnlyHint: true, openWorldHint: false };

  server.registerTool(
    'search_operations',
    {
      title: 'Search the API',
      description: 'Finds operations and guides of the customer platform, the best match first.',
      inputSchema: strictObject({
        query: string().min(1).describe('What you want to do or know, such as "book an appointment"'),
      }),
      annotations: reads,
    },
    withApi<{ query: string }>(async (api, { query }, signal) => {
      const guides = findGuides(await api.sections(signal), query);
      const found = { operations: findOperations(api, query), guides };
      if (found.operations.length + found.guides.length > 0) return resultOf(found, 'use a narrower query');
      const areas = new Set(api.operations.map(({ name }) => name.split('.')[0]));
      return failure(`query: nothing matches ${JSON.stringify(query)}; the API has the areas ${[...areas].join(', ')}`);
    }),
  );

  server.registerTool(
    'describe_operation',
    {
      title: 'Describe an operation',
      description: 'Returns the parameters, body, response, errors, scope and an example of one operation.',
      inputSchema: strictObject({ operation: operationArgument }),
      annotations: reads,
    },
    withApi<{ operation: string }>((api, { operation }) =>
      resultOf(describe(api, operationNamed(api, operation)), 'the example shows the most important fields'),
    ),
  );

  server.registerTool(
    'read_guide',
    {
      title: 'Read a guide',
      description: 'Returns a page of the documentation as Markdown, from the beginning or from a section.',
      inputSchema: strictObject({
        page: string()
          .regex(/^[\w-]+$/)
          .describe('The name of the page, from search_operations'),
        offset: int()
          .min(0)
          .optional()
          .describe('Number of characters to skip: the offset of a section, from search_operations; default: 0'),
      }),
      annotations: reads,
    },
    withApi<{ page: string; offset?: number | undefined }>(async ({ guides }, { page, offset = 0 }, signal) => {
      const text = await readPage(client, `/docs/${page}.md`, signal);
      if (text !== undefined && offset > 0 && offset >= text.length)
        return failure(`offset: must be less than ${text.length}, the length of ${page}`);
      if (text !== undefined) return pageResult(text, offset);
      const known =
        guides.length > 0 ? `the pages are ${guides.map((each) => each.page).join(', ')}` : 'there are no pages';
      return failure(`page: there is no ${JSON.stringify(page)}; ${known}`);
    }),
  );

  const send = async (call: PreparedCall, signal: AbortSignal) =>
    resultOf(await callOperation(client, call, signal), pagingOf(call));

  server.registerTool(
    'call_operation',
    {
      title: 'Read from the API',
      description: 'Calls an operation that changes nothing, and returns the response as JSON.',
      inputSchema: callArguments,
      annotations: { ...reads, openWorldHint: true },
    },
    withApi<CallArguments>(async (api, given, signal) => {
      const operation = operationNamed(api, given.operation);
      if (!operation.isRead) return failure(writeRule(operation.id, options));
      return await send(prepare(operation, given), signal);
    }),
  );

  if (!options.isReadOnly) {
    server.registerTool(
      'call_operation_write',
      {
        title: 'Change data through the API',
        description:
          'Calls an operation that creates, changes, sends or deletes something, after the user agrees. Returns the response as JSON without keys and secrets.',
        inputSchema: callArguments,
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      },
      withApi<CallArguments>(async (api, given, signal) => {
        const call = prepare(operationNamed(api, given.operation), given);
        const needsNoAnswer = options.isConfirmed || call.operation.isRead;
        const refusal = needsNoAnswer ? undefined : await refusalOfUser(server, call, api.me, signal);
        return refusal === undefined ? await send(call, signal) : failure(refusal);
      }),
    );
  }
  return server;
}

function instructionsOf({ isLive, isReadOnly }: ServerOptions): string {
  const account = isLive
    ? 'a live account, whose customers receive what you send'
    : 'a sandbox, which reaches no real person';
  const writes = isReadOnly ? ' Writes are switched off.' : ' Writes go through call_operation_write.';
  return `The API of a business messaging and customer-management platform, with the key of ${account}. Search for an operation, describe it, then call it.${writes} Keys and secrets are hidden from you: do not ask for them.`;
}

function writeRule(id: string, { isReadOnly }: ServerOptions): string {
  return isReadOnly
    ? `operation: ${id} changes something, and customer-platform mcp was started with --read-only`
    : `operation: ${id} changes something: call it with call_operation_write`;
}
