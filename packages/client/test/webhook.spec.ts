import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { verify, WebhookError } from '../src/webhook.js';

const NOW_S = 1_800_000_000;
const now = { nowMs: NOW_S * 1_000 };
const secretOf = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const BODY = '{"to":"ada"}';

function headersOf(secret: string, body = BODY, atS = NOW_S): Record<string, string> {
  return {
    'webhook-id': 'job-1',
    'webhook-timestamp': String(atS),
    'webhook-signature': new Webhook(secret).sign('job-1', new Date(atS * 1_000), body),
  };
}

describe('verify() for webhooks', () => {
  const secret = secretOf();

  it('accepts signatures of the Standard Webhooks library and returns the id', async () => {
    expect(await verify(secret, headersOf(secret), BODY, now)).toBe('job-1');
    expect(await verify(secret, headersOf(secret), Buffer.from(BODY), now)).toBe('job-1');
    expect(await verify(secret, new Headers(headersOf(secret)), BODY, now)).toBe('job-1');
  });

  it('accepts header names in any case, and lists of values', async () => {
    const upper = Object.fromEntries(
      Object.entries(headersOf(secret)).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    expect(await verify(secret, upper, BODY, now)).toBe('job-1');
  });

  it('refuses bytes that are not UTF-8 with the signature of another body', async () => {
    const bytes = Uint8Array.from([0xff, 0xfe, 0]);
    await expect(verify(secret, headersOf(secret, 'x'), bytes, now)).rejects.toThrow(WebhookError);
  });

  it('accepts one right signature of two, and one right secret of two', async () => {
    const [old, fresh] = [secretOf(), secretOf()];
    const both = `${headersOf(old)['webhook-signature']!} ${headersOf(fresh)['webhook-signature']!}`;
    const headers = { ...headersOf(old), 'webhook-signature': both };
    for (const one of [old, fresh, [secretOf(), fresh]])
      expect(await verify(one, headers, BODY, now)).toBe('job-1');
  });

  it.each<[string, (headers: Record<string, string>) => [Record<string, string>, string?]]>([
    ['another body', (headers) => [headers, '{"to":"eve"}']],
    ['another id', (headers) => [{ ...headers, 'webhook-id': 'job-2' }]],
    ['another time', (headers) => [{ ...headers, 'webhook-timestamp': String(NOW_S + 1) }]],
    ['another secret', () => [headersOf(secretOf())]],
    ['no id', (headers) => [{ ...headers, 'webhook-id': '' }]],
    ['no signature', (headers) => [{ ...headers, 'webhook-signature': '' }]],
    ['a signature of nothing', (headers) => [{ ...headers, 'webhook-signature': 'v1,' }]],
    [
      'a signature that is cut',
      (headers) => [{ ...headers, 'webhook-signature': headers['webhook-signature']!.slice(0, 20) }],
    ],
    ['a signature that is no base64', (headers) => [{ ...headers, 'webhook-signature': 'v1,***' }]],
    [
      'another scheme',
      (headers) => [{ ...headers, 'webhook-signature': headers['webhook-signature']!.replace('v1,', 'v2,') }],
    ],
    ['an invalid time', (headers) => [{ ...headers, 'webhook-timestamp': 'NaN' }]],
    ['a time 301 seconds ago', () => [headersOf(secret, BODY, NOW_S - 301)]],
    ['a time 301 seconds in the future', () => [headersOf(secret, BODY, NOW_S + 301)]],
  ])('refuses %s', async (_what, change) => {
    const [headers, body = BODY] = change(headersOf(secret));
    await expect(verify(secret, headers, body, now)).rejects.toThrow(WebhookError);
  });

  it('accepts a timestamp within the given tolerance', async () => {
    const headers = headersOf(secret, BODY, NOW_S - 3_000);
    expect(await verify(secret, headers, BODY, { ...now, toleranceS: 3_600 })).toBe('job-1');
  });

  it('refuses an empty secret', async () => {
    await expect(verify('whsec_', headersOf(secret), BODY, now)).rejects.toThrow(WebhookError);
  });
});
