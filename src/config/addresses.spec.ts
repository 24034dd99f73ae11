import { isLoopback, isOrigin, parseAddress } from './addresses.js';

describe('an address (host and port)', () => {
  it.each([
    ['h', { host: 'h', port: 7 }],
    [' h:1 ', { host: 'h', port: 1 }],
    ['10.0.0.1:65535', { host: '10.0.0.1', port: 65_535 }],
    ['[::1]:2', { host: '::1', port: 2 }],
    ['[fe80::1]', { host: 'fe80::1', port: 7 }],
  ])('is read from %j', (text, address) => {
    expect(parseAddress(text, 7)).toEqual(address);
  });

  it.each(['', ':1', 'h:', 'h:0', 'h:65536', 'h:x', '::1', '[::1', 'u@h', 'a/b', 'a b'])(
    'is not %j',
    (text) => {
      expect(parseAddress(text, 7)).toBeNull();
    },
  );
});

describe('a loopback address', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost', 'LOCALHOST'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.org', '127.1', 'localhost.example.org', ''])(
    'is not %j',
    (host) => {
      expect(isLoopback(host)).toBe(false);
    },
  );
});

describe('an origin of a browser', () => {
  it.each([
    '*',
    'https://app.example.com',
    'http://localhost:5173',
    'http://127.0.0.1',
    'https://[::1]:8443',
    'https://xn--bcher-kva.example',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnop',
  ])('is %s', (text) => {
    expect(isOrigin(text)).toBe(true);
  });

  it.each([
    '',
    'null',
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://App.example.com',
    'https://app.example.com:443',
    'http://app.example.com:80',
    'https://*.example.com',
    'https://user@app.example.com',
    'https://bücher.example',
    'https://a.example https://b.example',
    'https://',
    'HTTPS://app.example.com',
    'https://app.example.com\n',
    '**',
  ])('is not %j', (text) => {
    expect(isOrigin(text)).toBe(false);
  });
});
