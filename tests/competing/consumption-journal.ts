import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'

/** `…ing`: before the call; the others after it was acknowledged. `lost`: the lock had ended. */
export type ConsumerDeed =
  | 'received'
  | 'completing'
  | 'completed'
  | 'abandoning'
  | 'abandoned'
  | 'left'
  | 'lost'

export interface ConsumerLine {
  readonly deed: ConsumerDeed
  readonly id: string
  readonly token: string
  /** By the machine's clock, which all processes share. */
  readonly atMs: number
  readonly deliveryCount: number
  readonly lockedUntilMs: number
  /** Name and sequence number in a session. */
  readonly session: string
  readonly number: number
}

export class ConsumptionJournal {
  readonly #file: number

  constructor(file: string) {
    this.#file = openSync(file, 'a')
  }

  note(line: ConsumerLine): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** The whole lines; one that was being written when the process died says nothing. */
export function readConsumptionJournal(file: string): readonly ConsumerLine[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as ConsumerLine)
}
