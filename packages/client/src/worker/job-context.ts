/** The part of `node:async_hooks` that is used; browsers do not have it. */
interface AsyncHooks {
  readonly AsyncLocalStorage: new <T>() => {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  };
  readonly AsyncResource: new (type: string) => { runInAsyncScope<R>(callback: () => R): R };
}

const { process } = globalThis as {
  process?: { getBuiltinModule?(name: 'node:async_hooks'): AsyncHooks | undefined };
};
const hooks = process?.getBuiltinModule?.('node:async_hooks');
/** Whose handlers the running code belongs to: that of a worker, in another worker's handler perhaps. */
const storage = hooks && new hooks.AsyncLocalStorage<readonly object[]>();

/** Runs the handlers of one worker, each in the async context in which this was made: none sees what another one has set. */
export class JobContext {
  private readonly base = hooks && new hooks.AsyncResource('PumphouseWorker');

  constructor(private readonly worker: object) {}

  run<T>(handler: () => T): T {
    const { base } = this;
    if (
      // guard: handlers-share-no-context
      hooks === undefined ||
      storage === undefined ||
      base === undefined
    )
      return handler();
    // One for each: `enterWith` changes the resource in which it is called.
    const inOwn = (): T => new hooks.AsyncResource('PumphouseJob').runInAsyncScope(handler);
    return base.runInAsyncScope(() => storage.run([...callers(), this.worker], inOwn));
  }
}

/** The workers whose handlers have called. */
export function callers(): readonly object[] {
  return storage?.getStore() ?? [];
}
