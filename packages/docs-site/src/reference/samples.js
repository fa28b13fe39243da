import { pythonSample, typeScriptSample } from './client-samples.js';
import { curlSample, fetchSample, requestsSample } from './http-samples.js';

/**
 * Adds samples to each operation of a document: for curl, for our clients, which have a method for each operation, and for JavaScript's fetch and
 * Python's requests. `address` is the API's URL.
 */
export function addSamples(document, address) {
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const name = operation['x-client-name'];
      const input = inputOf(document, operation);
      const request = { ...input, method: method.toUpperCase(), url: address + filled(path, input) };
      operation['x-codeSamples'] = [
        { lang: 'curl', label: 'curl', source: curlSample(request) },
        { lang: 'typescript', label: 'TypeScript client', source: typeScriptSample(name, input, address) },
        { lang: 'python', label: 'Python client', source: pythonSample(name, input, address) },
        { lang: 'javascript', label: 'JavaScript fetch', source: fetchSample(request) },
        { lang: 'python', label: 'Python requests', source: requestsSample(request) },
      ];
    }
}

/** Returns the examples of an operation's required input in path, query and body, and the kind of its response. */
function inputOf({ components }, { parameters = [], requestBody, responses }) {
  const whole = parameters.map((each) => (each.$ref ? components.parameters[each.$ref.split('/').at(-1)] : each));
  const [params, query] = ['path', 'query'].map((place) =>
    Object.fromEntries(
      whole.filter((each) => each.in === place && each.required).map((each) => [each.name, each.example]),
    ),
  );
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  const results = Object.entries(responses).filter(([status]) => status < '300');
  const types = results.flatMap(([, response]) => Object.keys(response.content ?? {}));
  return {
    params,
    query,
    body: content?.example,
    isFile: type === 'multipart/form-data',
    hasResult: types.length > 0,
    isStream: types.includes('text/event-stream'),
  };
}

/** Returns a path with example values and the required query. */
function filled(path, { params, query }) {
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name]));
  const search = new URLSearchParams(query).toString();
  return search ? `${place}?${search}` : place;
}
