import { MAX_LABEL, MAX_MESSAGE } from '../domain/limits.js';
import { Nullable } from '../http/fields/field.js';
import { Label, Moment, Parts, Whole } from '../http/fields/kinds.js';

const MANY = 1_000_000_000;
const MOST_ITEMS = 1_000;

export class WorkerAnswer {
  @Label('Its name, as it gave it with its leases.', { max: MAX_LABEL }) name!: string;
  @Moment('When it was heard of last.') seen_at!: string;
  @Whole('Jobs that it has leased.', 0, MANY) leased!: number;
  @Whole('Jobs whose lease ran out, and that nobody has leased since.', 0, MANY) stalled!: number;
}

export class WorkersPage {
  @Parts('Those first that were heard of last.', () => WorkerAnswer, MOST_ITEMS)
  items!: readonly WorkerAnswer[];
  @Nullable() @Label('Where the list goes on; null at its end.', { max: MAX_MESSAGE }) next_cursor!:
    string | null;
}
