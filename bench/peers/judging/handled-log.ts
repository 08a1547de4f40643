import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'

/** One document that a worker handled. */
export interface Handled {
  readonly index: number
  /** Machine clock. */
  readonly atMs: number
}

const ENTRY_BYTES = 16

/**
 * What one worker handled, in its order, in a file: it survives the worker's death. Entries are written before the worker
 * can acknowledge them, those of one turn together, so that a peer that hands over documents one by one pays no more.
 */
export class HandledLog implements Disposable {
  readonly #file: number
  #pending: number[] = []

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  add(index: number, atMs: number): void {
    if (this.#pending.length === 0) queueMicrotask(() => this.#write())
    this.#pending.push(index, atMs)
  }

  #write(): void {
    writeSync(this.#file, new Uint8Array(new Float64Array(this.#pending).buffer))
    this.#pending = []
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }
}

export function readHandled(path: string): readonly Handled[] {
  const bytes = readFileSync(path)
  const numbers = new Float64Array(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  )
  return Array.from({ length: numbers.length / 2 }, (_, entry) => ({
    index: numbers[2 * entry] ?? 0,
    atMs: numbers[2 * entry + 1] ?? 0,
  }))
}

/** How many entries there are, without reading them. */
export function countHandled(path: string): number {
  return statSync(path).size / ENTRY_BYTES
}
