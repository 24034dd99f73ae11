import type { ModelJob } from './job.js';
import type { Space } from './space.js';

/** Puts a job into the line of its queue. */
export function joinLine(space: Space, job: ModelJob, place: number): void {
  const others = ranked(space, job);
  job.state = 'ready';
  job.isMoved = false;
  job.place = place;
  const { disordered } = space.queue(job.queue);
  const isInOrder = others.every(
    (other) => other.place < place === other.born < job.born && other.place !== place,
  );
  if (others.length === 0) disordered.delete(job.priority);
  if (!isInOrder) disordered.add(job.priority);
}

/** Gives a job of the line another priority: it keeps its place in time among those that have it. */
export function changeRank(space: Space, job: ModelJob, priority: number): void {
  job.priority = priority;
  job.isMoved = true;
  if (ranked(space, job).length === 0) space.queue(job.queue).disordered.delete(priority);
}

/** Whether a job of a line has to be given out before another one. */
function isBefore(space: Space, one: ModelJob, other: ModelJob): boolean {
  if (one.priority !== other.priority) return one.priority < other.priority;
  if (!one.isMoved && !other.isMoved) return one.place < other.place;
  // "In time" means something only while the others stand in that order.
  return !space.queue(one.queue).disordered.has(one.priority) && one.born < other.born;
}

/** The jobs of a line of which any may be given out next. */
export function headsOf(space: Space, queue: string): ModelJob[] {
  const line = space.in(queue, 'ready');
  return line.filter((job) => !line.some((other) => isBefore(space, other, job)));
}

/** The others in line that have a job's priority. */
function ranked(space: Space, job: ModelJob): ModelJob[] {
  return space.in(job.queue, 'ready').filter((other) => other !== job && other.priority === job.priority);
}
