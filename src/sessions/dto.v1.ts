import { MAX_MESSAGE } from '../domain/limits.js';
import { Nullable } from '../contract/fields/field.js';
import { Label, Parts } from '../contract/fields/kinds.js';
import { WorkerAnswer } from '../contract/workers.js';

const MOST_ITEMS = 1_000;

export class WorkersPage {
  @Parts('The workers, last seen first.', () => WorkerAnswer, MOST_ITEMS)
  items!: readonly WorkerAnswer[];
  @Nullable() @Label('The cursor of the next page; null at the end.', { max: MAX_MESSAGE }) next_cursor!:
    | string
    | null;
}
