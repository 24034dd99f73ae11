/** Nest injection token for the engines' `Timers`; an application without it starts no engine. */
export const TIMERS = Symbol('Timers');
