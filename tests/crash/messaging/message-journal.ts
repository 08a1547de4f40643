import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'

/** What a worker says about one message of an entity, before (`…ing`) and after it was acknowledged. */
export type Deed = 'sending' | 'sent' | 'removing' | 'removed'

export interface JournalLine {
  readonly deed: Deed
  /** A queue, or a subscription as `topic/name`. */
  readonly entity: string
  readonly id: string
  /** Sequence number in the entity where it was first enqueued; 0 where the worker does not know it. */
  readonly number: number
  readonly session: string
}

/** Written by the process that is going to be killed: a line is one write(2), so it survives the process. */
export class MessageJournal {
  readonly #file: number

  constructor(file: string) {
    this.#file = openSync(file, 'a')
  }

  note(
    deed: Deed,
    entity: string,
    { id, number = 0, session = '-' }: { id: string; number?: number; session?: string },
  ): void {
    writeSync(this.#file, `${deed} ${entity} ${id} ${number} ${session}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** The whole lines; one that was being written when the process died says nothing. */
export function readMessageJournal(file: string): readonly JournalLine[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [deed = '', entity = '', id = '', number = '0', session = ''] = line.split(' ')
    if (!isDeed(deed)) throw new Error(`not a line of a journal: ${line}`)
    return { deed, entity, id, number: Number(number), session }
  })
}

function isDeed(text: string): text is Deed {
  return ['sending', 'sent', 'removing', 'removed'].includes(text)
}
