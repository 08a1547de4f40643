/*
 * What a reader of a tutorial does, step by step, from the fences of its page:
 *
 * - `ts file=NAME` (or another language): makes a file. The paragraph before names it, because a reader does not see this line.
 * - `sh`: runs commands to their end. `exit=N` when that end is no success; `soon` when a reader who is quick has to repeat it.
 * - `sh terminal=NAME`: starts a command that keeps running, in a terminal of its own.
 * - `text`: what the commands before print, exactly. `terminal=NAME`: what that terminal prints next, or several (`NAME,NAME`)
 *   between them, in any order; with `press=Ctrl+C`, after that, until its end.
 *
 * In what is printed, `<word>` stands for something without blanks that differs each time, and for the same in later commands;
 * `…` stands for anything.
 */

export type Step = { readonly line: number } & (
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | {
      readonly kind: 'run'
      readonly script: string
      readonly exitCode: number
      readonly soon: boolean
      readonly output: readonly string[] | undefined
    }
  | { readonly kind: 'start'; readonly terminal: string; readonly command: string }
  | {
      readonly kind: 'printed'
      readonly terminals: readonly string[]
      readonly interrupt: boolean
      readonly output: readonly string[]
    }
)

interface Fence {
  readonly line: number
  readonly language: string
  readonly attributes: ReadonlyMap<string, string>
  readonly text: string
  /** The paragraph before. */
  readonly before: string
}

const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  sh: ['terminal', 'exit', 'soon'],
  text: ['terminal', 'press', 'file'],
}

/** @throws Error naming the line of a fence that is no step */
export function readTutorial(markdown: string): readonly Step[] {
  const steps: Step[] = []
  for (const fence of readFences(markdown)) {
    const step = stepOf(fence, steps.at(-1))
    if (step.kind === 'run' && step.output !== undefined) steps.pop()
    steps.push(step)
  }
  return steps
}

function readFences(markdown: string): readonly Fence[] {
  return [...markdown.matchAll(/^```(\S+)([^\n]*)\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', attributes = '', text = ''] = match
    const above = markdown.slice(0, match.index)
    return {
      line: above.split('\n').length,
      language,
      attributes: new Map(
        attributes
          .trim()
          .split(/\s+/)
          .filter((one) => one !== '')
          .map((one) => [one.split('=', 1)[0] ?? '', one.slice(one.indexOf('=') + 1)]),
      ),
      text,
      before: above.trimEnd().split('\n\n').at(-1) ?? '',
    }
  })
}

/** A `text` after the commands of a `run` completes that step. */
function stepOf(fence: Fence, previous: Step | undefined): Step {
  const { line, language, attributes, text, before } = fence
  const known = ATTRIBUTES[language] ?? ['file']
  for (const name of attributes.keys()) {
    if (!known.includes(name)) throw new Error(`${line}: a ${language} fence has no ${name}`)
  }
  const terminal = attributes.get('terminal')
  if (language === 'sh') {
    if (terminal !== undefined) return { kind: 'start', line, terminal, command: text.trim() }
    const exitCode = Number(attributes.get('exit') ?? 0)
    return {
      kind: 'run',
      line,
      script: text,
      exitCode,
      soon: attributes.has('soon'),
      output: undefined,
    }
  }
  const name = attributes.get('file')
  if (language === 'text' && name === undefined) {
    const output = text.trimEnd().split('\n')
    if (terminal !== undefined) {
      const interrupt = attributes.get('press') === 'Ctrl+C'
      return { kind: 'printed', line, terminals: terminal.split(','), interrupt, output }
    }
    if (previous?.kind !== 'run' || previous.output !== undefined) {
      throw new Error(`${line}: no commands before print this`)
    }
    return { ...previous, output }
  }
  if (name === undefined) throw new Error(`${line}: this is neither made nor run`)
  if (!before.includes(`\`${name}\``))
    throw new Error(`${line}: the reader is not told to make ${name}`)
  return { kind: 'file', line, name, text }
}
