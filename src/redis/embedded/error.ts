/** The embedded Redis cannot start or cannot stop. The message says what to do, and contains no secrets. */
export class EmbeddedRedisError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
