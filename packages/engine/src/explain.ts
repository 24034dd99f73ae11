import type { Explanation } from '@pumphouse/client';
import { ExplanationAnswer, type Explanation as EngineExplanation } from '#src/contract/explain';
import { toShown } from '#src/contract/fields/wire';
import type { Engine } from '#src/engine/engine';
import type { ExplainView } from '#src/engine/explain/explanations';
import { call, type CallOptions } from './calls.js';

/** How long Redis may take to answer, in milliseconds. */
const WITHIN_MS = 2_000;

/** An explanation of a namespace, which assumes that a server pushes the jobs of targets. */
export function explain(
  engine: Engine,
  namespace: string,
  explained: (view: ExplainView) => Promise<EngineExplanation>,
  { signal }: CallOptions,
): Promise<Explanation> {
  const server = { namespace, isPushing: true, isMoving: false };
  const view = { engine, server, isVisible: null, withinMs: WITHIN_MS };
  return call(async () => toShown(ExplanationAnswer, await explained(view)) as Explanation, signal);
}
