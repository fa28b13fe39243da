import { python, textOf, typeScript } from './sample-text.js';

/**
 * Samples of one request with common tools. Each runs unchanged once `CUSTOMER_PLATFORM_KEY` is set, and prints the response. A
 * request has an uppercase `method`, a complete `url`, and the example's `body` and `isFile`.
 */

const fileName = 'opening-hours.md';

/** Returns the form fields sent with a file, as pairs of strings. */
const fieldsOf = ({ file: _file, ...fields } = {}) =>
  Object.entries(fields).map(([name, value]) => [name, String(value)]);

/** Returns the request as a curl command. */
export function curlSample({ method, url, body, isFile, isStream }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const lines = [
    `curl ${isStream ? '--no-buffer ' : ''}${quoted(url)}`,
    ...(method === 'GET' || (method === 'POST' && body) ? [] : [`--request ${method}`]),
    '--header "Authorization: Bearer $CUSTOMER_PLATFORM_KEY"',
  ];
  if (isFile)
    lines.push(`--form file=@${fileName}`, ...fieldsOf(body).map((field) => `--form ${quoted(field.join('='))}`));
  else if (body)
    lines.push(`--header 'Content-Type: application/json'`, `--data ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(' \\\n  ');
}

/** Returns the request as a JavaScript module. */
export function fetchSample({ method, url, body, isFile, isStream }) {
  const json = body && !isFile;
  const appended = fieldsOf(body).map((field) => `form.append(${field.map(typeScript.literal).join(', ')});\n`);
  const form = `const form = new FormData();\nform.append('file', new File(['…'], '${fileName}'));\n${appended.join('')}\n`;
  const headers = [
    `    Authorization: \`Bearer \${process.env.CUSTOMER_PLATFORM_KEY}\`,\n`,
    ...(json ? [`    'Content-Type': 'application/json',\n`] : []),
  ];
  const sent = json ? `  body: JSON.stringify(${textOf(body, typeScript, '  ')}),\n` : isFile ? '  body: form,\n' : '';
  const printed = isStream
    ? 'for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'
    : 'console.log(response.status, await response.text());';
  return `${isFile ? form : ''}const response = await fetch(${typeScript.literal(url)}, {
  method: '${method}',
  headers: {
${headers.join('')}  },
${sent}});
${printed}`;
}

/** Returns the request as a Python program. */
export function requestsSample({ method, url, body, isFile, isStream }) {
  const data = isFile ? Object.fromEntries(fieldsOf(body)) : {};
  const given = [
    python.literal(url),
    `headers={"Authorization": f"Bearer {os.environ['CUSTOMER_PLATFORM_KEY']}"}`,
    ...(isFile ? [`files={"file": open("${fileName}", "rb")}`] : []),
    ...(Object.keys(data).length > 0 ? [`data=${textOf(data, python, python.indent)}`] : []),
    ...(body && !isFile ? [`json=${textOf(body, python, python.indent)}`] : []),
    ...(isStream ? ['stream=True'] : []),
  ];
  const printed = isStream
    ? 'for line in response.iter_lines():\n    print(line.decode())'
    : 'print(response.status_code, response.text)';
  return `import os

import requests

response = requests.${method.toLowerCase()}(
${given.map((each) => `${python.indent}${each},\n`).join('')})
${printed}`;
}
