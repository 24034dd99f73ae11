/** The `field:value` lines of INFO. */
export function parseInfo(text: string): Map<string, string> {
  const facts = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) facts.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return facts;
}
