import { openStore, type Store } from '../index.ts'
import { createDashboard, type Dashboard, type DashboardOptions } from './create-dashboard.ts'
import type { AnyView, Difference } from './streams/view-difference.ts'
import type {
  ActionAnswer,
  ActionName,
  Actions,
  Problem,
  ReadName,
  Reads,
  ViewName,
  Views,
} from './views.ts'

/** A store in memory with its page, and calls as the page makes them. */
export class OpenedPage implements AsyncDisposable {
  readonly store: Store
  readonly dashboard: Dashboard

  private constructor(store: Store, dashboard: Dashboard) {
    this.store = store
    this.dashboard = dashboard
  }

  static async open(options: Partial<DashboardOptions> = {}): Promise<OpenedPage> {
    const store = await openStore({ folder: ':memory:', maintenance: 'manual' })
    const dashboard = createDashboard({ host: '127.0.0.1', sampleMs: 100, ...options, store })
    return new OpenedPage(store, dashboard)
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return this.dashboard.fetch(new Request(new URL(path, 'http://localhost:8080/'), init))
  }

  async view<Name extends ViewName>(
    name: Name,
    query: Views[Name]['query'],
  ): Promise<Views[Name]['view']> {
    return (await this.#ok(`api/views/${name}${queryText(query)}`)) as Views[Name]['view']
  }

  async read<Name extends ReadName>(
    name: Name,
    query: Reads[Name]['query'],
  ): Promise<Reads[Name]['answer']> {
    return (await this.#ok(`api/${name}${queryText(query)}`)) as Reads[Name]['answer']
  }

  /** Status and code of a GET that is refused. */
  async refused(path: string, query: object = {}): Promise<readonly [number, string]> {
    return problem(await this.fetch(`${path}${queryText(query)}`))
  }

  async act<Name extends ActionName>(name: Name, body: Actions[Name]): Promise<ActionAnswer> {
    const answer = await this.post(name, body)
    if (answer.status !== 200) throw new Error(`${name}: ${await answer.text()}`)
    return (await answer.json()) as ActionAnswer
  }

  post(name: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return this.fetch(`api/actions/${name}`, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json', 'x-tidemark-action': '1', ...headers },
    })
  }

  /** The events of a stream, as its client reads them. */
  async stream(path: string, query: object = {}): Promise<Events> {
    const answer = await this.fetch(`api/streams/${path}${queryText(query)}`)
    if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
    return new Events(answer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dashboard.close()
    await this.store.close()
  }

  async #ok(path: string): Promise<unknown> {
    const answer = await this.fetch(path)
    if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
    return answer.json()
  }
}

export async function problem(answer: Response): Promise<readonly [number, string]> {
  const { code, message, ...rest } = (await answer.json()) as Problem
  if (Object.keys(rest).length > 0 || / at .*:\d+:\d+/.test(message)) throw new Error(message)
  return [answer.status, code]
}

export interface ReadEvent {
  readonly event: string
  readonly data: unknown
}

export class Events {
  readonly #reader: ReadableStreamDefaultReader<string>
  #text = ''

  constructor({ body }: Response) {
    const bytes = body as ReadableStream<Uint8Array<ArrayBuffer>>
    this.#reader = bytes.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** Undefined: the stream has ended. Comments are left out. */
  async next(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end < 0) {
        const { value, done } = await this.#reader.read()
        if (done) return undefined
        this.#text += value
        continue
      }
      const block = this.#text.slice(0, end)
      this.#text = this.#text.slice(end + 2)
      const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      if (event !== '') return { event, data: JSON.parse(data) as unknown }
    }
  }

  /** Applies updates to the view until it is as wanted; returns the last one. */
  async until(view: AnyView, isWanted: (view: AnyView) => boolean): Promise<AnyView> {
    let present = view
    while (!isWanted(present)) {
      const { event, data } = (await this.next()) ?? { event: 'ended', data: undefined }
      if (event === 'view') present = data as AnyView
      else if (event === 'update') present = applied(present, data as Difference)
      else throw new Error(`${event}: ${JSON.stringify(data)}`)
    }
    return present
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel()
  }
}

function applied(view: AnyView, { atMs, head, rows = {}, removed = {} }: Difference): AnyView {
  const tables = Object.entries(view.tables).map(([name, table]) => {
    const changed = new Map(rows[name]?.map((row) => [row.id, row]))
    const gone = new Set(removed[name])
    const kept = table.filter(({ id }) => !gone.has(id) && !changed.has(id))
    return [name, [...kept, ...changed.values()]] as const
  })
  return { atMs, head: { ...view.head, ...head }, tables: Object.fromEntries(tables) }
}

function queryText(query: object): string {
  const text = new URLSearchParams(Object.entries(query) as [string, string][]).toString()
  return text === '' ? '' : `?${text}`
}
