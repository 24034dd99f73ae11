import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/**
 * Addresses that stay refused whatever the configuration allows: the metadata services of clouds give credentials to
 * any process that can reach them.
 */
const NEVER: readonly Range[] = [
  '169.254.0.0/16', // AWS, Google, Azure, OpenStack and others; link-local
  '168.63.129.16/32', // Azure; a public address
  '100.100.100.200/32', // Alibaba
  '192.0.0.192/32', // Oracle
  'fd00:ec2::/32', // AWS
  'fd20:ce::254/128', // Google
  'fe80::/10', // link-local
  '0.0.0.0/32',
  '::/128',
].map((range) => ipaddr.parseCIDR(range));
/** IPv6 ranges whose last 32 bits are an IPv4 address that a gateway connects to (NAT64), or did (IPv4-compatible). */
const EMBEDS_LAST: readonly Range[] = ['64:ff9b::/96', '::/96'].map((range) => ipaddr.parseCIDR(range));
/**
 * NAT64 of a local network: RFC 6052 puts the IPv4 address at a place that depends on the length of the network's prefix. So these
 * are refused unless they are allowed.
 */
const LOCAL_NAT64: readonly Range[] = [ipaddr.parseCIDR('64:ff9b:1::/48')];
/** The bytes of the IPv4 address with prefixes of 48, 56, 64 and 96 bits. */
const EMBEDDED: readonly (readonly number[])[] = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
];
/** Tunnels whose IPv4 end point is anywhere in the address: never connected to. */
const TUNNELS: readonly Range[] = ['2002::/16', '2001::/32'].map((range) => ipaddr.parseCIDR(range));

/** Decides which addresses push may connect to: public unicast ones, and the ranges that the operator allows. */
export class AddressRules {
  private readonly allowed: readonly Range[];

  /** @param allowed ranges as `10.2.0.0/16`, or single addresses */
  constructor(allowed: readonly string[] = []) {
    this.allowed = allowed.map((text) => {
      if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
      const address = ipaddr.parse(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** @param text an address in the form that the resolver or `URL` gives; false for anything else */
  allows(text: string): boolean {
    if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return false;
    // Turns an IPv4-mapped address into the IPv4 address that the system will connect to.
    return this.allowsAddress(ipaddr.process(text));
  }

  private allowsAddress(address: Address): boolean {
    if (isIn(address, NEVER) || isIn(address, TUNNELS)) return false;
    const isAllowed = isIn(address, this.allowed);
    if (address instanceof ipaddr.IPv6 && isIn(address, EMBEDS_LAST)) {
      const embedded = embeddedAt(address, [12, 13, 14, 15]);
      return isAllowed ? !isIn(embedded, NEVER) : this.allowsAddress(embedded);
    }
    if (address instanceof ipaddr.IPv6 && isIn(address, LOCAL_NAT64)) {
      return (
        /* guard: local-nat64-refused */ isAllowed /* guard: local-nat64-metadata */ &&
        !EMBEDDED.some((bytes) => isIn(embeddedAt(address, bytes), NEVER))
      );
    }
    return isAllowed || address.range() === 'unicast';
  }
}

function embeddedAt(address: ipaddr.IPv6, bytes: readonly number[]): ipaddr.IPv4 {
  const all = address.toByteArray();
  return new ipaddr.IPv4(bytes.map((byte) => all[byte] ?? 0));
}

function isIn(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match([range, bits]));
}
