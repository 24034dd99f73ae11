import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { waitFor } from '../../../test/support/redis.js';
import { Bytes, defineJob, type JobDefinition } from '../src/node.js';
import { client, fresh, useServer, workerOf } from './fixture.js';

useServer();

/** What the schemas below accept: `width` may be left out. */
interface Given {
  file: string;
  width?: number | undefined;
}
/** What they make of it. */
interface Parsed {
  file: string;
  width: number;
}
interface Sized {
  bytes: number;
}

/** `true` only for equal types, none of which is `any`: `tsc` checks the specs. */
type Equal<A, B> = 0 extends 1 & A ? false : [A, B] extends [B, A] ? true : false;
const isTrue = (holds: true): void => expect(holds).toBe(true);

const zodJob = (queue: string) =>
  defineJob({
    queue,
    type: 'zod',
    input: z.object({ file: z.string().min(1), width: z.number().default(640) }),
    output: z.object({ bytes: z.number() }),
    tries: 3,
  });
const valibotJob = (queue: string) =>
  defineJob({
    queue,
    type: 'valibot',
    input: v.object({ file: v.pipe(v.string(), v.minLength(1)), width: v.optional(v.number(), 640) }),
    output: v.object({ bytes: v.number() }),
    tries: 3,
  });
const arktypeJob = (queue: string) =>
  defineJob({
    queue,
    type: 'arktype',
    input: type({ file: 'string > 0', width: 'number = 640' }),
    output: type({ bytes: 'number' }),
    tries: 3,
  });

type Parts<D> =
  D extends JobDefinition<infer In, infer Out, infer InParsed, infer OutParsed>
    ? { in: In; inParsed: InParsed; out: Out; outParsed: OutParsed }
    : never;
type Zod = Parts<ReturnType<typeof zodJob>>;
type Valibot = Parts<ReturnType<typeof valibotJob>>;
type Arktype = Parts<ReturnType<typeof arktypeJob>>;

it('typed jobs: a definition has the types of its schemas', () => {
  isTrue(true satisfies Equal<Zod['in'], Given>);
  isTrue(true satisfies Equal<Zod['inParsed'], Parsed>);
  isTrue(true satisfies Equal<Zod['out'], Sized>);
  isTrue(true satisfies Equal<Zod['outParsed'], Sized>);
  isTrue(true satisfies Equal<Valibot['in'], Given>);
  isTrue(true satisfies Equal<Valibot['inParsed'], Parsed>);
  isTrue(true satisfies Equal<Valibot['out'], Sized>);
  // arktype's optional key has no `undefined` of its own.
  isTrue(true satisfies Equal<Arktype['in'], { file: string; width?: number }>);
  isTrue(true satisfies Equal<Arktype['inParsed'], Parsed>);
  isTrue(true satisfies Equal<Arktype['out'], Sized>);
});

it('typed jobs: a definition without schemas takes the types of its input and its result, in this order', async () => {
  const queue = fresh('types');
  const label = defineJob<{ order: number }, { label: string }>({ queue });
  const { worker } = workerOf(queue);
  worker.handle(label, ({ data }) => ({ label: `L${String(data.order)}` }));
  void worker.run();
  const { result } = await client.publishAndWait(label, { order: 7 }, { waitMs: 10_000 });
  isTrue(true satisfies Equal<typeof result, { label: string } | undefined>);
  expect(result).toEqual({ label: 'L7' });
  await worker.stop();
});

describe.each([
  ['zod', zodJob],
  ['valibot', valibotJob],
  ['arktype', arktypeJob],
] as const)('a job with schemas of %s', (name, make) => {
  it('is validated when it is published, and is stored with its data unchanged', async () => {
    const queue = fresh(name);
    const job = make(queue);
    const refusal = client.publish(job, { file: '' });
    await expect(refusal).rejects.toMatchObject({ code: 'invalid_input', status: 0 });
    await expect(refusal).rejects.toThrow(/^invalid_input: file: .+/);
    await expect(client.publishAll(job, [{ file: 'a.png' }, { file: '' }])).rejects.toMatchObject({
      code: 'invalid_input',
    });
    // @ts-expect-error the schema wants a text
    await expect(client.publish(job, { file: 7 })).rejects.toMatchObject({ code: 'invalid_input' });
    expect((await client.jobs.list({ queue })).items).toEqual([]);

    const { id } = await client.publish(job, { file: 'a.png' });
    expect(await client.jobs.get(id)).toMatchObject({ data: { file: 'a.png' }, type: name });
  });

  it('has the parsed input in its handler and the parsed result in publishAndWait', async () => {
    const queue = fresh(name);
    const job = make(queue);
    const received: Parsed[] = [];
    const { worker } = workerOf(queue);
    worker.handle(job, ({ data }) => {
      isTrue(true satisfies Equal<typeof data, Parsed>);
      received.push(data);
      return { bytes: data.width * 2 };
    });
    void worker.run();
    const ended = await client.publishAndWait(job, { file: 'a.png' }, { waitMs: 10_000 });
    const { state, result } = ended;
    isTrue(true satisfies Equal<typeof result, Sized | undefined>);
    expect({ state, result }).toEqual({ state: 'done', result: { bytes: 1_280 } });
    expect(received).toEqual([{ file: 'a.png', width: 640 }]);
  });

  it('fails with the group invalid_input if it was stored with invalid data', async () => {
    const queue = fresh(name);
    const { worker } = workerOf(queue);
    let runs = 0;
    worker.handle(make(queue), () => ({ bytes: ++runs }));
    const { id } = await client.publish({ queue, type: name, data: { file: 7 }, tries: 3 });
    void worker.run();
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead', 10_000);
    expect(await client.jobs.get(id)).toMatchObject({
      attempts: 1,
      failure: {
        group: 'invalid_input',
        message: expect.stringMatching(/^invalid_input: file: .+/) as string,
      },
    });
    expect(runs).toBe(0);
  });

  it('fails with the group invalid_output if its handler returns an invalid result', async () => {
    const queue = fresh(name);
    const { worker } = workerOf(queue);
    // @ts-expect-error the schema wants a number
    worker.handle(make(queue), () => ({ bytes: 'many' }));
    void worker.run();
    const { id } = await client.publish(make(queue), { file: 'a.png' });
    await waitFor(async () => (await client.jobs.get(id)).state === 'dead', 10_000);
    expect(await client.jobs.get(id)).toMatchObject({
      failure: {
        group: 'invalid_output',
        message: expect.stringMatching(/^invalid_output: bytes: .+/) as string,
      },
    });
  });
});

describe('a job definition with bytes', () => {
  const isBytes = (value: unknown): boolean => value instanceof Uint8Array;
  const imageJob = (queue: string) =>
    defineJob({
      ...{ queue, type: 'image', contentType: 'image/png', retentionMs: 60_000 },
      input: z.custom<Uint8Array>(isBytes),
      output: z.custom<Uint8Array>(isBytes),
    });

  it('publishes bytes with its content type, and allows a handler to return bytes with another content type', async () => {
    const queue = fresh('bytes');
    const job = imageJob(queue);
    const { worker } = workerOf(queue);
    const seen: unknown[] = [];
    worker.handle(job, ({ data, contentType }) => {
      isTrue(true satisfies Equal<typeof data, Uint8Array>);
      seen.push([[...data], contentType]);
      return new Bytes(
        Uint8Array.from(data, (byte) => 255 - byte),
        'image/webp',
      );
    });
    void worker.run();
    const ended = await client.publishAndWait(job, Uint8Array.of(0, 7, 255), { waitMs: 10_000 });
    isTrue(true satisfies Equal<typeof ended.result, Uint8Array | undefined>);
    expect([...ended.result!]).toEqual([255, 248, 0]);
    expect(seen).toEqual([[[0, 7, 255], 'image/png']]);
    expect((await client.jobs.get(ended.id)).result).toMatchObject({ contentType: 'image/webp' });
    const { id } = await client.publish(job, Uint8Array.of(1), {
      contentType: 'image/gif',
      delayMs: 60_000,
    });
    expect(await client.jobs.get(id)).toMatchObject({ contentType: 'image/gif' });
  });

  it('refuses a text as data and as a result', async () => {
    const queue = fresh('bytes');
    const job = imageJob(queue);
    await expect(client.publish(job, 'text' as never)).rejects.toMatchObject({ code: 'invalid_input' });
    const { worker } = workerOf(queue);
    worker.handle(job, () => new Bytes('text' as never, 'image/png'));
    void worker.run();
    const { failure } = await client.publishAndWait(job, Uint8Array.of(1), { waitMs: 10_000, tries: 1 });
    expect(failure).toMatchObject({ group: 'invalid_output' });
  });
});
