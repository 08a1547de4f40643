import type {
  ActionAnswer,
  ActionHeader,
  ActionName,
  Actions,
  Problem,
  ReadName,
  Reads,
} from '../../../src/dashboard/views.ts'

/** What the server refused, or why it could not be reached. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.message)
    this.problem = problem
  }
}

/** JSON of our own server, which is of this page's version. */
export function parsed<Value>(text: string): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one edge where the server's types come in
  return JSON.parse(text) as Value
}

/** Of anything that was thrown. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestError) return error.problem
  return { code: 'ERR_UNREACHABLE', message: 'The server cannot be reached.' }
}

/** @throws RequestError for every status but 200 */
export async function checked(response: Response): Promise<Response> {
  if (response.ok) return response
  const text = await response.text()
  try {
    throw new RequestError(parsed<Problem>(text))
  } catch (error) {
    if (error instanceof RequestError) throw error
    // Not from our server, but from something in front of it.
    const message = `The server answered with status ${response.status}.`
    throw new RequestError({ code: `HTTP ${response.status}`, message })
  }
}

export function address(path: string, query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string') search.set(name, value)
  }
  const text = search.toString()
  return text === '' ? path : `${path}?${text}`
}

export async function read<Name extends ReadName>(
  name: Name,
  query: Reads[Name]['query'],
  signal?: AbortSignal,
): Promise<Reads[Name]['answer']> {
  const response = await checked(
    await fetch(address(`api/${name}`, query), { signal: signal ?? null }),
  )
  return parsed(await response.text())
}

const ACTION_HEADER: ActionHeader = 'x-tidemark-action'

export async function act<Name extends ActionName>(
  name: Name,
  body: Actions[Name],
): Promise<ActionAnswer> {
  const response = await checked(
    await fetch(`api/actions/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [ACTION_HEADER]: '1' },
      body: JSON.stringify(body),
    }),
  )
  return parsed(await response.text())
}
