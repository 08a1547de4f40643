import type { ServedRequest } from '@tidemark/gateway'
import type { CommandContext } from '../command-context.ts'

/** Output bytes that can wait for a slow reader. Above this, lines are dropped instead of kept in memory. */
const MAX_WAITING_BYTES = 1024 * 1024

/** Writes a line for each request, and never waits. A reader that is too slow loses lines, and gets their number. */
export class AccessLog {
  readonly #form: 'text' | 'json'
  readonly #context: CommandContext
  #dropped = 0

  constructor(form: 'text' | 'json', context: CommandContext) {
    this.#form = form
    this.#context = context
  }

  write(request: ServedRequest): void {
    const { output, errors } = this.#context
    if (output.destroyed || output.errored) return
    if (output.writableLength > MAX_WAITING_BYTES) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) {
      errors.write(
        `tidemark: ${this.#dropped} lines of the access log were dropped: the reader is too slow\n`,
      )
      this.#dropped = 0
    }
    output.write(`${this.#form === 'json' ? jsonLine(request) : textLine(request)}\n`)
  }
}

function jsonLine({ atMs, durationMs, ...rest }: ServedRequest): string {
  return JSON.stringify({ time: time(atMs), ...rest, durationMs: Number(durationMs.toFixed(1)) })
}

/** Parts have no blanks, so that tools can split the line. A missing part is a hyphen. */
function textLine(request: ServedRequest): string {
  const { atMs, address, method, path, status, durationMs, bytes, activityId } = request
  const parts = [time(atMs), address || '-', method || '-', path, status]
  return [...parts, `${durationMs.toFixed(1)}ms`, `${bytes}B`, activityId].join(' ')
}

function time(atMs: number): string {
  return new Date(atMs).toISOString()
}
