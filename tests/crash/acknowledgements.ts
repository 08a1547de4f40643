import { closeSync, existsSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'

export interface Acknowledgement {
  readonly lane: number
  readonly index: number
  /** 0 = not known: a delete that was found to have happened. */
  readonly lsn: number
}

/**
 * Written by the process that is going to be killed, one line after each write that resolved. A line is
 * one write(2): what was written is in the system's hands and survives the process.
 */
export class AcknowledgementLog {
  readonly #file: number

  constructor(file: string) {
    this.#file = openSync(file, 'a')
  }

  note({ lane, index, lsn }: Acknowledgement): void {
    writeSync(this.#file, `${lane} ${index} ${lsn}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** The whole lines; what was being written when the process died is no acknowledgement. */
export function readAcknowledgements(file: string): readonly Acknowledgement[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [lane = -1, index = -1, lsn = -1] = line.split(' ').map(Number)
    return { lane, index, lsn }
  })
}

/** Bytes of a log so far. */
export function logSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
