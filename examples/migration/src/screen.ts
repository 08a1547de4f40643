import type { WriteStream } from 'node:tty'

/** Draws lines over the ones before on a terminal, and prints lines one after the other elsewhere. */
export class Screen {
  readonly #output: NodeJS.WriteStream | WriteStream
  #drawn = 0

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
  }

  get live(): boolean {
    return this.#output.isTTY
  }

  /** A line that stays. */
  say(line: string): void {
    this.#erase()
    this.#output.write(`${line}\n`)
  }

  /** Lines that the next ones replace. Only on a terminal. */
  draw(lines: readonly string[]): void {
    if (!this.live) return
    this.#erase()
    const width = this.#output.columns || 80
    for (const line of lines) this.#output.write(`${line.slice(0, width - 1)}\n`)
    this.#drawn = lines.length
  }

  #erase(): void {
    if (this.#drawn > 0) this.#output.write(`\u001B[${this.#drawn}A\u001B[0J`)
    this.#drawn = 0
  }
}
