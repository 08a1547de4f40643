import type { MigrationProgress } from '@tidemark/jobs'
import type { CommandContext } from '../command-context.ts'
import { visible } from './visible.ts'

const BAR = 30

/** One line that is overwritten on a terminal, and not written elsewhere. */
export class ProgressLine implements Disposable {
  readonly #context: CommandContext
  #drawn: 'nothing' | 'line' = 'nothing'

  constructor(context: CommandContext) {
    this.#context = context
  }

  draw(text: string): void {
    if (!this.#context.interactive) return
    this.#context.errors.write(`\r\u001B[2K${visible(text)}`)
    this.#drawn = 'line'
  }

  /** A line that stays, above the one that is overwritten. */
  say(text: string): void {
    this.#clear()
    this.#context.errors.write(`${visible(text)}\n`)
  }

  [Symbol.dispose](): void {
    this.#clear()
  }

  #clear(): void {
    if (this.#drawn === 'line') this.#context.errors.write('\r\u001B[2K')
    this.#drawn = 'nothing'
  }
}

/** `[#####.....]  52 %  70,320 of 135,233  18,002/s  lag 391  about 4 s left` */
export function migrationLine(progress: MigrationProgress): string {
  const { documents, remaining, ratePerSecond, lag, remainingSeconds, state } = progress
  // Not the present count of the source: documents that were copied may have been deleted there since.
  const total = documents + remaining
  const share = total === 0 ? 1 : documents / total
  const left =
    state === 'caughtUp'
      ? 'caught up'
      : remainingSeconds === undefined
        ? 'no rate yet'
        : `about ${Math.ceil(remainingSeconds)} s left`
  return (
    `${bar(share)} ${Math.floor(share * 100)} %  ${grouped(documents)} of ${grouped(total)}  ` +
    `${grouped(ratePerSecond)}/s  lag ${grouped(lag)}  ${left}`
  )
}

export function bar(share: number): string {
  const full = Math.round(share * BAR)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`
}

export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
