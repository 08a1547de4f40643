/** What was asked for cannot be done, and nothing was. The message says in one line what to do. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}
