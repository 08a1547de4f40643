import { jsonText } from '../../inspection/json-text.ts'

/** Where a value that is to be shown comes from. */
export interface MaskedPlace {
  readonly kind: 'document' | 'deadLetter' | 'message' | 'error'
  /** Absent of an error of a group whose collection is not in this store. */
  readonly database?: string | undefined
  /** Of a document, a dead letter, or an error of an observer. */
  readonly collection?: string | undefined
  /** Of a message: path of its queue or subscription. */
  readonly entity?: string | undefined
}

/**
 * What is shown instead of a document, of the document of a dead letter, of `{ body, properties, subject, deadDescription }` of
 * a message, or of the text of an error, which may quote any of them. It gets a copy. If it throws, nothing of the value is shown.
 * Ids and keys are always shown. Collections of dead letters and leases hold documents, too: of them, it gets what is stored there.
 */
export type Mask = (value: unknown, place: MaskedPlace) => unknown

export interface ShownText {
  readonly text: string
  readonly isCut: boolean
}

const MOST_CHARACTERS = 64 * 1024

/** JSON of a value, as the page may show it. */
export class MaskedTexts {
  readonly #mask: Mask | undefined

  constructor(mask: Mask | undefined) {
    this.#mask = mask
  }

  get isMasking(): boolean {
    return this.#mask !== undefined
  }

  json(value: unknown, place: MaskedPlace): ShownText {
    return cut(jsonText(this.masked(value, place), 2))
  }

  /** Text of an error, or its stack. */
  error(text: string, place: Omit<MaskedPlace, 'kind'>): string {
    const masked = this.masked(text, { kind: 'error', ...place })
    return typeof masked === 'string' ? masked : jsonText(masked, 0)
  }

  masked(value: unknown, place: MaskedPlace): unknown {
    if (this.#mask === undefined) return value
    try {
      return this.#mask(structuredClone(value), place)
    } catch {
      return '(the hook that masks texts failed)'
    }
  }
}

export function cut(text: string): ShownText {
  const isCut = text.length > MOST_CHARACTERS
  return { text: isCut ? text.slice(0, MOST_CHARACTERS) : text, isCut }
}
