import { AddressRules } from './address-rules.js';

const CLOSED = new AddressRules();

describe('addresses that push may connect to', () => {
  it.each(['93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34', '64:ff9b::5db8:d822', '8.8.8.8'])(
    'include the public address %s',
    (address) => expect(CLOSED.allows(address)).toBe(true),
  );

  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.0.3'],
    ['loopback', '::1'],
    ['unspecified', '0.0.0.0'],
    ['unspecified', '::'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['private', 'fd12::1'],
    ['site-local', 'fec0::1'],
    ['link-local', '169.254.1.1'],
    ['link-local', 'fe80::1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['benchmarks', '198.18.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '2001:db8::1'],
    ['multicast', '224.0.0.1'],
    ['multicast', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped', '::ffff:7f00:1'],
    ['IPv4-compatible', '::7f00:1'],
    ['IPv4-translated', '::ffff:0:7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64 of a local prefix', '64:ff9b:1::a00:1'],
    ['NAT64 of a local prefix, with a public address at its end', '64:ff9b:1:a00:0:100:808:808'],
    ['NAT64 of a local prefix, with a public address', '64:ff9b:1::808:808'],
    ['6to4', '2002:7f00:1::'],
    ['6to4 of a public address', '2002:5db8:d822::'],
    ['Teredo', '2001:0:5db8:d822::1'],
    ['discard', '100::1'],
    ['segment routing', '5f00::1'],
    ['no address', 'localhost'],
    ['a short form', '127.1'],
    ['a number', '2130706433'],
    ['nothing', ''],
  ])('exclude %s: %s', (_kind, address) => expect(CLOSED.allows(address)).toBe(false));

  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::a9fe:a9fe',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a83f:8110',
    '64:ff9b:1:a9fe:a9:fe00:808:808',
    '64:ff9b:1:a9:fe:a9fe:808:808',
    '64:ff9b:1:0:a9:fea9:fe08:808',
    '2002:a9fe:a9fe::',
  ])('exclude the metadata service %s even if all addresses are allowed', (address) => {
    expect(new AddressRules(['0.0.0.0/0', '::/0']).allows(address)).toBe(false);
    expect(CLOSED.allows(address)).toBe(false);
  });

  it('include an address of the local NAT64 prefix if the prefix is allowed', () => {
    const rules = new AddressRules(['64:ff9b:1::/48']);
    expect(rules.allows('64:ff9b:1:808:8:800:0:1')).toBe(true);
  });

  it('include the addresses of an allowed range in any notation, and no addresses beside the range', () => {
    const rules = new AddressRules(['10.2.0.0/16', '127.0.0.1', 'fd12::/32', '::1']);
    for (const address of ['10.2.3.4', '::ffff:10.2.3.4', '64:ff9b::a02:304', '127.0.0.1', 'fd12::9', '::1'])
      expect([address, rules.allows(address)]).toEqual([address, true]);
    for (const address of ['10.3.0.1', '127.0.0.2', 'fd13::1', '64:ff9b::a03:1'])
      expect([address, rules.allows(address)]).toEqual([address, false]);
  });
});
