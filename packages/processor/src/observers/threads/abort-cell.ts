/** One cell in shared memory: a thread that computes and looks at no messages sees there that it is to stop. */
export type AbortCell = Int32Array<SharedArrayBuffer>

export function newAbortCell(): AbortCell {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

export function setAborted(cell: AbortCell): void {
  Atomics.store(cell, 0, 1)
}

export function isSetAborted(cell: AbortCell): boolean {
  return Atomics.load(cell, 0) === 1
}
