import { shownUrl } from './shown-url.js';

const MINTED = '7QXT0V5K9M2N8R4W6Y1Z3A5B7C';
const CHOSEN = 'a/chosen+token=of the+operator';
const CARRIED = 'a/chosen+text=of the+operator';
const ID = '01M7Z17XME660YPHBY512QCVQF';
const escape = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '%$&');

describe('an address in the access log', () => {
  it.each<[string, string]>([
    ['as a queue', `/api/ns/${MINTED}`],
    ['as a namespace', `/v1/${MINTED}/jobs`],
    ['as an id', `/api/ns/q/job/${MINTED}`],
    ['after a slash', `/${MINTED}`],
    ['with its pool', `/api/ns/default:${MINTED}/size`],
    ['in a value', `/api/ns/q?ttl=${MINTED}`],
    ['as a name', `/api/ns/q?${MINTED}`],
    ['in lower case', `/api/ns/${MINTED.toLowerCase()}`],
    ['in a name with its sign escaped', `/api/ns/q?token%3D${MINTED}`],
    ['in a parameter of the path', `/api/ns/q%3Ftoken=${CHOSEN}`],
    ['escaped', `/api/ns/${escape(MINTED)}`],
    ['escaped twice', `/api/ns/${escape(escape(MINTED))}`],
    ['in two parts', `/api/ns/${escape(MINTED.slice(0, 9))}${MINTED.slice(9)}`],
    ['among words', `/api/ns/q?x=wrong-${MINTED}-x`],
    ['a chosen one in a name', `/api/ns/q?token%3D${encodeURIComponent(CHOSEN)}`],
    ['beside another', `/api/ns/${MINTED}?token=${encodeURIComponent(CHOSEN)}`],
  ])('hides a generated token anywhere in the URL, and a chosen token after token= (%s)', (_name, url) => {
    for (const carried of ['', 'short', 'wrong-but-long-enough-it-is']) {
      const shown = shownUrl(url, carried);
      expect(decodeURIComponent(shown).toUpperCase()).not.toContain(MINTED);
      expect(shown).not.toContain('chosen');
    }
  });

  it.each<[string, string]>([
    ['as a queue', `/api/ns/${CARRIED}`],
    ['escaped', `/api/ns/${encodeURIComponent(CARRIED)}/size`],
    ['in a value', `/v1/ns/stats?queue=${encodeURIComponent(CARRIED)}`],
    ['twice', `/api/${encodeURIComponent(CARRIED)}/${encodeURIComponent(CARRIED)}`],
  ])('hides the token that the request carries, wherever the URL repeats it: %s', (_name, url) => {
    for (const carried of [CARRIED, `default:${CARRIED}`]) {
      expect(shownUrl(url, carried)).toContain('[redacted]');
      expect(shownUrl(url, carried)).not.toContain('chosen');
    }
  });

  it.each([
    '/api/ns/q?ttl=60&delay=1',
    `/api/ns/q/job/${ID}`,
    `/v1/ns/jobs/${ID}/ack`,
    `/api/ns/reply-${ID}`,
    '/api/ns/%71?x=%zz',
    '/v1/ns/jobs?state=ready&cursor=abc',
    '/api/ns/d41d8cd98f00b204e9800998ecf8427e',
    '/nope',
    '',
  ])('is unchanged without a token: %s', (url) => {
    expect(shownUrl(url, MINTED)).toBe(url);
  });

  it('shows escaped line breaks and non-ASCII bytes as question marks', () => {
    expect(shownUrl(`/api/ns/%0d%0a%c3%a9${MINTED}`, '')).toBe('/api/ns/????[redacted]');
  });
});
