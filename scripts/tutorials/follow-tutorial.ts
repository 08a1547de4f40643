import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { matchesInAnyOrder, matchesInOrder, withSeen, type Seen } from './expected-output.ts'
import type { Step } from './read-tutorial.ts'
import { runScript, Terminal, until, type Place } from './terminal.ts'

type StepOf<Kind> = Step & { readonly kind: Kind }

/** Does what a page says, as its reader would. Returns the folder where the reader ends. */
export async function followTutorial(steps: readonly Step[], start: Place): Promise<string> {
  const reader = new Reader(start)
  try {
    for (const step of steps) await reader.do(step)
    reader.finish()
    return reader.cwd
  } finally {
    await reader.leave()
  }
}

class Reader {
  readonly #env: NodeJS.ProcessEnv
  readonly #terminals = new Map<string, Terminal>()
  readonly #seen: Seen = new Map()
  cwd: string

  constructor({ cwd, env }: Place) {
    this.cwd = cwd
    this.#env = env
  }

  async do(step: Step): Promise<void> {
    switch (step.kind) {
      case 'file':
        return writeFile(join(this.cwd, step.name), step.text)
      case 'run':
        return this.#run(step)
      case 'start': {
        const { terminal, command } = step
        this.#terminals.set(terminal, new Terminal(withSeen(command, this.#seen), this.#place()))
        return
      }
      case 'printed':
        return this.#printed(step)
    }
  }

  /** At the end of the page everything that was printed stands in it. */
  finish(): void {
    for (const [name, { unread }] of this.#terminals) {
      if (unread.length > 0) throw new Error(`terminal ${name} prints more:\n${unread.join('\n')}`)
    }
  }

  async leave(): Promise<void> {
    for (const terminal of this.#terminals.values()) await terminal.end('SIGKILL')
  }

  async #run({ line, script, output, exitCode, soon }: StepOf<'run'>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const done = await runScript(withSeen(script, this.#seen), this.#place())
      this.cwd = done.cwd
      const isAsWritten =
        done.exitCode === exitCode &&
        (output === undefined || matchesInOrder(output, done.lines, this.#seen))
      if (isAsWritten) return
      if (soon && attempt < 20) continue
      throw new Error(`${line}: ends with ${done.exitCode} and prints:\n${done.lines.join('\n')}`)
    }
  }

  async #printed({ line, terminals: names, interrupt, output }: StepOf<'printed'>): Promise<void> {
    const terminals = names.map((name) => this.#terminal(line, name))
    if (interrupt) for (const terminal of terminals) await terminal.end('SIGINT')
    const unread = (): readonly string[] => terminals.flatMap((terminal) => terminal.unread)
    await until(() => unread().length >= output.length)
    const printed = unread()
    if (!matchesInAnyOrder(output, printed, this.#seen)) {
      throw new Error(`${line}: ${names.join(' and ')} printed:\n${printed.join('\n')}`)
    }
    for (const terminal of terminals) terminal.readAll()
  }

  #terminal(line: number, name: string): Terminal {
    const terminal = this.#terminals.get(name)
    if (terminal === undefined) throw new Error(`${line}: there is no terminal ${name}`)
    return terminal
  }

  #place(): Place {
    return { cwd: this.cwd, env: this.#env }
  }
}
