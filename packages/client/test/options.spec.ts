import { Pumphouse, type PumphouseOptions, type WorkerOptions } from '../src/index.js';

const CLIENT = { url: 'http://127.0.0.1:9', namespace: 'shop', token: 'a-token' };

describe('options of a client and of a worker', () => {
  it('are refused if they are misspelt: the error names those that there are', () => {
    const worker = { queues: ['mail'], concurency: 3 } as WorkerOptions;
    expect(() => new Pumphouse(CLIENT).worker(worker)).toThrow(
      /^worker: unknown option concurency; known: queues, /,
    );
    const retry = { attempts: 3 } as PumphouseOptions['retry'];
    expect(() => new Pumphouse({ ...CLIENT, retry })).toThrow(
      /^new Pumphouse: retry: unknown option attempts; known: tries, /,
    );
    const running = { signls: true } as { signals?: boolean };
    expect(() => new Pumphouse(CLIENT).worker({ queues: ['mail'] }).run(running)).toThrow(
      'worker.run: unknown option signls; known: signals',
    );
    const inherited = JSON.parse('{"toString":1}') as WorkerOptions;
    expect(() => new Pumphouse(CLIENT).worker(inherited)).toThrow('worker: unknown option toString; known: ');
  });

  it('may be undefined', () => {
    expect(() => new Pumphouse({ ...CLIENT, tls: undefined }).worker({ name: undefined })).not.toThrow();
  });
});
