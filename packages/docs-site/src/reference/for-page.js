/**
 * Returns the document as the page shows it. Fills in the API's address, which only the page knows. Adds the scope and the errors of each
 * operation to its description, so that they are visible without a click.
 */
export function forPage(document, address) {
  const shown = JSON.parse(JSON.stringify(document), (_name, value) => {
    if (typeof value === 'string') return value.replaceAll('{base_url}', address);
    if (!isPeriod(value)) return value;
    // Both parameters have the same examples, and the page fills in the first one, which would give an empty period.
    const { examples: _examples, ...schema } = value.schema;
    return { ...value, schema };
  });
  const meanings = meaningsOf(shown);
  for (const operation of Object.values(shown.paths).flatMap(Object.values)) {
    const scope = operation['x-scope'] ? `\`${operation['x-scope']}\`` : 'any key';
    operation.description = [`**Scope:** ${scope}`, operation.description, errorsOf(shown, meanings, operation)].join(
      '\n\n',
    );
  }
  // The site has these guides as separate pages.
  shown.info.description = shown.info.description.split('\n## ', 1)[0];
  shown.info['x-scalar-sdk-installation'] = [
    { lang: 'TypeScript', source: `npm install ${address}/docs/client.tgz` },
    { lang: 'Python', source: `pip install ${address}/docs/client-python.tar.gz` },
  ];
  return shown;
}

/** Returns whether a value is an optional parameter for the start or end of a period. */
function isPeriod(value) {
  return value?.in === 'query' && !value.required && (value.name === 'from' || value.name === 'to');
}

/** Error statuses that only some operations have. */
const ownStatuses = ['400', '404', '409', '413'];

/** Returns a Markdown list of an operation's errors, with one line for errors that every operation has. */
function errorsOf(document, meanings, { responses }) {
  const errors = Object.entries(responses)
    .filter(([status]) => status >= '400')
    .flatMap(([status, response]) => codesOf(document, response).map((code) => ({ status, code })));
  const isOwn = ({ status }) => ownStatuses.includes(status);
  const lines = errors.filter(isOwn).map(({ status, code }) => {
    const meaning = status === '413' ? 'The body is too large.' : meanings.get(code);
    return `- ${status} \`${code}\`: ${meaning}`;
  });
  const shared = Map.groupBy(
    errors.filter((error) => !isOwn(error)),
    ({ status }) => status,
  );
  const groups = [...shared].map(([status, group]) => `${status} ${group.map(({ code }) => `\`${code}\``).join(', ')}`);
  return `**Errors**\n\n${lines.join('\n')}\n- As [every operation](/docs/errors): ${groups.join('; ')}`;
}

/** Returns the codes of an error response, which has an example of each. */
function codesOf({ components }, response) {
  const named = response.$ref ? components.responses[response.$ref.split('/').at(-1)] : response;
  return Object.values(named.content['application/json'].examples).map(({ value }) => value.error.code);
}

/** Returns the meanings of codes, from a table in the document's description. */
function meaningsOf({ info }) {
  const rows = info.description.matchAll(/^\| `(\w+)` \| \d+ \| (.+) \|$/gm);
  return new Map([...rows].map(([, code, meaning]) => [code, meaning]));
}
