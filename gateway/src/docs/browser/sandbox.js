/** Returns the document as the page shows it: with the address of the API, which only the page knows. */
export function forPage(document, address) {
  return JSON.parse(JSON.stringify(document), (_name, value) => {
    if (typeof value === 'string') return value.replaceAll('{base_url}', address);
    if (!isPeriod(value)) return value;
    // Both have the same examples, and the page fills in the first: nothing is between a date and itself.
    const { examples: _examples, ...schema } = value.schema;
    return { ...value, schema };
  });
}

/** Returns whether a value is a parameter that may be left out, and that begins or ends a period. */
function isPeriod(value) {
  return value?.in === 'query' && !value.required && (value.name === 'from' || value.name === 'to');
}

/**
 * Returns the document with examples that name resources which the key's account has, as far as there are any: a request that is tried as it
 * is shown succeeds.
 */
export async function forSandbox(document, key) {
  const get = async (path) => {
    const response = await fetch(path, { headers: { authorization: `Bearer ${key}` } });
    return response.ok ? await response.json() : undefined;
  };
  const found = await Promise.all(
    listsOf(document).map(async ({ name, path, example }) => {
      const entry = await newestOf(get, path);
      return { name, example, entry, value: entry?.[name in (entry ?? {}) ? name : 'id'] };
    }),
  );
  const known = found.filter(({ value }) => value !== undefined);
  const ids = Object.fromEntries(known.map(({ name, value }) => [name, value]));
  const texts = known
    .filter(({ example }) => typeof example === 'string')
    .map(({ example, value }) => [example, value]);
  const numbers = {
    booking_type: ids.booking_type_id,
    collection: ids.collection_id,
    stage: await nextStage(get, known.find(({ name }) => name === 'deal_id')?.entry),
  };
  const starts = await nextStarts(get, ids.booking_type_id);
  const [booked, moved] = exampleStarts(document);
  makeUnique(document);
  const [target, later] = [exampleTarget(document), await laterThanNow(get)];
  const replaced = new Map([
    ...texts,
    [booked, starts[0] ?? booked],
    [moved, starts[1] ?? moved],
    [target, later ?? target],
  ]);
  return JSON.parse(JSON.stringify(document), (name, value) => {
    if (typeof value === 'string') return replaced.get(value) ?? value;
    if (typeof value === 'number') return numbers[name] ?? value;
    if (name === 'pipelines' && typeof value?.[0] === 'number') return ids.pipeline_id ? [ids.pipeline_id] : value;
    if (value?.in !== undefined && typeof value.example === 'number')
      return { ...value, example: ids[value.name] ?? numbers[value.name] ?? value.example };
    return value;
  });
}

/** Fields that must be unique in an account, by the path at which they are created. */
const unique = {
  '/v1/agents/knowledge/collections': 'name',
  '/v1/agents/knowledge/sources': 'title',
  '/v1/catalogue/products': 'sku',
  '/v1/cdp/audiences': 'name',
};

/** Gives the bodies of examples other values for what the account has already: new ones each time that the page is opened. */
function makeUnique({ paths }) {
  for (const [path, field] of Object.entries(unique)) {
    const body = exampleBody(paths, path);
    if (body) body[field] += `-${Date.now().toString(36)}`;
  }
}

/** Returns the lists whose entries the parameters at the ends of paths name: parameter, path of the list and the parameter's example. */
function listsOf({ paths, components }) {
  const parameters = Object.values(components.parameters);
  return Object.keys(paths).flatMap((path) => {
    const [, list, name] = /^([^{}]*)\/\{(\w+)\}$/.exec(path) ?? [];
    const own = Object.values(paths[path]).flatMap(({ parameters: each = [] }) => each);
    const parameter = [...own, ...parameters].find((each) => each.name === name);
    return paths[list]?.get && parameter ? [{ name, path: list, example: parameter.example }] : [];
  });
}

/** Status in which most of what can be done with an entry of a list is done; it is refused in others. */
const workable = {
  '/v1/catalogue/orders': 'new',
  '/v1/crm/deals': 'open',
};

/** Returns the newest entry of a list that can be worked with, otherwise the newest one, if there is any. */
async function newestOf(get, path) {
  const newest = async (query) => (await get(`${path}?limit=1${query}`))?.data?.[0];
  const status = workable[path];
  return (status && (await newest(`&status=${status}`))) ?? (await newest(''));
}

/** Returns another stage of a deal's own pipeline, to which it can be moved. */
async function nextStage(get, deal) {
  const pipeline = deal && (await get(`/v1/crm/pipelines/${deal.pipeline.id}`));
  return pipeline?.stages.find(({ id }) => id !== deal.stage.id)?.id;
}

/** Returns the next two free starts of a booking type. */
async function nextStarts(get, bookingType) {
  if (bookingType === undefined) return [];
  const times = await get(`/v1/calendar/free-times?booking_type=${bookingType}&limit=2`);
  return (times?.data ?? []).map(({ starts_at }) => starts_at);
}

/** Returns a time three days ahead of the sandbox's clock. */
async function laterThanNow(get) {
  const clock = await get('/v1/sandbox/clock');
  return clock && new Date(Date.parse(clock.now) + 3 * 86_400_000).toISOString();
}

/** Returns the time to which the example advances the clock. */
function exampleTarget({ paths }) {
  return exampleBody(paths, '/v1/sandbox/clock')?.advance_to;
}

/** Returns the starts that the examples of a booking and of a move have. */
function exampleStarts({ paths }) {
  return ['/v1/calendar/appointments', '/v1/calendar/appointments/{appointment_id}/reschedule'].map(
    (path) => exampleBody(paths, path)?.starts_at,
  );
}

/** Returns the example of the body of a POST; undefined where the document has no such operation. */
function exampleBody(paths, path) {
  return paths[path]?.post?.requestBody.content['application/json'].example;
}
