import assert from 'node:assert/strict'

/** Ends each exhaustive `switch`: the compiler proves that it is never reached. */
export function assertNever(value: never): never {
  assert.fail(`unexpected value ${JSON.stringify(value)}`)
}
