/** What is sent back. Handlers make one; only `platform/send-answer.ts` knows sockets. */
export interface Answer {
  readonly status: number
  /** Values are ASCII. Activity id, date and the like are added when it is sent. */
  readonly headers: Readonly<Record<string, string>>
  /** Pieces of one JSON text, sent one after the other; absent for 204 and 304. */
  readonly body?: readonly string[] | undefined
}

/** An answer whose body is one JSON value. */
export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers, body: [JSON.stringify(value)] }
}
