import robotsParser from 'robots-parser';

/** The package's types declare an ES module, which it is not. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

/** Asks whether the robots.txt at `robotsUrl` lets `agent` read `url`. */
export interface RobotsQuestion {
  robotsUrl: string;
  url: string;
  agent: string;
}

/** Returns what a robots.txt allows. The library compares paths character by character: it gets each in one spelling. */
export function allowedBy(bytes: Buffer, { robotsUrl, url, agent }: RobotsQuestion): boolean {
  const { origin, pathname, search } = new URL(url);
  // In a rule these two are no characters of a path.
  const path = comparable(pathname + search).replace(/[*$]/g, (special) => (special === '*' ? '%2A' : '%24'));
  return parseRobots(robotsUrl, rulesOf(bytes)).isAllowed(origin + path, agent) !== false;
}

/** Returns the lines that groups are made of, without others, which the library would end a group at (RFC 9309, 2.2.4). */
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
 * Returns a text of octets with those escaped that a URL may have either way, and only those (RFC 9309, 2.2.2): the unreserved
 * characters stand for themselves, the reserved ones stay as they are written.
 */
function comparable(octets: string): string {
  return octets.replace(/%[\da-f]{2}|[^\w.~:/?#@!$&()*+,;=\-\t\r\n ]/gi, (found) => {
    const octet = found.length === 1 ? found : String.fromCharCode(Number.parseInt(found.slice(1), 16));
    if (/[\w.~-]/.test(octet)) return octet;
    return `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}
