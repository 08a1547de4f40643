import type { PageFiles } from '../platform/page-files.ts'
import { builtPageFiles } from '../platform/page-files.ts'
import type { AccessRule } from './access.ts'
import { ACTIONS } from './actions/actions.ts'
import { pageAnswer } from './page-answer.ts'
import { jsonAnswer, problemAnswer } from './problem-answer.ts'
import { ActionBody } from './requests/action-body.ts'
import { refuseCrossSite } from './requests/cross-site.ts'
import { errorAnswer, isFailure } from './requests/error-answer.ts'
import { Query } from './requests/query.ts'
import { notFound } from './requests/refusal.ts'
import { readBodyText } from './requests/read-body-text.ts'
import { collectionOf, existing, type DashboardContext } from './sources/dashboard-context.ts'
import { changeRow, rangeOf, readDocuments, startIn } from './sources/documents.ts'
import { readLetter } from './sources/letters-view.ts'
import { readMessages, readSessions } from './sources/messages.ts'
import { VIEW_SOURCES } from './sources/view-sources.ts'
import { Streams } from './streams/streams.ts'
import type { PageInfo, ReadName } from './views.ts'

export interface DashboardParts {
  readonly context: DashboardContext
  readonly access: AccessRule
  /** Begins and ends with `/`. */
  readonly base: string
  readonly onFailure: ((error: unknown, place: string) => void) | undefined
  /** @default those of this package, read at the first request for one */
  readonly files: PageFiles | undefined
}

type Read = (context: DashboardContext, query: Query) => Promise<unknown>

const READS: Readonly<Record<ReadName, Read>> = {
  info: async ({ info }): Promise<PageInfo> => info,
  documents: readDocuments,
  letter: readLetter,
  messages: readMessages,
  sessions: readSessions,
}

const API = 'api/'

/** Finds out what a request asks for, whether it may, and answers it. */
export class DashboardServer {
  readonly #parts: DashboardParts
  readonly #streams: Streams
  #files: Promise<PageFiles> | undefined

  constructor(parts: DashboardParts) {
    this.#parts = parts
    this.#streams = new Streams(parts.context.clock)
  }

  async fetch(request: Request): Promise<Response> {
    const { access } = this.#parts
    const { pathname, searchParams } = new URL(request.url)
    try {
      this.#streams.assertOpen()
      const answer =
        (await access(request)) ?? (await this.#answer(request, pathname, searchParams))
      return request.method === 'HEAD' ? await withoutBody(answer) : answer
    } catch (error) {
      if (isFailure(error)) this.#report(error, `${request.method} ${pathname}`)
      return errorAnswer(error)
    }
  }

  async close(): Promise<void> {
    const { sampler, brokers, groups } = this.#parts.context
    await this.#streams.close()
    await sampler.close()
    await brokers.close()
    await groups.close()
  }

  async #answer(request: Request, pathname: string, values: URLSearchParams): Promise<Response> {
    const { base, context } = this.#parts
    if (`${pathname}/` === base) {
      // Relative paths of the page begin behind the slash.
      return new Response(null, { status: 308, headers: { location: base } })
    }
    if (!pathname.startsWith(base)) throw notFound('there is no such path')
    const path = pathname.slice(base.length)
    const isAction = path.startsWith(`${API}actions/`)
    const methods = isAction ? ['POST'] : ['GET', 'HEAD']
    if (!methods.includes(request.method)) return wrongMethod(methods)
    if (!path.startsWith(API)) {
      this.#files ??= this.#readFiles()
      return pageAnswer(await this.#files, path, request)
    }
    const refused = refuseCrossSite(request)
    if (refused !== undefined) return refused
    if (isAction) return this.#act(path.slice(`${API}actions/`.length), request)
    const query = new Query(values)
    const [kind = '', name = '', ...more] = path.slice(API.length).split('/')
    if (more.length > 0) throw notFound('there is no such path')
    if (kind === 'streams' && name === 'tail') return this.#tail(query, request)
    const read = named(READS, kind)
    if (read !== undefined && name === '') return jsonAnswer(await read(context, query))
    const begin = named(VIEW_SOURCES, name)
    if (begin === undefined) throw notFound('there is no such path')
    if (kind === 'streams') {
      return this.#streams.view(`${name} ${query.key}`, () => begin(context, query), request)
    }
    if (kind !== 'views') throw notFound('there is no such path')
    const source = begin(context, query)
    try {
      return jsonAnswer(await source.read())
    } finally {
      source.release()
    }
  }

  async #act(name: string, request: Request): Promise<Response> {
    const { context } = this.#parts
    const act = named(ACTIONS, name)
    if (act === undefined) throw notFound('there is no such action')
    const body = new ActionBody(await readBodyText(request))
    const isDry = body.flag('dryRun')
    if (context.info.readOnly && !isDry) {
      const message = 'The page only shows here: it was started as read-only.'
      return problemAnswer(403, { code: 'ERR_READ_ONLY', message })
    }
    return jsonAnswer(await act(context, body, isDry))
  }

  async #tail(query: Query, request: Request): Promise<Response> {
    const { store, texts } = this.#parts.context
    const place = collectionOf(query)
    const collection = await existing(store, place)
    const range = await rangeOf(collection, query.optional('range'))
    const from = await startIn(collection, { from: query.optional('from') ?? 'now', range })
    return this.#streams.tail(
      (signal) => collection.changes({ from, range, signal, onHorizonPassed: 'resync' }),
      (change) => changeRow(change, { place, texts }),
      request,
    )
  }

  #report(error: unknown, place: string): void {
    try {
      this.#parts.onFailure?.(error, place)
    } catch {
      // A log that fails must not end the request that it reports.
    }
  }

  #readFiles(): Promise<PageFiles> {
    const { files } = this.#parts
    return files === undefined ? builtPageFiles() : Promise.resolve(files)
  }
}

function named<Value>(values: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/** Not every server cancels a body that it does not send. */
async function withoutBody({ body, status, headers }: Response): Promise<Response> {
  await body?.cancel()
  return new Response(null, { status, headers })
}

function wrongMethod(methods: readonly string[]): Response {
  const allow = methods.join(', ')
  const problem = { code: 'ERR_METHOD_NOT_ALLOWED', message: `This path takes ${allow}.` }
  return problemAnswer(405, problem, { allow })
}
