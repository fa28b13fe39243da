/** Slugs with which Scalar builds the fragment of an operation or event. The site's links use the bare ids. */
export const slugs = {
  generateOperationSlug: ({ operationId }) => operationId,
  generateWebhookSlug: ({ name }) => name,
};

/**
 * Returns a function that maps our fragments, such as `#bookAppointment` or `#appointment.booked`, to Scalar's. It returns undefined for any
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

/** Redirects our fragments to Scalar's. Call it before Scalar listens to the same event. */
export function followAnchors(anchorOf) {
  addEventListener('popstate', () => {
    const anchor = anchorOf(location.hash);
    if (anchor) history.replaceState(history.state, '', anchor);
  });
}
