import robotsParser from 'robots-parser';

/** The package's types declare an ES module, but it is CommonJS. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** Question whether the robots.txt at `robotsUrl` allows `agent` to read `url`. */
export interface RobotsQuestion {
  robotsUrl: string;
  url: string;
  agent: string;
}

/** Returns whether a robots.txt allows a URL. The library compares paths character by character, so both sides are normalized first. */
export function allowedBy(bytes: Buffer, { robotsUrl, url, agent }: RobotsQuestion): boolean {
  const { origin, pathname, search } = new URL(url);
  // In a rule, `*` and `$` are wildcards, not characters of a path.
  const path = comparable(pathname + search).replace(/[*$]/g, (special) => (special === '*' ? '%2A' : '%24'));
  return parseRobots(robotsUrl, rulesOf(bytes)).isAllowed(origin + path, agent) !== false;
}

/** Returns only the lines that form groups. The library would end a group at any other line, against RFC 9309, 2.2.4. */
function rulesOf(bytes: Buffer): string {
  const text = bytes.toString('latin1').replace(/^\xef\xbb\xbf/, '');
  return comparable(text)
    .split(/\r\n?|\n/)
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => /^(?:user-agent|allow|disallow)[ \t]*:/i.test(line))
    .map((line) => line.replace(/\$(?!$)/g, '%24'))
    .join('\n');
}

/**
 * Normalizes the percent-encoding of octets for comparison (RFC 9309, 2.2.2). Unreserved characters are decoded. Reserved characters stay
 * as they are written, encoded or not. All other octets are encoded.
 */
function comparable(octets: string): string {
  return octets.replace(/%[\da-f]{2}|[^\w.~:/?#@!$&()*+,;=\-\t\r\n ]/gi, (found) => {
    const octet = found.length === 1 ? found : String.fromCharCode(Number.parseInt(found.slice(1), 16));
    if (/[\w.~-]/.test(octet)) return octet;
    return `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}
