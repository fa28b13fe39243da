/** Fragments that lead to an operation or event: Scalar's own, and by the id of each, which the links of the site have. */
export const slugs = {
  generateOperationSlug: ({ operationId }) => operationId,
  generateWebhookSlug: ({ name }) => name,
};

/**
 * Returns a function that gives Scalar's fragment for one of ours, such as `#bookAppointment` or `#appointment.booked`; undefined for any
 * other.
 */
export function anchorsOf({ paths, webhooks }) {
  const operations = Object.values(paths).flatMap(Object.values);
  const anchors = new Map([
    ...Object.keys(webhooks).map((kind) => [`#${kind}`, `#webhook/${kind}`]),
    ...operations.map(({ operationId, tags }) => [`#${operationId}`, `#tag/${tags[0]}/${operationId}`]),
  ]);
  return (fragment) => anchors.get(fragment);
}

/** Has links with our fragments lead where Scalar's do. To be called before Scalar listens to the same event. */
export function followAnchors(anchorOf) {
  addEventListener('popstate', () => {
    const anchor = anchorOf(location.hash);
    if (anchor) history.replaceState(history.state, '', anchor);
  });
}
