/** The payload of a leased job in each form. */
export interface LeasedPayload {
  readonly contentType: string;
  readonly data: unknown;
  readonly text: string;
  readonly bytes: Uint8Array;
}

const PAYLOAD = Symbol('payload');
/** The forms of a payload. */
export const PAYLOAD_FORMS = ['contentType', 'data', 'text', 'bytes'] as const;
/** Forms that `toJSON` leaves out: `data` says the same. */
const OTHER_FORMS: readonly string[] = ['text', 'bytes'];
/** One getter for all jobs: its own for each would make each job of another shape. */
const GETTERS = Object.fromEntries(
  PAYLOAD_FORMS.map((form) => [
    form,
    {
      enumerable: true,
      configurable: true,
      get(this: JobWithPayload): unknown {
        return this[PAYLOAD]?.[form];
      },
    },
  ]),
);

/**
 * A leased job whose payload is decoded when it is first wanted in that form. Each form is a property of the job itself:
 * `{ ...job }` has all of them, and its JSON has `data`.
 */
export abstract class JobWithPayload implements LeasedPayload {
  declare contentType: string;
  declare data: unknown;
  declare readonly text: string;
  declare readonly bytes: Uint8Array;
  [PAYLOAD]: LeasedPayload | undefined;

  /** To be called last in the constructor. @param forms that the job does not have yet; each costs half a microsecond */
  protected hold(payload: LeasedPayload, forms: readonly (keyof LeasedPayload)[]): void {
    this[PAYLOAD] = payload;
    for (const form of forms) Object.defineProperty(this, form, GETTERS[form] as PropertyDescriptor);
  }

  /** What `JSON.stringify` writes. */
  toJSON(): object {
    const names = Object.keys(this).filter((name) => !OTHER_FORMS.includes(name));
    return Object.fromEntries(names.map((name) => [name, this[name as keyof this]]));
  }
}
