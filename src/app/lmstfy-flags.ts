/** Flags of lmstfy that have no equivalent here, and why; those with a value are followed by it. */
const FLAGS: Readonly<Record<string, { readonly hasValue: boolean; readonly why: string }>> = {
  bt: { hasValue: true, why: 'the log has no backtraces of calls' },
  sv: { hasValue: false, why: 'every call needs its token' },
  p: { hasValue: true, why: 'no file with the process id is written' },
};
/** Go's spelling: one dash or two, and the value behind a blank or an equals sign. */
const FLAG = /^--?(?<name>[a-z]+)(?:=(?<value>.*))?$/s;

/** Arguments of a start as lmstfy takes them. */
export interface StartArguments {
  /** What is left for us. */
  readonly args: readonly string[];
  /** A line for each flag without effect. */
  readonly warnings: readonly string[];
}

/** Takes lmstfy's flags out of the arguments of a start, so that its command line works unchanged. */
export function withoutLmstfyFlags(args: readonly string[]): StartArguments {
  const left: string[] = [];
  const warnings: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    const { name = '', value } = FLAG.exec(arg)?.groups ?? {};
    const known = /* guard: lmstfy-start-flags */ Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined;
    if (known !== undefined) {
      warnings.push(`-${name} of lmstfy has no effect here: ${known.why}`);
      if (known.hasValue && value === undefined) i++;
    } else if (name === 'c') left.push('-c', ...(value === undefined ? [] : [value]));
    else left.push(arg === '--v' ? '-v' : arg);
  }
  return { args: left, warnings };
}
