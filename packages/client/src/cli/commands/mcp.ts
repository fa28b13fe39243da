import type { Command } from '../command.ts';

export const mcp: Command = {
  name: 'mcp',
  parameters: '',
  arity: [0, 0],
  summary: 'Let an AI assistant use the API',
  description:
    'Serves the Model Context Protocol on the standard input and output, for assistants that start it themselves. The key and its scopes decide what an assistant may do; keys and secrets are hidden from it. Before each write the assistant asks you. Where it cannot ask, a write with a live key is refused, and one with a key of the sandbox is sent.',
  options: [
    { name: 'read-only', description: 'Offer no writes' },
    { name: 'yes', description: 'Send writes without asking; your assistant may still ask' },
  ],
  examples: ['mcp', 'mcp --read-only'],
  async run(call) {
    const options = { isReadOnly: call.isSet('read-only'), isConfirmed: call.isSet('yes') };
    const client = await call.clientOptions();
    // The server's packages are large: the other commands start without them.
    const { serve } = await import('../mcp/serve.ts');
    await serve(client, options, call);
  },
};
