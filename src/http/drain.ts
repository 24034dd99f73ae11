/**
 * How far a server is on its way out. While `announced`, it answers as ever and only `/readyz` says no, so that load
 * balancers look elsewhere; while `closing`, every answer ends its connection and nobody is made to wait.
 */
export class Drain {
  announced = false;
  closing = false;
}
