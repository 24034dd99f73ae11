import {
  limitArgs,
  limitCall,
  quotaArgs,
  quotaChanges,
  quotaField,
  rotateArgs,
  rotateCall,
} from '../src/lib/token-forms.js';
import { linesOf } from '../src/lib/lines.js';

const TOKEN = 'pool-b:01K2Z8M5Q0X3ABCDEFGH';
const given = (fields: Record<string, string>) => new Map(Object.entries(fields));

describe('the forms of a token', () => {
  it('set a limit, or remove it if both numbers are empty', () => {
    const path = '/token/shop/pool-b%3A01K2Z8M5Q0X3ABCDEFGH/limit';
    const fields = given({ read: '100', write: '', interval: '' });
    expect(limitCall('shop', TOKEN, fields)).toEqual({
      ...{ method: 'PUT', path, body: '{"read":100,"write":0,"interval":1}' },
    });
    expect(limitArgs('shop', TOKEN, fields).join(' ')).toBe(
      `limit set shop ${TOKEN} --consume 100 --publish 0 --interval 1`,
    );
    expect(limitCall('shop', TOKEN, given({ interval: '5' }))).toEqual({ method: 'DELETE', path });
  });

  it.each([
    ['read', '-1'],
    ['read', '0'],
    ['write', '1.5'],
    ['interval', '0'],
    ['interval', '1000000001'],
  ])('refuse the value of %s: %s', (name, value) => {
    expect(() => limitCall('shop', TOKEN, given({ read: '1', [name]: value }))).toThrow(/must be/);
  });

  it('rotate it, and never show it in the lines', () => {
    const fields = given({ grace: '1h', expires: '90d' });
    const { curl, cli } = linesOf(
      rotateCall('shop', TOKEN, fields),
      null,
      rotateArgs('shop', TOKEN, fields),
      TOKEN,
    );
    expect(curl).toContain(`/token/shop/"$TOKEN"'/rotate?grace=1h&expires=90d'`);
    expect(cli).toBe('pumphouse token rotate shop "$TOKEN" --grace 1h --expires 90d');
    expect(() => rotateCall('shop', TOKEN, given({ grace: 'soon' }))).toThrow(/15m, 1h or 2d/);
  });
});

describe('the form of quotas', () => {
  const quotas = {
    max_jobs_per_queue: { value: 1_000, default: 0 },
    max_queues_per_namespace: { value: 50, default: 50 },
  };
  const before = Object.fromEntries(Object.entries(quotas).map(([name, one]) => [name, quotaField(one)]));

  it('sends what has changed: an empty field is the default again', () => {
    const changes = quotaChanges(given({ ...before, max_jobs_per_queue: '' }), quotas);
    expect(changes).toEqual({ max_jobs_per_queue: null });
    const line = (pool: string): string => quotaArgs({ pool, namespace: 'shop' }, changes).join(' ');
    expect(line('default')).toBe('quota set shop --max-jobs-per-queue default');
    expect(line('eu')).toBe('quota set shop --pool eu --max-jobs-per-queue default');
    expect(quotaChanges(given({ ...before, max_queues_per_namespace: '0' }), quotas)).toEqual({
      max_queues_per_namespace: 0,
    });
  });

  it('refuses a form without a change, and numbers that are none', () => {
    expect(() => quotaChanges(given(before), quotas)).toThrow('No quota has changed.');
    expect(() => quotaChanges(given({ ...before, max_jobs_per_queue: 'many' }), quotas)).toThrow(/whole/);
  });
});
