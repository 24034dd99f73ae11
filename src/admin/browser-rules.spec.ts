import { BrowserRules } from './browser-rules.js';

const rules = new BrowserRules(['0.0.0.0', 'Admin.Internal']);
const ruleOf = (headers: Record<string, string>, method = 'POST', url = '/token/ns'): string | undefined =>
  rules.refusalOf({ method, url, headers: { host: '127.0.0.1:7778', ...headers } })?.rule;

describe('the rules for browsers on the admin port', () => {
  it.each<[string, Record<string, string>]>([
    ['a program', {}],
    ['a form of a program', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['an address typed into a browser', { 'sec-fetch-site': 'none' }],
    ['a page of its own', { 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:7778' }],
    ['a page behind TLS', { host: 'admin.internal', origin: 'https://admin.internal' }],
    ['a port that is the usual one', { host: 'admin.internal:443', origin: 'https://admin.internal' }],
    ['the address of a pod', { host: '10.42.0.17:7778' }],
    ['an address without a port', { host: '10.42.0.17' }],
    ['an IPv6 address', { host: '[fd00::17]:7778' }],
    ['an IPv6 address without a port', { host: '[::1]' }],
    ['localhost', { host: 'localhost:7778' }],
    ['a name of admin.hosts', { host: 'admin.internal:7778' }],
    ['the same in other case', { host: 'ADMIN.internal' }],
  ])('accept a request from %s', (_name, headers) => {
    expect(ruleOf(headers)).toBeUndefined();
  });

  it.each<[string, Record<string, string>, string]>([
    ['a form of another site', { 'sec-fetch-site': 'cross-site' }, 'sec_fetch_site'],
    ['a page of a sibling domain', { 'sec-fetch-site': 'same-site' }, 'sec_fetch_site'],
    ['a value that is not known', { 'sec-fetch-site': '' }, 'sec_fetch_site'],
    ['a page of another host', { origin: 'https://evil.example' }, 'origin'],
    ['a page of another port', { origin: 'http://127.0.0.1:8080' }, 'origin'],
    ['a page without an origin', { origin: 'null' }, 'origin'],
    ['a file', { origin: 'file://' }, 'origin'],
    ['no origin at all', { origin: '' }, 'origin'],
    ['a user in the origin', { origin: 'http://127.0.0.1:7778@evil.example' }, 'origin'],
    ['a name that leads here', { host: 'evil.example:7778', origin: 'http://evil.example:7778' }, 'host'],
    ['the same without an origin', { host: 'evil.example:7778', 'sec-fetch-site': 'same-origin' }, 'host'],
    ['a name below a known one', { host: 'x.localhost' }, 'host'],
    ['a known name with a dot', { host: 'localhost.' }, 'host'],
    ['an address in a name', { host: '127.0.0.1.evil.example' }, 'host'],
    ['an address spelt oddly', { host: '0x7f000001' }, 'host'],
    ['brackets around a name', { host: '[localhost]:7778' }, 'host'],
    ['an IPv6 address without brackets', { host: '::1' }, 'host'],
    ['a user in the host', { host: '127.0.0.1@evil.example' }, 'host'],
    ['no host', { host: '' }, 'host'],
  ])('refuse %s, except on /healthz, /readyz and /metrics', (_name, headers, rule) => {
    expect(ruleOf(headers)).toBe(rule);
    expect(ruleOf(headers, 'GET', '/info')).toBe(rule);
    for (const url of ['/healthz', '/readyz', '/metrics', '/metrics?x=1']) {
      expect(ruleOf(headers, 'GET', url)).toBeUndefined();
      expect(ruleOf(headers, 'POST', url)).toBe(rule);
    }
    expect(ruleOf(headers, 'GET', '/metrics/')).toBe(rule);
  });

  it('allow a link of any page to open the console, and nothing else below its name', () => {
    const headers = { host: 'evil.example', 'sec-fetch-site': 'cross-site' };
    for (const url of ['/', '/?a=1', '/ui', '/ui/', '/ui/?a=1', '/ui/assets/index.js'])
      expect([url, ruleOf(headers, 'GET', url), ruleOf(headers, 'POST', url)]).toEqual([
        url,
        undefined,
        'sec_fetch_site',
      ]);
    for (const url of ['/uid', '/v1/ui/', '//ui/', '/UI/'])
      expect(ruleOf(headers, 'GET', url)).toBe('sec_fetch_site');
  });

  it('give an error of less than 300 characters that names the setting admin.hosts', () => {
    const refused = rules.refusalOf({ method: 'GET', url: '/info', headers: { host: 'x'.repeat(9_000) } });
    expect(refused?.error).toContain('admin.hosts');
    expect(refused?.error.length).toBeLessThan(300);
    expect(rules.refusalOf({ method: 'GET', url: '/info', headers: {} })?.rule).toBe('host');
  });
});
