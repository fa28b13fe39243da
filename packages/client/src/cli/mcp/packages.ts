/**
 * The server's third-party imports. The build bundles this file with the packages and their licenses, so the published package has no
 * dependencies.
 */
export { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
export { default as MiniSearch } from 'minisearch';
export { int, record, strictObject, string, unknown } from 'zod';
