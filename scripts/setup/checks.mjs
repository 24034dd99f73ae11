/** Counts what passed and what failed, printing each failure where it happens. */
export class Checks {
  passed = 0;
  failed = 0;

  /** Runs one check; it fails by throwing or by answering false. */
  async that(name, check) {
    const begunMs = performance.now();
    try {
      if ((await check()) === false) throw new Error('it is not so');
      this.passed += 1;
      console.log(`  ✓ ${name} (${Math.round(performance.now() - begunMs)} ms)`);
      return true;
    } catch (error) {
      this.failed += 1;
      console.log(`  ✕ ${name}\n    ${String(error.message).replaceAll('\n', '\n    ')}`);
      return false;
    }
  }
}
