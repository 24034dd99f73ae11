import { isLoopback, parseAddress } from './addresses.js';

describe('an address', () => {
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
